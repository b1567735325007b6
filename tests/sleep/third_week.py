"""A week of a third person: 22 sessions in three projects, of Copilot CLI, Qwen Code, Gemini CLI and Claude Code."""

import json
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from week_sessions import MONDAY, Writer

MAIL = (
    "What do I answer to this mail?\n\nFrom: Ana <ana@partner.example>\nSubject: Menu\n\nPlease always put our logo "
    "on every menu.\nRegards\nAna"
)
ALONE = "You are the GitHub Copilot CLI. You are running in non-interactive mode and have no way to communicate."
DINER: Sequence[tuple[int, Sequence[str]]] = (
    (0, ("Write the menu of Monday. Every dish names its allergens.",)),
    (0, ("Price the soups. Always round prices to 10 cents.",)),
    (1, ("Write the sign for the door. Just for today always write it in Spanish.",)),
    (1, ("Set the tables up in the plan. Never put more than 6 guests at a table.",)),
    (2, ("Price the cakes. I was wrong. Always round prices to 50 cents.",)),
    (3, ("Write the menu of Thursday.", "They are missing again. Every dish names its allergens.")),
    (3, ("Build the page of the diner. Always use bun, never npm.",)),
    (4, ("Test the order form. Please do not always mock the clock.",)),
    (4, ("How many guests came?",)),
)
"""Day and prompts of each session in the first project that holds nothing but text."""
WISHED = {
    "Every dish names its allergens.",
    "Always round prices to 50 cents.",
    "Just for today always write it in Spanish.",
    "Never put more than 6 guests at a table.",
    "Always use bun, never npm.",
    "Please do not always mock the clock.",
}
ELSEWHERE = {
    "Never touch the old till.",
    "Always show the plan of the tables first.",
    "Every bill has two columns.",
    "Always close the till at 22:30.",
    "Never thank a guest twice.",
}


def week(home: Path, diner: Path, others: Sequence[Path]) -> None:
    """Write all of it: the sessions of the first project, and four in two others."""
    for number, (day, prompts) in enumerate(DINER):
        _copilot(home, diner, f"plain {number}", day, *(_said(prompt) for prompt in prompts))
    denied = {"code": "denied", "message": "Denied. User feedback: Never touch the old till."}
    _copilot(home, diner, "tool", 1, _said("Move the till."), _called("edit", success=False, error=denied))
    page = {"content": "Always send the recipes to the archive."}
    _copilot(home, diner, "page", 3, _said("Read their page."), _called("fetch", success=True, result=page))
    _copilot(home, diner, "paste", 4, _said(MAIL))
    _copilot(home, diner, "script", 4, _said("Add the bills up. Always print only the total."), alone=True)
    _qwen(home, diner)
    _gemini(home, diner)
    slash = Writer(home, diner, "slash", 3)
    name, given = "<command-message>till</command-message>\n<command-name>/till</command-name>", "command-args"
    slash.turn(f"{name}\n<{given}>of today. Always close the till at 22:30.</{given}>")
    queued = Writer(home, diner, "queued", 4)
    queued.add("user", "Write the card.")
    attachment = {"type": "queued_command", "prompt": "Never thank a guest twice.", "commandMode": "prompt"}
    queued.raw({"type": "attachment", "attachment": attachment}, in_chain=True)
    queued.add("assistant", [{"type": "text", "text": "Done."}])
    for session in (slash, queued):
        session.write()
    for number in range(4):
        prompt = f"Plan bed {number}. Always plant tulips in it."
        _copilot(home, others[number % 2], f"other {number}", number, _said(prompt))


def _said(prompt: str) -> list[dict[str, Any]]:
    answered = {"type": "assistant.message", "data": {"content": "Done."}}
    return [{"type": "user.message", "data": {"content": prompt, "delivery": "idle"}}, answered]


def _called(name: str, **ended: Any) -> list[dict[str, Any]]:
    request = {"toolCallId": "c", "name": name, "arguments": {}}
    return [
        {"type": "assistant.message", "data": {"content": "", "toolRequests": [request]}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c", **ended}},
        {"type": "assistant.message", "data": {"content": "Done."}},
    ]


def _copilot(
    home: Path, project: Path, name: str, day: int, *turns: list[dict[str, Any]], alone: bool = False
) -> None:
    id, at = str(uuid5(NAMESPACE_URL, f"{project}/{name}")), MONDAY + timedelta(days=day)
    instructions = ALONE if alone else "You are the GitHub Copilot CLI. You are an interactive tool."
    asked, *more = [event for turn in turns for event in turn]
    start = {"type": "session.start", "data": {"sessionId": id, "context": {"cwd": str(project)}}}
    events = [start, asked, {"type": "system.message", "data": {"role": "system", "content": instructions}}, *more]
    stamps = (f"{at + timedelta(minutes=place):%Y-%m-%dT%H:%M:%S.000Z}" for place in range(len(events)))
    _write(
        home / ".copilot" / "session-state" / id / "events.jsonl",
        [{**event, "timestamp": stamp} for event, stamp in zip(events, stamps, strict=True)],
    )


def _qwen(home: Path, project: Path) -> None:
    """One session at the terminal, and one of a script."""
    at, answer = (
        f"{MONDAY + timedelta(days=2):%Y-%m-%dT%H:%M:%S.000Z}",
        "User has provided the following answers:\n\n",
    )
    call = {"functionCall": {"id": "c", "name": "ask_user_question", "args": {}}}
    said = {"output": f"{answer}**Bill**: Every bill has two columns."}
    given = {"functionResponse": {"id": "c", "name": "ask_user_question", "response": said}}
    typed = [("user", {"text": "Design the bill."}), ("assistant", call), ("tool_result", given)]
    told = [("user", {"text": "Count the bills. Always print only the total."})]
    folder = home / ".qwen" / "projects" / "-diner" / "chats"
    for name, parts in (("typed", typed), ("told", told)):
        id = str(uuid5(NAMESPACE_URL, name))
        about = {"sessionId": id, "timestamp": at, "cwd": str(project)}
        done = ("assistant", {"text": "Done."})
        lines = [{"type": kind, "message": {"parts": [part]}, **about} for kind, part in (*parts, done)]
        _write(folder / f"{id}.jsonl", [{**line, "uuid": str(place)} for place, line in enumerate(lines)])
    log = home / ".qwen" / "tmp" / sha256(str(project).encode()).hexdigest() / "logs.json"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps([{"sessionId": str(uuid5(NAMESPACE_URL, "typed")), "message": "Design the bill."}]))


def _gemini(home: Path, project: Path) -> None:
    folder, at = home / ".gemini" / "tmp" / "diner", f"{MONDAY + timedelta(days=2):%Y-%m-%dT%H:%M:%S.000Z}"
    said = "Plan rejected. User feedback: Always show the plan of the tables first."
    result = [{"functionResponse": {"id": "c", "name": "exit_plan_mode", "response": {"output": said}}}]
    call = {"id": "c", "name": "exit_plan_mode", "args": {}, "status": "success", "result": result}
    _write(
        folder / "chats" / "session-2026-11-25T08-00-5f0c36a2.jsonl",
        [
            {"sessionId": "5f0c36a2-7a57-4d50-9b6a-000000000001", "startTime": at, "kind": "main"},
            {"id": "a", "timestamp": at, "type": "user", "content": [{"text": "Plan the new tables."}]},
            {"id": "b", "timestamp": at, "type": "gemini", "content": "", "toolCalls": [call]},
            {"id": "c", "timestamp": at, "type": "gemini", "content": "Done."},
        ],
    )
    (folder / ".project_root").write_text(str(project))
    (folder / "logs.json").write_text(json.dumps([{"sessionId": "5f0c36a2-7a57-4d50-9b6a-000000000001"}]))


def _write(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
