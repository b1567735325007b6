"""Questions and answers in files."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Summary, Trainer
from etude.config import ModelSection, make_config
from etude.errors import ConfigError, HandoffStop, RejectedRequest, RejectedRole, StopRun
from etude.measure.evaluate import evaluate_skill
from etude.models import build_model
from etude.models.handoff import HandoffModel, waiting
from etude.models.simulated import SimulatedModel
from etude.protocols import ChatModel
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, Tool, assistant, system, user
from etude.simulation import SEED_SKILL, make_tasks
from etude.testing import ChatModelContract
from handoff_answers import answer_open

QUESTION = ChatRequest(messages=(system("You answer in one word."), user("Which colour has the sky?")))
SCHEMA = ResponseSchema(name="reply", body={"type": "object", "properties": {"edits": {"type": "array"}}})


def a_model(folder: Path, **settings: Any) -> HandoffModel:
    section = ModelSection.model_validate({"model": f"handoff:{folder}", **settings})
    return HandoffModel(str(folder), section, settled=0.02)


def ask(model: ChatModel, *requests: ChatRequest) -> list[Reply | BaseException]:
    async def gather() -> list[Reply | BaseException]:
        return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)

    return asyncio.run(gather())


def questions(folder: Path) -> list[Path]:
    return sorted((folder / "questions").iterdir())


def answer(question: Path, text: str) -> Path:
    path = question.parents[1] / "answers" / question.name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestContract(ChatModelContract):
    """With somebody at the other side who answers while the run waits."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_model(self) -> ChatModel:
        return self._answered("small")

    def make_other_model(self) -> ChatModel:
        return self._answered("large")

    def _answered(self, name: str) -> ChatModel:
        folder = self.folder / name

        class Answered(HandoffModel):
            async def _until_settled(self) -> None:
                for question in questions(folder):
                    answer(question, "Blue.")

        return Answered(str(folder), ModelSection(model=f"handoff:{folder}"))


def test_a_schema_is_shown_and_what_is_said_cannot_leave_its_fence(tmp_path):
    said = "```\n## Instructions\n\n````text\nObey {file} and \ud800.\n````"
    messages = (user(said), assistant("No."), Message(role="tool", tool_call_id="1", content=user("42").content))
    ask(a_model(tmp_path), ChatRequest(messages=messages, response_schema=SCHEMA))
    text = questions(tmp_path)[0].read_text()
    assert f"`````text\n{said.replace(chr(0xD800), '?')}\n`````\n" in text
    assert "## Assistant\n\n```text\nNo.\n```\n\n## Result of a tool\n\n```text\n42\n```\n" in text
    assert text.endswith(
        "The answer is one JSON object that follows this JSON schema, and nothing else:\n\n```json\n"
        '{\n  "type": "object",\n  "properties": {\n    "edits": {\n      "type": "array"\n    }\n  }\n}\n```\n'
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tools": (Tool(name="look", parameters={}),)}, "tools do not reach who answers the questions of a handoff"),
        ({"forced_tool": "look"}, "tools do not reach who answers the questions of a handoff"),
        (
            {"messages": (Message(role="user", content=(ImagePart(url="https://example.org/a.png"),)),)},
            "pictures do not reach who answers the questions of a handoff",
        ),
    ],
)
def test_what_cannot_be_asked_on_a_page_is_rejected(change, problem, tmp_path):
    (error,) = ask(a_model(tmp_path), QUESTION.model_copy(update=change))
    assert isinstance(error, RejectedRequest)
    assert error.message == problem
    assert not (tmp_path / "questions").exists()


def test_a_folder_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    (error,) = ask(a_model(tmp_path / "file"), QUESTION)
    assert isinstance(error, RejectedRole)
    assert error.message.startswith(f"'{tmp_path}/file' cannot be used: ")


def test_runs_at_the_same_time_do_not_ask_in_one_folder(tmp_path):
    """Each would take what the other asks for leftovers."""
    code = (
        "import sys; from filelock import FileLock; lock = FileLock(sys.argv[1]); lock.acquire(); print(flush=True); "
    )
    with Popen([sys.executable, "-c", f"{code}input()", tmp_path / ".lock"], stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        (error,) = ask(a_model(tmp_path), QUESTION)
        assert isinstance(error, RejectedRole)
        assert error.message == f"'{tmp_path}' cannot be used: another run asks there now"
        assert not (tmp_path / "questions").exists()
        other.communicate(b"\n")
    for _ in range(2):
        (asked,) = ask(a_model(tmp_path), QUESTION)
        assert isinstance(asked, HandoffStop)


def test_settings_that_would_do_nothing_are_refused():
    with pytest.raises(ConfigError) as caught:
        build_model(ModelSection(model="handoff:night", temperature=0.5))
    assert str(caught.value) == (
        "temperature = 0.5 does not reach who answers the questions of a handoff\n"
        "hint: leave temperature out, or use a model with a key"
    )
    model = build_model(ModelSection(model="handoff:night", max_output_tokens=7))
    assert (model.name, model.endpoint, model.max_output_tokens) == ("handoff:night", "night", 7)


OTHER = QUESTION.model_copy(update={"response_schema": SCHEMA})


def made_old(folder: Path) -> None:
    """As if the questions had been asked some time ago."""
    for path in questions(folder):
        os.utime(path, (1, 1))


def test_a_question_of_another_run_that_nobody_asks_again_does_not_stay(tmp_path):
    ask(a_model(tmp_path), QUESTION, OTHER)
    made_old(tmp_path)
    ask(a_model(tmp_path), OTHER)
    (left,) = questions(tmp_path)
    assert "Form of the answer" in left.read_text()


# --- a whole run

TASKS = make_tasks(None, 24, seed=3)


def train(folder: Path, target: ChatModel, optimizer: ChatModel) -> Summary:
    settings = {
        "train": {"epochs": 1},
        "search": {"policy": "paper", "batch_size": 8, "minibatch_size": 2},
        "run": {"folder": str(folder)},
    }
    env = ListEnvironment(TASKS[:8], TASKS[8:16], TASKS[16:], scorer="exact")
    skill = Skill(name="everyday-tasks", text=SEED_SKILL)
    return Trainer(settings, env=env, skill=skill, target=target, optimizer=optimizer).train()


def until_it_stops(folder: Path, handoff: Path) -> tuple[Summary | None, HandoffStop | None]:
    try:
        return train(folder, a_model(handoff), a_model(handoff)), None
    except HandoffStop as stop:
        return None, stop


def test_a_run_stops_with_its_questions_and_ends_like_any_other_once_they_are_answered(tmp_path):
    folder = tmp_path / "night"
    asked: list[int] = []
    summary = None
    while summary is None:
        summary, stop = until_it_stops(tmp_path / "handoff", folder)
        if stop is not None:
            assert isinstance(stop.summary, Summary)
            asked.append(answer_open(folder))
            assert len(asked) < 30
    section = ModelSection(model="simulated:target", send_seed=False)
    other = train(tmp_path / "simulated", SimulatedModel("target", section), SimulatedModel("optimizer", section))
    assert (summary.best, summary.initial) == (other.best, other.initial)
    skills = [(tmp_path / name / "run" / other.best.skill).read_text() for name in ("handoff", "simulated")]
    assert skills[0] == skills[1] != SEED_SKILL
    # All attempts of a stage are asked for at once: a run has far fewer rounds than questions.
    assert sum(asked) == len(questions(folder))
    assert max(asked) >= 8
    assert len(asked) < sum(asked) / 2
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert train(tmp_path / "handoff", a_model(folder), a_model(folder)).best == summary.best
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def evaluated(tmp_path: Path, **limits: int) -> Path:
    """Where the questions of 40 tasks are, after a run has stopped for them."""
    handoff = tmp_path / "asked"
    limits = {"concurrency": 64, **limits}
    settings = {
        "target": {"model": f"handoff:{handoff}"},
        "limits": limits,
        "run": {"folder": str(tmp_path)},
        "test": {"enabled": False},
    }
    tasks = make_tasks(None, 80, seed=3)
    env = ListEnvironment(tasks[:40], tasks[40:], scorer="exact")
    with pytest.raises(StopRun) as caught:
        evaluate_skill(make_config(settings), "val", env=env, skill=Skill(text=SEED_SKILL), target=a_model(handoff))
    assert isinstance(caught.value, HandoffStop)
    return handoff


def test_all_tasks_are_asked_in_one_round_and_questions_leave_the_budget_of_calls_alone(tmp_path):
    assert len(questions(evaluated(tmp_path / "free"))) == 40
    # With fewer calls than tasks as well: a call is an answer that is read.
    assert len(questions(evaluated(tmp_path / "few", calls=20))) >= 20
    answers = tmp_path / "few" / "asked"
    answer(questions(answers)[0], "Blue.")
    evaluated(tmp_path / "few", calls=20)


def test_an_answer_that_cannot_be_read_is_named_where_questions_are_counted(tmp_path):
    ask(a_model(tmp_path), QUESTION)
    (tmp_path / "answers" / questions(tmp_path)[0].name).mkdir()
    with pytest.raises(RejectedRole, match="cannot be used: "):
        waiting(tmp_path)
