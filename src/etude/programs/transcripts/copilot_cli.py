"""Copilot CLI: events, one a line."""

from collections.abc import Iterable
from typing import Any

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import number, table, tables, text

_FEEDBACK = "User feedback: "
_ANSWERS = ("User responded: ", "User selected: ")
_ALONE = "You are running in non-interactive mode"


def tell(listener: Listener, records: Iterable[dict[str, Any]]) -> None:
    """What happened, by the events of a session. The instructions to the model, written down where they change, come
    behind the prompt; they tell whether there is a person to ask."""
    scripted = False
    for event in records:
        if event.get("type") == "system.message":
            scripted = _ALONE in text(table(event.get("data")).get("content"))
            listener.scripted(scripted)
        else:
            _tell(event, listener, scripted)


def _tell(event: dict[str, Any], listener: Listener, scripted: bool) -> None:
    data = table(event.get("data"))
    kind = event.get("type")
    at = event.get("timestamp")
    listener.seen(at, table(data.get("context")).get("cwd"))
    if data.get("parentToolCallId") is not None or event.get("agentId") is not None:
        listener.skipped["subagent"] += 1
    elif kind == "user.message":
        if data.get("source") not in (None, "", "user"):
            listener.skipped["meta"] += 1
        elif text(data.get("content")):
            meanwhile = data.get("delivery") not in (None, "idle")
            listener.ask(text(data.get("content")), at, meanwhile=meanwhile, scripted=scripted)
        else:
            listener.skipped["empty"] += 1
    elif kind == "assistant.message":
        listener.say(data.get("content"))
        for request in tables(data.get("toolRequests")):
            listener.call(request.get("toolCallId"), request.get("name"), request.get("arguments"))
    elif kind == "tool.execution_complete":
        _used(data, at, listener)
    elif kind == "skill.invoked":
        listener.skill(data.get("name"))
    elif kind in ("abort", "session.error"):
        listener.stop()
    elif kind == "session.compaction_complete":
        listener.skipped["compaction"] += 1


def _used(data: dict[str, Any], at: Any, listener: Listener) -> None:
    id, succeeded = data.get("toolCallId"), data.get("success")
    error = table(data.get("error"))
    result = table(data.get("result")).get("content", error.get("message"))
    failed = not succeeded if isinstance(succeeded, bool) else None
    listener.result(id, result, failed, number(table(data.get("shellExecution")).get("exitCode")))
    words = ""
    if error.get("code") in ("rejected", "denied"):
        words = text(error.get("message")).partition(_FEEDBACK)[2]
    elif listener.tool(id) == "ask_user":
        words = next((text(result).removeprefix(each) for each in _ANSWERS if text(result).startswith(each)), "")
    if words.strip():
        listener.ask(words, at, meanwhile=True)
