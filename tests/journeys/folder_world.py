"""A world whose tasks need a script's output and a table of a reference: nobody can guess either, and the table holds
no answer."""

import contextlib
import io
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from etude import ListEnvironment
from etude.protocols import Agent
from etude.records import ChatRequest, Message, Reply, Skill, Task, ToolCall, Trajectory
from etude.testing import ScriptedModel

RATES = {"amber": 31, "birch": 47, "cedar": 59, "delta": 73}
SCRIPT = """\
import sys

number = int(sys.argv[1])
print((number * 7919 + 104729) % 99991)
"""
TABLE = "".join(["| zone | cents for a kilogram |\n| --- | --- |\n", *(f"| {z} | {r} |\n" for z, r in RATES.items())])
BODY = "---\nname: parcels\ndescription: How to answer questions on parcels. Use it for parcels.\n---\n\n# Parcels\n"
SKILL = Skill(name="parcels", text=BODY)
OPENS_TABLE = f"<!-- etude:file references/rates.md -->\n# Rates\n\n{TABLE}"
OPENS_SCRIPT = f"<!-- etude:file scripts/check.py -->\n{SCRIPT}"
RUN_IT = "- For a check number, run `scripts/check.py` with the number of the parcel."
USELESS = "<!-- etude:file scripts/greet.py -->\nprint('good morning')\n"
_ZONE = re.compile(r"A parcel of (\d+) kilograms goes to zone (\w+)")
_CHECK = re.compile(r"check number of parcel (\d+)")


def tasks(first: int, count: int) -> list[Task]:
    """Every other one needs the script."""
    made: list[Task] = []
    for number in range(first, first + count):
        zone, weight = sorted(RATES)[number // 2 % 4], 11 + 2 * number
        if number % 2:
            given = str(40_000 + 37 * number)
            ask, gold = f"What is the check number of parcel {given}?", _printed(SCRIPT, given)
        else:
            ask = f"A parcel of {weight} kilograms goes to zone {zone}. What does it cost, in cents?"
            gold = str(weight * RATES[zone])
        made.append(Task(id=f"t{number}", input=ask, gold=gold, type="check" if number % 2 else "cost"))
    return made


def world(train: int = 16, val: int = 4, test: int = 8) -> ListEnvironment:
    parts = tasks(0, train), tasks(train, val), tasks(train + val, test)
    return ListEnvironment(*parts, scorer="exact")


class Clerk(Agent):
    """Follows its skill without a model: opens each reference, and runs the scripts that the text names."""

    name = "clerk"
    opens_files = True

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        assert "etude:file" not in skill.text  # what an agent gets is a folder
        texts = {path: file.data.decode() for path, file in skill.files.items()}
        if asked := _ZONE.search(task.input):
            read = "".join(text for path, text in texts.items() if path.startswith("references/"))
            return Trajectory(answer=_cost(asked, read))
        named = next((path for path in re.findall(r"`(scripts/[\w.]+)`", skill.text) if path in texts), None)
        return Trajectory(answer=_printed(texts[named], task.input.split()[-1].rstrip("?")) if named else "0")


def parcel_target() -> ScriptedModel:
    """A model that does the same with the tools that it is given: a command that reads a file or runs a script."""
    return ScriptedModel(_next_call, name="scripted:clerk")


def parcel_optimizer(*more: str, cites: str = "", mends: tuple[str, str] | None = None) -> ScriptedModel:
    """A model that proposes what the failures need, and each of `more`, which cites the failures of type `cites`, or
    all of them; and the second text of `mends` in place of the first."""

    def propose(request: ChatRequest) -> str:
        text = request.messages[-1].text
        failed = re.findall(r'<attempt id="(a-\w+)" outcome="\w+" hard="0".*?>\n<task[^>]*>\n(.*?)\n</task', text)
        kinds = {"cost": [name for name, ask in failed if _ZONE.search(ask)]}
        kinds["check"] = [name for name, ask in failed if _CHECK.search(ask)]
        edits = [(OPENS_TABLE, kinds["cost"]), (OPENS_SCRIPT, kinds["check"]), (RUN_IT, kinds["check"])]
        edits += [(content, kinds[cites] if cites else [name for name, _ in failed]) for content in more]
        rows = [
            {"op": "append", "content": content, "reason": "needed", "cites": ids} for content, ids in edits if ids
        ]
        if mends and kinds["check"]:
            row = {"op": "replace", "target": mends[0], "content": mends[1]}
            rows.append({**row, "reason": "it is wrong", "cites": kinds["check"]})
        return json.dumps({"reasoning": "what is missing", "edits": rows})

    return ScriptedModel(propose, name="scripted:optimizer")


def settings(folder: str, **more: Any) -> dict[str, Any]:
    return {"train": {"epochs": 2}, "skill": {"files": True}, "run": {"folder": folder}, **more}


def _cost(asked: re.Match[str], read: str) -> str:
    row = re.search(rf"\| {asked[2]} \| (\d+) \|", read)
    return str(int(asked[1]) * int(row[1])) if row else "0"


def _printed(script: str, argument: str) -> str:
    said, before = io.StringIO(), sys.argv
    sys.argv = ["script", argument]
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(script, "script", "exec"), {})
    finally:
        sys.argv = before
    return said.getvalue().strip()


def _next_call(request: ChatRequest) -> Reply:
    told = "\n".join(message.text for message in request.messages if message.role != "assistant")
    ask = next(found for pattern in (_ZONE, _CHECK) if (found := pattern.search(_asked(request.messages))))
    heard = [message.text for message in request.messages if message.role == "tool"]
    folder = next(iter(re.findall(r"(?:count from `|Base directory for this skill: )([^`\s]+)", told)), "")
    opener = next((tool for tool in request.tools if tool.name == "Skill"), None)
    if not folder and opener and "parcels: How to answer" in told and not heard:
        return _call(opener.name, skill="parcels")
    command = f"cat {folder}/references/*" if folder and ask.re is _ZONE else ""
    if ask.re is _CHECK and (named := next(iter(re.findall(r"run `(scripts/[\w.]+)`", told)), None)):
        command = f"python3 {folder}/{named} {ask[1]}"
    ran = any("python3 " in call.arguments or "cat " in call.arguments for call in _calls(request))
    if command and folder and not ran:
        return _run(request, command)
    if ask.re is _ZONE:
        return _say(_cost(ask, "\n".join(heard)))
    found = re.findall(r"^\d+$", heard[-1], re.MULTILINE) if heard else []
    return _say(found[-1] if found else "0")


def _asked(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages if message.role == "user")


def _say(answer: str) -> Reply:
    return Reply(text=f"<answer>{answer}</answer>")


def _run(request: ChatRequest, command: str) -> Reply:
    for tool in request.tools:
        known: Any = tool.parameters.get("properties") or {}
        name = next((name for name in ("command", "cmd") if name in known), None)
        if name and tool.name.lower() in ("bash", "shell", "exec_command", "shell_command", "local_shell"):
            value = ["bash", "-lc", command] if known[name].get("type") == "array" else command
            return _call(tool.name, **{name: value})
    return _say("0")


def _call(tool: str, **arguments: Any) -> Reply:
    call = ToolCall(id=f"call_{tool}", name=tool, arguments=json.dumps(arguments))
    return Reply(text="", tool_calls=(call,), finish="tool_calls")


def _calls(request: ChatRequest) -> list[ToolCall]:
    return [call for message in request.messages for call in message.tool_calls]
