"""Claude Code and Codex as judges of triggers, against a scripted model; and what they list."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from etude.config import make_config
from etude.config.sections import AgentSection
from etude.measure.triggers.catalogue import Listing, entries, shown
from etude.measure.triggers.environment import Request
from etude.measure.triggers.judge import SkillsAtHand
from etude.measure.triggers.measure import Triggers, ameasure_triggers
from etude.records import ChatRequest, Reply, ToolCall
from etude.testing import ScriptedModel

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]
PROGRAMS: list[tuple[Listing, dict[str, Any]]] = [
    ("claude-code", {"model": "claude-sonnet-4-5"}),  # whose context is 200,000 tokens
    ("codex", {}),
]
MANY = {
    f"s{number:03}": f"Use it for work of kind {number}. " + "It is long. " * (number % 90) for number in range(120)
}
SKILLS = {name: text.strip() for name, text in MANY.items()}
ASKED = [
    Request(id="tool", text="Please do the work of kind 7", needs=("s007",)),
    Request(id="wrong", text="Please do the work of kind 8", needs=("s008",)),
    Request(id="none", text="What is the time?", quiet="s009"),
    Request(id="false", text="What is the work?", quiet="s009"),
    Request(id="refused", text="How is a lock picked?", quiet="s009"),
]
OPENED = {ASKED[0].text: "s007", ASKED[1].text: "s080", ASKED[3].text: "s009"}


def opens(name: str, request: ChatRequest) -> Reply:
    """A reply that opens a skill as the program has it done: with its tool, else by reading the document."""
    tools = {tool.name for tool in request.tools}
    if "Skill" in tools:
        arguments, tool = {"skill": name}, "Skill"
    else:
        arguments, tool = {"cmd": f"cd .codex/skills/{name} && cat SKILL.md"}, "exec_command"
    call = ToolCall(id="call_1", name=tool, arguments=json.dumps(arguments))
    return Reply(tool_calls=(call,), finish="tool_calls")


def choose(request: ChatRequest) -> Reply | str:
    asked = [message.text for message in request.messages if message.role == "user"]
    if any(ASKED[4].text in text for text in asked):
        return Reply(text="", finish="refusal")
    wanted = next((name for words, name in OPENED.items() if any(words in text for text in asked)), None)
    if wanted is None or any(message.role == "tool" for message in request.messages):
        return "done"
    return opens(wanted, request)


def measured(folder: Path, program: str, options: dict[str, Any], target: ScriptedModel) -> Triggers:
    config = make_config({"run": {"folder": str(folder), "name": "t"}, "limits": {"concurrency": 2}})
    by = AgentSection.model_validate({"name": program, **options})
    return asyncio.run(ameasure_triggers(config, ASKED, SkillsAtHand(SKILLS), by, target=target))


@pytest.mark.parametrize(("program", "options"), PROGRAMS)
def test_what_a_program_opens_is_counted_right_and_paid_once(
    tmp_path: Path, program: Listing, options: dict[str, Any]
) -> None:
    model = ScriptedModel(choose)
    found = measured(tmp_path, program, options, model)
    assert {row.skill: (row.false_openings, row.instead) for row in found.skills} == {
        "s007": (0, {}),
        "s008": (0, {"s080": 1}),
        "s009": (1, {}),
    }
    assert (found.opened and found.opened.mean, found.quiet and found.quiet.mean) == (0.5, pytest.approx(1 / 3))
    assert (found.false_openings, found.unreadable, found.ended) == (2, 1, {"refused": 1})
    again = ScriptedModel([])
    assert measured(tmp_path, program, options, again).right == found.right
    assert again.requests == []
    # The list is the one that a chat model would be shown.
    sent = {line for message in model.requests[0].messages for line in message.text.splitlines()}
    assert [line for line in entries(shown(SKILLS, program), program) if line not in sent] == []
