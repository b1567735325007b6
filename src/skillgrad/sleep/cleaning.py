"""Which sessions and turns say something about what a user wants, and what the user said about an answer."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import Field

from skillgrad.prompts import Prompts, prompt_names
from skillgrad.records import Record
from skillgrad.sleep.sessions import Session, Turn
from skillgrad.sleep.wording import opinion

__all__ = ["OBSERVERS", "OWN", "Cleaned", "cleaned", "feedback", "left_out"]

OWN = "skillgrad-sleep: this conversation is an attempt of skillgrad, not a user's"
"""A line of every prompt that skillgrad sends during sleep, so that no later night takes the conversation for a
user's."""

OBSERVERS = (
    "You are a Claude-Mem, a specialized observer tool",
    "Hello memory agent, you are continuing to observe",
    "You are observing a software development session",
)
"""What the first prompts of other programs that watch conversations contain."""

_HEAD = 4_000
"""Characters of a prompt in which marks are looked for."""
_MARK = 100
_WRAPPER = re.compile(r"(?:\[(?:Pasted (?:text|content)|Image|File)\b[^\]\n]{0,200}\]\s*)+")
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
_COMMAND_TAGS = ("<command-message>", "<command-name>", "<local-command-stdout>", "<bash-input>", "<bash-stdout>")
_NOTICES = (
    "[Request interrupted by user",
    "Caveat: ",
    "This session is being continued from a previous conversation",
)
_TAG = re.compile(r"<([A-Za-z][\w:.-]{0,80})(?:\s[^<>]{0,2000})?(/?)>")
_MOST_COMMAND_WORDS = 3
_OWN_PROMPT = "own prompt"


class Cleaned(Record):
    """What is left of a session."""

    session: Session | None = None
    """The session with the turns that are worth something; None when there is no new one among them."""
    new: int = 0
    """Index of the first turn of `session` that no night has seen; those before it are context."""
    skipped: dict[str, int] = Field(default_factory=dict[str, int])
    """New turns that were left out, by reason. `own` and `observer` count the session as one."""

    @property
    def own(self) -> bool:
        """The session is skillgrad's own."""
        return self.session is None and "own" in self.skipped


def cleaned(session: Session, *, seen: int = 0, observers: Sequence[str] = OBSERVERS) -> Cleaned:
    """Leave out what no user said: empty prompts, commands of a few words, pasted wrappers, blocks of tags, notices
    of the program, and whole sessions of skillgrad's own or of observers.

    Args:
        seen: how many turns from the first an earlier night has used.
        observers: texts that tell a session of another program by its first prompt, whatever their case.
    """
    reasons = [left_out(turn) for turn in session.turns]
    asked = (turn.prompt for turn, reason in zip(session.turns, reasons, strict=True) if reason in ("", _OWN_PROMPT))
    first = next(asked, "")
    if _is_own(first):
        return Cleaned(skipped={"own": 1})
    head = _folded(first[:_HEAD])
    if any(_folded(marker) in head for marker in observers if marker.strip()):
        return Cleaned(skipped={"observer": 1})
    skipped: dict[str, int] = {}
    kept: list[Turn] = []
    new = 0
    for index, (turn, reason) in enumerate(zip(session.turns, reasons, strict=True)):
        if not reason:
            kept.append(turn)
            new += index < seen
        elif index >= seen:
            skipped[reason] = skipped.get(reason, 0) + 1
    if new == len(kept):
        return Cleaned(skipped=skipped)
    return Cleaned(session=session.model_copy(update={"turns": tuple(kept)}), new=new, skipped=skipped)


def left_out(turn: Turn) -> str:
    """Why a turn says nothing about what a user wants; empty when it does."""
    prompt = turn.prompt.strip()
    if not prompt:
        return "empty prompt"
    if _has_own_line(prompt):
        return _OWN_PROMPT
    if _COMMAND.match(prompt) and len(prompt.split()) <= _MOST_COMMAND_WORDS:
        return "command"
    if any(tag in prompt[:200] for tag in _COMMAND_TAGS):
        return "command"
    if _WRAPPER.fullmatch(prompt):
        return "pasted"
    if prompt.startswith(_NOTICES):
        return "notice"
    return "tag block" if _is_tag_block(prompt) else ""


def feedback(turn: Turn | None, next_turn: Turn | None) -> Literal["negative", "positive"] | None:
    """What the user said about a turn of the agent in the next prompt; None where that tells nothing, as when the
    agent did nothing in the turn. English only.

    Args:
        turn: None for what stands before the first ask of a session, which is about nothing.
        next_turn: the turn after it; None when the session ends.
    """
    if turn is None or next_turn is None or not (turn.answer.strip() or turn.tools or turn.interrupted):
        return None
    return opinion(next_turn.prompt)


def _is_own(prompt: str) -> bool:
    if _has_own_line(prompt):
        return True
    head = _folded(prompt[:_HEAD])
    return any(mark in head for mark in _own_marks())


def _has_own_line(prompt: str) -> bool:
    return OWN in prompt and any(line.strip() == OWN for line in prompt.splitlines())


@cache
def _own_marks() -> tuple[str, ...]:
    """The beginnings of the prompts that skillgrad ships: an agent program may be told them as a user's words."""
    prompts = Prompts()
    return tuple(_folded(prompts[name].partition("\n")[0][:_MARK]) for name in prompt_names())


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _is_tag_block(prompt: str) -> bool:
    """Whether there is nothing but `<name ...> ... </name>` and `<name/>`, one after the other."""
    position = 0
    while position < len(prompt):
        tag = _TAG.match(prompt, position)
        if tag is None:
            return False
        position = tag.end()
        if not tag[2]:
            closing = f"</{tag[1]}>"
            end = prompt.find(closing, position)
            if end < 0:
                return False
            position = end + len(closing)
        while position < len(prompt) and prompt[position].isspace():
            position += 1
    return True
