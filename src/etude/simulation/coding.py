"""Answers as code: where a prompt asks for Python that puts the answer into a cell of a workbook."""

import re

_ASKS_CODE = re.compile(r"\bPython code block\b|\bcode block in Python\b", re.IGNORECASE)
_WORKBOOK = re.compile(r"\bworkbook is (\S+\.xlsx)\b", re.IGNORECASE)
_RESULT = re.compile(r"\bsave\b[^.\n]*\bas (\S+\.xlsx)\b", re.IGNORECASE)
_CELL = re.compile(r"'(?P<sheet>[^'\n]+)'!(?P<cell>[A-Z]{1,3}\d+)\b")


def answer_in_code(instructions: str, answer: str) -> str | None:
    """A code block that writes the answer into the cell that is named last; None when nobody asks for that."""
    workbook, result = _WORKBOOK.search(instructions), _RESULT.search(instructions)
    cells = list(_CELL.finditer(instructions))
    if not (_ASKS_CODE.search(instructions) and workbook and result and cells):
        return None
    lines = (
        "import openpyxl",
        f"book = openpyxl.load_workbook({workbook[1]!r})",
        f"book[{cells[-1]['sheet']!r}][{cells[-1]['cell']!r}] = {answer!r}",
        f"book.save({result[1]!r})",
        f"print({answer!r})",
    )
    return "\n".join(("```python", *lines, "```"))
