"""The simulated target as the model of agent programs: it writes files, opens skills, and learns from skills only."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from simulation_prompts import FULL_SKILL, answer_of, answered_with

from etude.records import ChatRequest, Message, Reply, TextPart, Tool, system, user
from etude.simulation import respond

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
def test_a_listed_skill_that_fits_is_opened_first_and_then_used(program: Program) -> None:
    request = said_by(program, program.listing)
    reply = answer(request)
    assert called(reply) == program.opened
    opened = after(request, reply, DOCUMENT)
    assert called(answer(opened)) == program.written
    end = answer(after(opened, answer(opened), "Done."))
    assert answer_of(end) == RIGHT


def test_the_frame_of_the_answer_is_taken_from_short_prompts_and_the_task_only() -> None:
    tools = PROGRAMS["pi"].tools
    framed = ChatRequest(messages=(system("Put it between <answer> and </answer>."), user(TASK)), tools=tools)
    assert answer(framed).text.endswith("</answer>")
    own = ChatRequest(messages=(system(OWN_PROMPT + "<answer>4</answer>"), user(TASK)), tools=tools)
    assert "\nAnswer: " in answer(own).text
