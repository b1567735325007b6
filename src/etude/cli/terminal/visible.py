"""Text from anywhere, as it may go to a terminal: what would act on the terminal or on the reader's eye is shown."""

import re

_ACTS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\r(?!\n|\Z)")
"""Control characters but tabs and line ends; those that break lines or turn the direction of text."""


def visible(text: str) -> str:
    """The text with `<U+001B>` for each such character. A carriage return stays where it belongs to a line end."""
    return _ACTS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def visible_json(text: str) -> str:
    """The same for JSON, whose value stays what it is."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
