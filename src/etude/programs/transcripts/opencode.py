"""OpenCode: messages with parts, which standard output has too."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import items, moment, number, table, tables, text

_FEEDBACK = "The user rejected permission to use this specific tool call with the following feedback: "
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
"""Quotes around a whole text; those in it are escaped."""
_QUESTIONS = {"permission": "question", "action": "deny"}
"""Nobody is there to answer: `opencode run` forbids questions."""


class MessageRow(NamedTuple):
    """A message as a session keeps it."""

    id: str
    data: dict[str, Any]
    parts: list[dict[str, Any]]


def tell(listener: Listener, messages: Sequence[MessageRow], revert: Any, permissions: Any) -> None:
    """What happened, by the messages of a session in their order: those from `revert` on were taken back by the user.
    Its permissions tell whether a person was there."""
    busy: datetime | None = None
    revert, scripted = text(revert), _alone(permissions)
    for at, message in enumerate(messages):
        if revert and message.id >= revert:
            taken = sum(1 for each in messages[at:] if each.data.get("role") == "user")
            listener.skipped["taken back"] += taken
            return
        times = table(message.data.get("time"))
        created, completed = moment(times.get("created")), moment(times.get("completed"))
        if message.data.get("role") == "user":
            meanwhile = None not in (busy, created) and _stamp(created) < _stamp(busy)
            _asked(listener, message.parts, created, meanwhile=meanwhile, scripted=scripted)
        elif message.data.get("summary") is True:
            listener.skipped["compaction"] += 1
        else:
            busy = completed
            _worked(listener, message, created, completed is not None)
        listener.seen(created)


def _worked(listener: Listener, message: MessageRow, at: datetime | None, completed: bool) -> None:
    for part in message.parts:
        tell_part(listener, part, at)
    if message.data.get("error") is not None or not completed:
        listener.stop()
    elif message.data.get("finish") == "stop":
        listener.done()


def _alone(permissions: Any) -> bool:
    """Whether no person was there, by what a session may do."""
    return any(_QUESTIONS.items() <= each.items() for each in tables(permissions))


def _stamp(at: datetime | None) -> float:
    return at.timestamp() if at is not None else 0.0


def _asked(
    listener: Listener, parts: list[dict[str, Any]], at: datetime | None, *, meanwhile: bool, scripted: bool
) -> None:
    """A message of the user."""
    texts = [part for part in parts if part.get("type") == "text" and text(part.get("text"))]
    own = [text(part["text"]) for part in texts if not (part.get("synthetic") or part.get("ignored"))]
    if own:
        listener.ask(_unquoted("\n\n".join(own)), at, meanwhile=meanwhile, scripted=scripted)
    elif any(part.get("type") == "compaction" for part in parts):
        listener.skipped["compaction"] += 1
    elif texts:
        listener.skipped["meta"] += 1


def _unquoted(prompt: str) -> str:
    """The prompt without the quotes that `opencode run` puts around an argument with a space in it."""
    quoted = _QUOTED.fullmatch(prompt.strip())
    return prompt if quoted is None else quoted[1].replace('\\"', '"')


def tell_part(listener: Listener, part: Mapping[str, Any], at: datetime | None = None) -> None:
    """A part of what the agent says and does."""
    if part.get("type") == "text" and not part.get("synthetic"):
        listener.say(part.get("text"))
    elif part.get("type") == "tool":
        _used(listener, part, at)


def _used(listener: Listener, part: Mapping[str, Any], at: datetime | None) -> None:
    id, tool, state = part.get("callID"), part.get("tool"), table(part.get("state"))
    listener.call(id, tool, state.get("input"))
    status, about = state.get("status"), table(state.get("metadata"))
    words = ""
    if status == "error":
        error = text(state.get("error"))
        listener.result(id, error, True)
        words = error.removeprefix(_FEEDBACK) if error.startswith(_FEEDBACK) else ""
    elif status == "completed":
        listener.result(id, state.get("output"), False, number(about.get("exit")))
        if tool == "skill":
            listener.skill(table(state.get("input")).get("name"))
        if tool == "question":
            words = "\n".join(text(each) for one in items(about.get("answers")) for each in items(one))
    if words.strip():
        listener.ask(words, at, meanwhile=True)
