"""The simulated target as the model of agent programs: it writes files, opens skills, and learns from skills only."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from simulation_prompts import FULL_SKILL, answer_of, answered_with, ask

from etude.records import ChatRequest, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall, system, user
from etude.simulation import respond
from rows import rows

TASK = "Sort the following words alphabetically: List: pear pear cab ice-box Zoo pear"
WANTED = f"{TASK}\n\nWrite the answer, and nothing else, to `answer.txt`."
RIGHT = answered_with(TASK)
SKILL = f"# Skill\n\nApply every rule that fits.\n\n# Everyday tasks\n\n{FULL_SKILL}\n"
DOCUMENT = f"---\nname: everyday-tasks\ndescription: Small tasks with words and dates.\n---\n\n{FULL_SKILL}\n"
OWN_PROMPT = "You are an agent on the command line.\n\n" + "\n".join(
    [f"- Use tool number {at} with care, and say what you found." for at in range(150)]
    + ["- Do not write duplicate memories.", "- Include the reason so you can judge edge cases later."]
)
"""As long as those of programs are, with a word or two that could be taken for rules."""


def tool(name: str, required: dict[str, Any], **optional: Any) -> Tool:
    properties: dict[str, Any] = {**required, **optional}
    return Tool(name=name, parameters={"type": "object", "properties": properties, "required": list(required)})


TEXT = {"type": "string"}
COMMANDS = {"type": "array", "items": TEXT}


@dataclass(frozen=True)
class Program:
    """How a program lays a request out, and its tools."""

    tools: tuple[Tool, ...]
    written: tuple[str, dict[str, Any]]
    """The call that writes the answer."""
    listing: str
    """How it lists a skill; the place stands as PATH."""
    opened: tuple[str, dict[str, Any]]
    """The call that opens the skill."""


PRINTED = f"printf '%s' '{RIGHT}\n' > answer.txt"
ELEMENT = (
    "<available_skills><skill>\n<name>everyday-tasks</name>\n<description>Small tasks with words and dates."
    "</description>\n<location>PATH</location>\n</skill></available_skills>\nThe skills above are for special tasks."
)
PROGRAMS = {
    "codex": Program(
        (
            tool("exec_command", {"cmd": TEXT}, login={"type": "boolean"}),
            tool("write_stdin", {"session_id": {"type": "number"}}, chars=TEXT),
            tool("view_image", {"path": TEXT}),
        ),
        ("exec_command", {"cmd": PRINTED}),
        "## Skills\nBelow is the list of skills.\n### Skill roots\n- `r0` = `/work/.agents/skills`\n"
        "### Available skills\n- everyday-tasks: Tasks with words and dates. (file: r0/everyday-tasks/SKILL.md)",
        ("exec_command", {"cmd": "cat /work/.agents/skills/everyday-tasks/SKILL.md"}),
    ),
    "older codex": Program(
        (tool("shell", {"command": COMMANDS}, workdir=TEXT),),
        ("shell", {"command": ["bash", "-lc", PRINTED]}),
        "## Skills\nThese skills are there:\n- everyday-tasks: Words and dates. (file: /s/everyday-tasks/SKILL.md)",
        ("shell", {"command": ["bash", "-lc", "cat /s/everyday-tasks/SKILL.md"]}),
    ),
    "claude": Program(
        (
            tool("Bash", {"command": TEXT}, description=TEXT),
            tool("Edit", {"file_path": TEXT, "old_string": TEXT, "new_string": TEXT}),
            tool("Read", {"file_path": TEXT}),
            tool("Skill", {"skill": TEXT}, args=TEXT),
            tool("Write", {"file_path": TEXT, "content": TEXT}),
        ),
        ("Write", {"file_path": "answer.txt", "content": f"{RIGHT}\n"}),
        "<system-reminder>\nThe following skills are available for use with the Skill tool:\n\n"
        "- everyday-tasks: Small tasks with words and dates.\n"
        "- dataviz: Use this skill whenever a chart, a graph, a plot or a board of any kind is asked for, in "
        "whatever medium, for words too.\n- init: Initialize a new file.\n</system-reminder>",
        ("Skill", {"skill": "everyday-tasks"}),
    ),
    "opencode": Program(
        (
            tool("bash", {"command": TEXT, "description": TEXT}, timeout={"type": "integer"}),
            tool("edit", {"filePath": TEXT, "oldString": TEXT, "newString": TEXT}),
            tool("skill", {"name": TEXT}),
            tool("todowrite", {"todos": {"type": "array", "items": TEXT}}),
            tool("write", {"content": TEXT, "filePath": TEXT}),
        ),
        ("write", {"filePath": "answer.txt", "content": f"{RIGHT}\n"}),
        ELEMENT.replace("PATH", "/s/everyday-tasks/SKILL.md"),
        ("skill", {"name": "everyday-tasks"}),
    ),
    "goose": Program(
        (
            tool("load_skill", {"name": TEXT}),
            tool("shell", {"command": TEXT}),
            tool("write", {"path": TEXT, "content": TEXT}),
        ),
        ("write", {"path": "answer.txt", "content": f"{RIGHT}\n"}),
        "## skills\n\nThese skills:\n\u2022 everyday-tasks - Tasks with words and dates.\n\u2022 guide - Use it: so.",
        ("load_skill", {"name": "everyday-tasks"}),
    ),
    "copilot": Program(
        (tool("create", {"path": TEXT, "file_text": TEXT}), tool("skill", {"skill": TEXT})),
        ("create", {"path": "answer.txt", "file_text": f"{RIGHT}\n"}),
        ELEMENT.partition("\nThe skills")[0].replace("PATH", "user"),
        ("skill", {"skill": "everyday-tasks"}),
    ),
    "pi": Program(
        (
            tool("read", {"path": TEXT}, offset={"type": "number"}),
            tool("bash", {"command": TEXT}),
            tool("edit", {"path": TEXT, "edits": {"type": "array", "items": {"type": "object"}}}),
            tool("write", {"path": TEXT, "content": TEXT}),
        ),
        ("write", {"path": "answer.txt", "content": f"{RIGHT}\n"}),
        ELEMENT.replace("PATH", "/s/everyday-tasks/SKILL.md"),
        ("read", {"path": "/s/everyday-tasks/SKILL.md"}),
    ),
}
every_program = pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))


def said_by(program: Program, *texts: str, asked: str = WANTED) -> ChatRequest:
    """A request: the program's own prompt, further system texts, the task."""
    prompts = (system(OWN_PROMPT), *(system(text) for text in texts))
    return ChatRequest(messages=(*prompts, user(asked)), tools=program.tools)


def answer(request: ChatRequest) -> Reply:
    return respond("target-steady", request)


def called(reply: Reply) -> tuple[str, dict[str, Any]]:
    (call,) = reply.tool_calls
    assert (reply.text, reply.finish, reply.simulated) == ("", "tool_calls", True)
    return call.name, json.loads(call.arguments)


def after(request: ChatRequest, reply: Reply, result: str, *more: Message) -> ChatRequest:
    """The next request: the call, its result, and what the program adds."""
    (call,) = reply.tool_calls
    turns = (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_call_id=call.id, content=(TextPart(text=result),)),
    )
    return request.model_copy(update={"messages": (*request.messages, *turns, *more)})


@every_program
def test_the_answer_is_written_into_the_file_that_the_task_names_and_then_said(program: Program) -> None:
    request = said_by(program, SKILL)
    reply = answer(request)
    assert called(reply) == program.written
    end = answer(after(request, reply, "Wrote file successfully."))
    assert (end.tool_calls, end.finish, answer_of(end)) == ((), "stop", RIGHT)


@every_program
def test_a_listed_skill_that_fits_is_opened_first_and_then_used(program: Program) -> None:
    request = said_by(program, program.listing)
    reply = answer(request)
    assert called(reply) == program.opened
    opened = after(request, reply, DOCUMENT)
    assert called(answer(opened)) == program.written
    end = answer(after(opened, answer(opened), "Done."))
    assert answer_of(end) == RIGHT


@every_program
def test_a_listed_skill_that_mentions_the_subject_among_much_else_is_not_opened(program: Program) -> None:
    about = "Reference for models, prices, parameters, tools, agents, caches, errors and moves from one to the next. "
    about += "Read it first whenever a program asks a model to make, sum up, take apart, class or reword a text. " * 2
    listing = re.sub(
        r"[^>:]+(?= ?\(file|</desc)|(?<=everyday-tasks: ).*|(?<=everyday-tasks - ).*",
        f"{about} Sort by it.",
        program.listing,
    )
    assert "Sort by it." in listing
    assert called(answer(said_by(program, SKILL, listing))) == program.written


def with_skill_at(place: str) -> ChatRequest:
    reported = {
        "system prompt": (system(f"{OWN_PROMPT}\n\n{SKILL}"), user(WANTED)),
        "system prompt, with its front matter": (system(f"{OWN_PROMPT}\n\n{DOCUMENT}"), user(WANTED)),
        "project file": (system(OWN_PROMPT), user(f"# AGENTS.md instructions\n\n{FULL_SKILL}"), user(WANTED)),
        "task": (system(OWN_PROMPT), user(f"{SKILL}\n\n# Task\n\n{WANTED}")),
        "numbered lines": (
            system(OWN_PROMPT),
            user(WANTED),
            Message(role="assistant", tool_calls=(ToolCall(id="r", name="Read", arguments="{}"),)),
            Message(
                role="tool",
                tool_call_id="r",
                content=(TextPart(text="\n".join(f"{at}\t{line}" for at, line in enumerate(DOCUMENT.splitlines()))),),
            ),
        ),
    }[place]
    return ChatRequest(messages=reported, tools=PROGRAMS["claude"].tools)


@rows("place", ["system prompt", "system prompt, with its front matter", "project file", "task", "numbered lines"])
def test_a_skill_teaches_wherever_it_stands(place: str) -> None:
    assert called(answer(with_skill_at(place))) == PROGRAMS["claude"].written


@rows("seed", range(2))
def test_noise_is_the_same_in_every_program_and_at_every_step(seed: int) -> None:
    written: set[str] = set()
    for program in PROGRAMS.values():
        request = said_by(program, SKILL).model_copy(update={"seed": seed})
        reply = respond("target-noisy", request)
        end = respond("target-noisy", after(request, reply, "Done."))
        assert answer_of(end) in str(json.loads(reply.tool_calls[0].arguments))
        written.add(answer_of(end))
    assert written == {answer_of(respond("target-noisy", ask(TASK, FULL_SKILL, seed)))}


def test_a_long_skill_harms_and_the_long_prompt_of_a_program_does_not() -> None:
    program = PROGRAMS["pi"]
    padding = "\n".join(f"- Remember that number {at} is a number like any other one." for at in range(400))
    wrong = {"short": 0, "long": 0}
    for seed in range(20):
        for name, skill in (("short", SKILL), ("long", f"{SKILL}\n{padding}")):
            request = said_by(program, skill).model_copy(update={"seed": seed})
            wrong[name] += called(respond("target", request)) != program.written
    assert wrong["short"] < 4
    assert wrong["long"] > 2 * wrong["short"]


def test_a_skill_that_cannot_be_opened_is_tried_once() -> None:
    program = PROGRAMS["claude"]
    request = said_by(program, program.listing)
    reply = answer(request)
    assert called(answer(after(request, reply, "Error: no such skill")))[0] == "Write"


def test_nothing_is_opened_or_written_without_a_tool_for_it() -> None:
    search = Program((tool("search", {"query": TEXT}),), ("", {}), "", ("", {}))
    reply = answer(said_by(search, PROGRAMS["pi"].listing))
    assert (reply.tool_calls, reply.finish) == ((), "stop")


def test_a_task_that_stands_in_what_a_program_adds_after_a_result_is_not_the_task() -> None:
    program = PROGRAMS["claude"]
    request = said_by(program, program.listing)
    example = f"Base directory for this skill: /s\n\nExample: {TASK.replace('pear', 'zoo')}\n\n{FULL_SKILL}"
    opened = after(request, answer(request), "Launching skill: everyday-tasks", user(example))
    assert called(answer(opened)) == program.written


def test_a_new_question_starts_anew() -> None:
    program = PROGRAMS["pi"]
    request = said_by(program, SKILL)
    done = after(request, answer(request), "Done.")
    end = answer(done)
    again = done.model_copy(
        update={
            "messages": (*done.messages, Message(role="assistant", content=(TextPart(text=end.text),)), user(WANTED))
        }
    )
    assert called(answer(again)) == program.written


def test_where_writing_fails_the_shell_is_tried_and_then_no_more() -> None:
    program = PROGRAMS["claude"]
    request = said_by(program, SKILL)
    failed = after(request, answer(request), "File has not been read yet. Read it first before writing to it.")
    reply = answer(failed)
    assert called(reply) == ("Bash", {"command": PRINTED})
    assert answer_of(answer(after(failed, reply, "bash: permission denied"))) == RIGHT


@rows(
    ("asked", "path"),
    [
        ("Write the answer to answer.txt.", "answer.txt"),
        ("Save your final answer in the file `out/result.md` and stop.", "out/result.md"),
        ('Put it into "final.json", please.', "final.json"),
        ("Please store the result as ./a-b/c_d.csv", "./a-b/c_d.csv"),
        ("Create a file named words.txt with the answer.", "words.txt"),
    ],
)
def test_the_file_is_recognised_in_free_wording(asked: str, path: str) -> None:
    program = PROGRAMS["pi"]
    assert called(answer(said_by(program, SKILL, asked=f"{TASK}\n{asked}")))[1]["path"] == path
    assert called(answer(said_by(program, SKILL, asked=f"{asked}\n\n{TASK}")))[1]["path"] == path


@pytest.mark.parametrize("asked", ["Write e.g. a list.", "Write it down.", "Read answer.txt first."])
def test_a_file_that_is_not_for_the_answer_is_left_alone(asked: str) -> None:
    assert not answer(said_by(PROGRAMS["pi"], SKILL, asked=f"{TASK}\n{asked}")).tool_calls


def test_folders_of_the_file_are_made_where_there_is_a_shell_only() -> None:
    asked = f"{TASK}\nWrite the answer to out/answer.txt."
    command = called(answer(said_by(PROGRAMS["codex"], SKILL, asked=asked)))[1]["cmd"]
    assert command == f"mkdir -p out && printf '%s' '{RIGHT}\n' > out/answer.txt"


def test_what_a_tool_requires_beside_is_filled_in() -> None:
    shell = Program(
        (tool("bash", {"command": TEXT, "description": TEXT, "timeout": {"type": "integer"}}),), *[()] * 3
    )  # type: ignore[arg-type]
    name, given = called(answer(said_by(shell, SKILL)))
    assert (name, given["command"], type(given["description"]), given["timeout"]) == ("bash", PRINTED, str, 0)


def test_schemas_and_forced_tools_come_before_files() -> None:
    program = PROGRAMS["pi"]
    form = ResponseSchema(name="r", body={"type": "object", "properties": {"answer": TEXT}, "required": ["answer"]})
    request = said_by(program, SKILL).model_copy(update={"response_schema": form})
    assert json.loads(answer(request).text) == {"answer": answer_of(answer(ask(TASK, OWN_PROMPT + SKILL)))}
    forced = tool("submit", {"answer": TEXT})
    request = request.model_copy(update={"response_schema": None, "tools": (forced,), "forced_tool": "submit"})
    assert called(answer(request))[0] == "submit"


def test_the_frame_of_the_answer_is_taken_from_short_prompts_and_the_task_only() -> None:
    tools = PROGRAMS["pi"].tools
    framed = ChatRequest(messages=(system("Put it between <answer> and </answer>."), user(TASK)), tools=tools)
    assert answer(framed).text.endswith("</answer>")
    own = ChatRequest(messages=(system(OWN_PROMPT + "<answer>4</answer>"), user(TASK)), tools=tools)
    assert "\nAnswer: " in answer(own).text
