"""Which texts of a Messages body are marked for the provider's prompt cache."""

from collections.abc import Sequence
from typing import Any, cast

from etude.records import Message

LARGE = 4000
"""Characters, or about 1,000 tokens, below which nothing is kept in the cache: they count from the beginning."""
MOST_TEXTS = 2
"""Texts that are marked in addition to the system's; four marks are allowed in all."""
_CACHED = {"cache_control": {"type": "ephemeral"}}


def system_blocks(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """What the system says. Every attempt of a step begins with it, so that it is worth a place in the cache."""
    texts = [message.text for message in messages if message.role == "system" and message.text.strip()]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    if blocks:
        blocks[-1] |= _CACHED
    return blocks


def mark_first(turns: list[dict[str, Any]], characters: int) -> None:
    """The large texts that open the conversation are kept in the cache, as far as more follows them. Pictures are
    not: writing to the cache costs more than reading saves where each task has pictures of its own. The system
    message has `characters`."""
    blocks = cast(list[dict[str, Any]], turns[0]["content"]) if turns else []
    for at, block in enumerate(blocks[:MOST_TEXTS]):
        if block["type"] != "text" or (at == len(blocks) - 1 and len(turns) == 1):
            return
        characters += len(block["text"])
        if characters >= LARGE:
            block |= _CACHED
