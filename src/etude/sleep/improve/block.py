"""The learned block of a document, which is all that a night changes of it."""

from etude.records import Skill
from etude.skill import Document

__all__ = ["block_of", "changed", "with_changed"]


def block_of(document: Skill) -> str:
    """The inside of the learned block, with its last line end."""
    span = Document.parse(document.text).learned_span
    return "" if span is None else document.text[slice(*span)]


def changed(document: Skill) -> str:
    """What a candidate may have changed: the inside of its block, or all of it where it has none. Only this is kept
    in the state: it comes from a run folder, without the values of keys. What stands around the block comes from the
    user, and may hold one."""
    return document.text if Document.parse(document.text).learned_span is None else block_of(document)


def with_changed(document: Skill, text: str) -> Skill:
    """The document with `text` in the place of `changed(document)`."""
    span = Document.parse(document.text).learned_span
    return document.with_text(text if span is None else document.text[: span[0]] + text + document.text[span[1] :])
