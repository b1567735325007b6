"""Which texts of a Messages body are marked for the provider's prompt cache."""

from typing import Any, cast

__all__ = ["mark_first", "mark_last"]

LARGE = 4000
"""Characters, or about 1,000 tokens, below which nothing is kept in the cache: they count from the beginning."""
MOST_TEXTS = 2
"""Texts that are marked in addition to the system's; four marks are allowed in all."""
_CACHED = {"cache_control": {"type": "ephemeral"}}


def mark_last(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of the system text with a mark on the last: every attempt of a step begins with them."""
    if blocks:
        blocks[-1] |= _CACHED
    return blocks


def mark_first(turns: list[dict[str, Any]], told: int) -> None:
    """The large texts that open the conversation are kept in the cache, as far as more follows them. Pictures are
    not: writing to the cache costs more than reading saves where each task has pictures of its own.

    Args:
        told: characters that the system says.
    """
    blocks = cast(list[dict[str, Any]], turns[0]["content"]) if turns else []
    for at, block in enumerate(blocks[:MOST_TEXTS]):
        if block["type"] != "text" or (at == len(blocks) - 1 and len(turns) == 1):
            return
        told += len(block["text"])
        if told >= LARGE:
            block |= _CACHED
