"""The learned block of a document, which is all that a night changes of it: its text, and the room in it."""

import re

from etude.config import TrainConfig
from etude.records import Skill
from etude.skill import Document, token_count
from etude.skill.document import CHARACTERS_PER_TOKEN

__all__ = ["BLOCK_TOKENS", "block_of", "in_room", "told_of_room", "with_block"]

BLOCK_TOKENS = 1_500
"""Room in the block, estimated as characters / 4: what is learned is read in every conversation."""

_TOO_LONG = re.compile(r"about \d+ tokens, more than skill\.max_tokens = \d+")


def block_of(document: Skill) -> str:
    """The inside of the learned block, with its last line end."""
    span = Document.parse(document.text).learned_span
    return "" if span is None else document.text[slice(*span)]


def with_block(document: Skill, text: str) -> Skill:
    """The document with `text` inside of its block, or in place of all of it where it has no block."""
    span = Document.parse(document.text).learned_span
    return document.with_text(text if span is None else document.text[: span[0]] + text + document.text[span[1] :])


def in_room(config: TrainConfig, document: Skill) -> TrainConfig:
    """The settings for a document with a block: `skill.max_tokens` is what the document has outside of the block and
    the room in it, and every call tells the optimizer how much room there is."""
    most = _most(document)
    if most is None:
        return config
    used = token_count(block_of(document))
    preferences = [config.reflect.preferences.strip(), _told(used)]
    return config.model_copy(
        update={
            "skill": config.skill.model_copy(update={"max_tokens": min(config.skill.max_tokens, most)}),
            "reflect": config.reflect.model_copy(update={"preferences": "\n\n".join(filter(None, preferences))}),
        }
    )


def told_of_room(reason: str, config: TrainConfig, document: Skill) -> str:
    """Why a candidate was not tried, where it was the room in the block that was too small for it.

    Args:
        config: as it was before `in_room`.
    """
    most = _most(document)
    if most is None or most >= config.skill.max_tokens:
        return reason
    return _TOO_LONG.sub(f"its learned block has more than {BLOCK_TOKENS:,} tokens", reason)


def _most(document: Skill) -> int | None:
    """Tokens of the document with a full block; None where it has none."""
    span = Document.parse(document.text).learned_span
    if span is None:
        return None
    outside = len(document.text) - (span[1] - span[0])
    return -(-(outside + BLOCK_TOKENS * CHARACTERS_PER_TOKEN) // CHARACTERS_PER_TOKEN)


def _told(used: int) -> str:
    left = f"about {BLOCK_TOKENS - used:,} are left" if used <= BLOCK_TOKENS else "it has to become shorter"
    return (
        f"The lines between the `learned` markers may have about {BLOCK_TOKENS:,} tokens in all, which are "
        f"{BLOCK_TOKENS * CHARACTERS_PER_TOKEN:,} characters. They had {used:,} before the first edit: {left}. What "
        "is longer is not tried. Sharpen or merge rules instead of saying a thing twice."
    )
