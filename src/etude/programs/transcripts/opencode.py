"""OpenCode: messages with parts, which standard output has too."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import items, number, table, text

_FEEDBACK = "The user rejected permission to use this specific tool call with the following feedback: "
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
"""Quotes around a whole text; those in it are escaped."""


def tell_asked(
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
