"""What comes of a tool call."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What a tool did."""

    text: str
    """May be long: it is cut before a model reads it."""
    remarks: tuple[str, ...] = ()
    """How it ended, where that was not well."""
    exit_code: int | None = None
    """None when no command was run."""


class ToolMisuse(Exception):
    """The model asked for what cannot be done. The text is for the model, which may try otherwise."""
