"""The chat agent: one request, one answer."""

from pathlib import Path

import pytest

from etude import ListEnvironment, Trainer
from etude.agents.answers import AnswerOptions, AnswerReader
from etude.agents.chat import ChatAgent
from etude.errors import BoundaryError, ConfigError, DataError
from etude.prompts import Prompts
from etude.protocols import ChatModel
from etude.records import File, Place, Reply, Skill, Task, ToolCall, user
from etude.testing.agent import AgentContract
from etude.testing.doubles import Line, ScriptedModel
from rows import rows

CUT = "the reply was cut off at the token limit (target.max_output_tokens = 4096)"
CALL = ToolCall(id="1", name="search", arguments="{}")
TASK = Task(id="t", input="What is 3 + 4?", gold="7")


class TestChatAgent(AgentContract):
    def make_agent(self, target: ChatModel) -> ChatAgent:
        return ChatAgent(target, Prompts())


class TestChatAgentWithAPattern(AgentContract):
    def make_agent(self, target: ChatModel) -> ChatAgent:
        return ChatAgent(target, Prompts(), AnswerOptions(answer_pattern="Answer: (.*)"))

    def reply(self, answer: str) -> str:
        return f"Let me think.\nAnswer: {answer}"


async def attempt(line: Line, skill: str = "", pattern: str | None = None, trial: int = 0):
    model = ScriptedModel([line])
    agent = ChatAgent(model, Prompts(), AnswerOptions(answer_pattern=pattern))
    trajectory = await agent.attempt(TASK, Skill(text=skill), trial)
    return trajectory, model.requests[0]


@pytest.mark.parametrize(
    ("text", "pattern", "answer"),
    [
        ("<answer>6</answer> no, <answer> 7\n</answer>", None, "7"),
        ("<ANSWER>7</ANSWER>", None, "7"),
        ("<answer>two\nlines</answer>", None, "two\nlines"),
        (" 7 \n", None, "7"),
        ("<answer>7", None, "7"),
        ("I put it in <answer> tags: <answer>7</answer>", None, "7"),
        ("<think>Between <answer> and </answer>: 6.</think>\n7", None, "7"),
        ("It is = 6.</think>so = 7", "= (\\d)", "7"),
        ("<answer></answer>", None, ""),
        ("so = 6, so = 7", "= (\\d)", "7"),
        ("seven", "= (\\d)", "seven"),
        ("<answer>7</answer> = 8", "= (\\d)", "8"),
    ],
)
async def test_the_last_marked_answer_counts_else_the_whole_reply(
    text: str, pattern: str | None, answer: str
) -> None:
    trajectory, _ = await attempt(text, pattern=pattern)
    assert (trajectory.answer, trajectory.failure) == (answer, "")


async def test_a_search_for_the_answer_that_takes_too_long_leaves_the_attempt_without_one() -> None:
    answers = AnswerReader("chat", "^(?:a+)+(a)$", limit=512, seconds=0.1)
    with pytest.raises(BoundaryError) as caught:
        await answers.read(Reply(text="a" * 60 + "!"))
    assert str(caught.value) == (
        "agent 'chat', answer_pattern '^(?:a+)+(a)$': TimeoutError: no result after 0.1 s; "
        "simplify nested or repeated wildcards"
    )
    assert await answers.read(Reply(text="aaa")) == ("a", "", None)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply(text="No.", finish="refusal"), "the model refused"),
        (Reply(text="", finish="refusal"), "the model refused"),
        (Reply(text=" \n"), "the reply was empty"),
        (Reply(text="", finish="length"), f"{CUT}, before any text"),
        (Reply(text="It is", finish="length"), f"{CUT}, before </answer>"),
        (Reply(text="It is <answer>7", finish="length"), f"{CUT}, before </answer>"),
        (Reply(text="<think>It is <answer>7</answer>", finish="length"), f"{CUT}, within its thoughts"),
        (Reply(text="<think>It is <answer>7</answer>"), "the reply is a thought that never ends"),
        (Reply(text="It is <answer>7</answer>, as", finish="length"), ""),
        (
            Reply(tool_calls=(CALL,), finish="tool_calls"),
            "the reply calls the tool 'search', and no tools were offered",
        ),
        (Reply(text="It is 7.", tool_calls=(CALL,), finish="tool_calls"), ""),
    ],
)
async def test_what_is_no_answer_is_the_fault_of_the_agent(reply: Reply, failure: str) -> None:
    trajectory, _ = await attempt(reply)
    assert trajectory.failure == failure
    ends = {"refusal": "refused", "length": "cut off"}
    assert trajectory.ended == ends.get(reply.finish, "empty" if failure else None)


async def test_a_reply_that_was_cut_off_counts_as_it_stands_where_the_prompt_asks_for_no_tags() -> None:
    agent = ChatAgent(ScriptedModel([Reply(text="It is 7, and", finish="length")]), Prompts({"chat": "Answer."}))
    trajectory = await agent.attempt(TASK, Skill(text=""), 0)
    assert (trajectory.answer, trajectory.failure, trajectory.ended) == ("It is 7, and", "", "cut off")


@rows(
    ("options", "message"),
    [
        ({"answer_patern": "(.)"}, "agent: unknown key 'answer_patern'\nhint: did you mean 'answer_pattern'?"),
        (
            {"answer_pattern": "*"},
            "agent: answer_pattern = '*': is not a regular expression: nothing to repeat at position 0",
        ),
        (
            {"answer_pattern": "a(b)(c)"},
            "agent: answer_pattern = 'a(b)(c)': must have exactly one group, has 2\nhint: change 'answer_pattern'",
        ),
    ],
)
def test_bad_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        ChatAgent.from_options(options, ScriptedModel([]), Prompts(), where="agent")
    assert str(error.value).startswith(message)


async def test_files_that_are_text_are_shown_below_the_task() -> None:
    model = ScriptedModel(["7"])
    task = Task(id="t-1", input="Sum a.csv.", files={"a.csv": File(data=b"3\n4")})
    trajectory = await ChatAgent(model, Prompts()).attempt(task, Skill(text=""), 0)
    assert model.requests[0].messages[-1] == user("Sum a.csv.\n\n<file name='a.csv'>\n3\n4\n</file>")
    assert trajectory.messages[0] == model.requests[0].messages[-1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\xff", "file 'a.bin' is not text, and agent 'chat' has no workspace for it"),
        (b"a\x00b", "file 'a.bin' is not text, and agent 'chat' has no workspace for it"),
        (b"x" * 100_001, "characters; agent 'chat' shows at most 100,000"),
    ],
)
async def test_other_files_are_refused_by_name_before_the_model_is_asked(data: bytes, message: str) -> None:
    model = ScriptedModel(["7"])
    task = Task(id="t-1", input="Sum it.", files={"a.bin": File(data=data)})
    with pytest.raises(DataError) as caught:
        await ChatAgent(model, Prompts()).attempt(task, Skill(text=""), 0)
    assert message in str(caught.value)
    assert "set agent.name to 'tools' or to an agent program" in str(caught.value)
    assert model.requests == []


def test_a_run_over_tasks_with_files_is_refused_before_its_folder_belongs_to_it(tmp_path: Path) -> None:
    train, val = (
        Task(id=name, input=f"Sum {name}.", gold="7", files={"a": File(data=b"\xff")}) for name in ("t", "v")
    )
    env = ListEnvironment([train], [val], scorer="exact")
    settings = {"run": {"folder": str(tmp_path)}, "test": {"enabled": False}}
    trainer = Trainer(settings, env=env, skill=Skill(text="Be exact."), target=ScriptedModel([]))
    with pytest.raises(DataError, match="task 't': file 'a' is not text"):
        trainer.train()
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_a_task_that_is_to_be_done_in_a_workspace_is_refused() -> None:
    with pytest.raises(DataError, match="is to be done in a workspace"):
        ChatAgent(ScriptedModel([]), Prompts()).check_task(Task(id="t", input="Do it.", place=Place(path="/app")))
