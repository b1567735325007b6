"""The room in the learned block of a document, which is all that a night changes of it."""

from etude.config import TrainConfig
from etude.records import Skill
from etude.skill import Document, token_count
from etude.skill.document import CHARACTERS_PER_TOKEN
from etude.sleep.adoption.rules import block_of

__all__ = ["BLOCK_TOKENS", "in_room"]

BLOCK_TOKENS = 1_500
"""Room in the block, estimated as characters / 4: what is learned is read in every conversation."""


def in_room(config: TrainConfig, document: Skill) -> TrainConfig:
    """The settings for a document with a block: `skill.max_tokens` is what the document has outside of the block and
    the room in it, and every call tells the optimizer how much room there is."""
    if Document.parse(document.text).learned is None:
        return config
    block = block_of(document.text)
    most = token_count(document.text[len(block) :] + "x" * BLOCK_TOKENS * CHARACTERS_PER_TOKEN)
    used = token_count(block)
    left = f"about {BLOCK_TOKENS - used:,} are left" if used <= BLOCK_TOKENS else "it has to become shorter"
    room = (
        f"The lines between the `learned` markers may have about {BLOCK_TOKENS:,} tokens in all, which are "
        f"{BLOCK_TOKENS * CHARACTERS_PER_TOKEN:,} characters. They had {used:,} before the first edit: {left}. What "
        "is longer is not tried. Sharpen or merge rules instead of saying a thing twice."
    )
    preferences = "\n\n".join(filter(None, [config.reflect.preferences.strip(), room]))
    return config.model_copy(
        update={
            "skill": config.skill.model_copy(update={"max_tokens": min(config.skill.max_tokens, most)}),
            "reflect": config.reflect.model_copy(update={"preferences": preferences}),
        }
    )
