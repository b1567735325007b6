"""The words of a text, whatever its case."""

import re

_WORD = re.compile(r"\w+")
_BETWEEN = {code: " " for code in range(128) if not _WORD.match(chr(code))}


def words_of(text: str) -> list[str]:
    """Letters, digits and underscores in a row, in small letters."""
    text = text.casefold()
    # Three times as fast as the expression, which counts where tasks are long.
    return text.translate(_BETWEEN).split() if text.isascii() else _WORD.findall(text)
