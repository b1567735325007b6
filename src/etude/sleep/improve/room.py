"""The room in a learned block: what the optimizer is told of it, and what is too long to be tried."""

import re

from etude.config import TrainConfig
from etude.records import Skill
from etude.skill import Document, token_count
from etude.skill.document import CHARACTERS_PER_TOKEN

__all__ = ["in_room", "no_room", "told_of_room"]

_TOO_LONG = re.compile(r"about (\d+) tokens, more than skill\.max_tokens = \d+")


def in_room(config: TrainConfig, document: Skill, block_tokens: int) -> TrainConfig:
    """The settings for a document whose learned block may have so many tokens: `skill.max_tokens` is what the
    document has outside of the block and the room in it, and the optimizer is told of the room with every call. As
    they are for a document without a block."""
    span = Document.parse(document.text).learned_span
    if span is None:
        return config
    used = token_count(document.text[slice(*span)])
    most = _most(document, span, block_tokens)
    preferences = [config.reflect.preferences.strip(), _told(used, block_tokens)]
    return config.model_copy(
        update={
            "skill": config.skill.model_copy(update={"max_tokens": min(config.skill.max_tokens, most)}),
            "reflect": config.reflect.model_copy(update={"preferences": "\n\n".join(filter(None, preferences))}),
        }
    )


def no_room(document: Skill, max_tokens: int, block_tokens: int) -> str:
    """Why a document is too long to be tried, by the measure of `in_room`; empty where it is not."""
    span, whole = Document.parse(document.text).learned_span, token_count(document.text)
    if whole > max_tokens:
        return f"about {whole} tokens, more than skill.max_tokens = {max_tokens}"
    if span is None or whole <= _most(document, span, block_tokens):
        return ""
    used = token_count(document.text[slice(*span)])
    return f"a block of about {used} tokens, more than sleep.block_tokens = {block_tokens}"


def told_of_room(reason: str, config: TrainConfig, document: Skill, block_tokens: int) -> str:
    """A reason why a candidate was not tried, in terms of the setting that a person has made.

    Args:
        config: as it was before `in_room`.
    """
    span = Document.parse(document.text).learned_span
    if span is None or _most(document, span, block_tokens) >= config.skill.max_tokens:
        return reason
    outside = token_count(document.text) - token_count(document.text[slice(*span)])
    limit = f"more than sleep.block_tokens = {block_tokens}"
    return _TOO_LONG.sub(lambda found: f"a block of about {int(found[1]) - outside} tokens, {limit}", reason)


def _most(document: Skill, span: tuple[int, int], block_tokens: int) -> int:
    """Tokens of the document with a full block."""
    start, stop = span
    outside = len(document.text) - (stop - start)
    return -(-(outside + block_tokens * CHARACTERS_PER_TOKEN) // CHARACTERS_PER_TOKEN)


def _told(used: int, block_tokens: int) -> str:
    left = f"about {block_tokens - used:,} are left" if used <= block_tokens else "it has to become shorter"
    return (
        f"The lines between the `learned` markers may have about {block_tokens:,} tokens in all, which are "
        f"{block_tokens * CHARACTERS_PER_TOKEN:,} characters. They had {used:,} before the first edit: {left}. What "
        "is longer is not tried. Rather sharpen or merge rules than say a thing twice."
    )
