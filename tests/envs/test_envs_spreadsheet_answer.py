"""Which cells count, and when two workbooks agree in them."""

import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from envs_workbooks import Sheets, book

from etude.errors import DataError
from etude.records import Score
from etude_annexes.spreadsheet.answer import Contents, compare, parse_ranges
from etude_annexes.spreadsheet.cells import comparable, open_workbook, read_cells
from rows import rows


def ranges(position: str, sheets: str = "", first: str = "First") -> list[str]:
    return [each.shown for each in parse_ranges(position, sheets, first, "task '1'")]


@rows(
    ("position", "shown"),
    [
        ("B6", "'First'!B6"),
        ("$A$3:$D$32", "'First'!A3:D32"),
        ("D32:A3", "'First'!A3:D32"),
        ("aa1:ab2", "'First'!AA1:AB2"),
        ("'Other'!A1:B2", "'Other'!A1:B2"),
        ("Other'!A1:B2", "'Other'!A1:B2"),
        ("'Other!A1:B2'", "'Other'!A1:B2"),
        ("Two words!A:G", "'Two words'!A:G"),
        ("A2:G", "'First'!A2:G"),
        ("2:5", "'First'!2:5"),
        ("BD2:308", "'First'!BD2:BD308"),
        ("C", "'First'!C"),
    ],
)
def test_an_answer_position_is_read_however_it_is_quoted(position: str, shown: str) -> None:
    assert ranges(position) == [shown]


@rows("position", ["", "1A", "A1:B2:C3", "Sheet1!"])
def test_a_position_without_cells_is_an_error(position: str) -> None:
    with pytest.raises(DataError, match=r"task '1': answer_position: '.*' names no cells") as error:
        ranges(position)
    assert error.value.hint == "as in 'Sheet1'!A1:B2"


@rows(
    ("value", "counts"),
    [
        (1.006, 1.01),
        (3, 3.0),
        ("3.001", 3.0),
        (" 3 ", 3.0),
        (True, 1.0),
        (-0.001, 0.0),
        ("text", "text"),
        ("Text ", "Text "),
        ("", None),
        (None, None),
        ("nan", "nan"),
        (datetime(2024, 2, 22, 11, 59), 45344.0),
        (datetime(2024, 2, 22, 12, 1), 45345.0),
        (date(2024, 2, 22), 45344.0),
        (time(9, 30, 15), "09:30"),
        (timedelta(hours=30), "1 day, 6:00:00"),
    ],
)
def test_what_counts_of_a_value(value: Any, counts: object) -> None:
    assert repr(comparable(value)) == repr(counts)


def scored(folder: Path, position: str, gold: Sheets, output: Sheets) -> Score:
    places = parse_ranges(position, "", next(iter(gold)), "task '1'")
    read = []
    for name, sheets in (("gold", gold), ("output", output)):
        path = folder / f"{name}.xlsx"
        path.write_bytes(book(sheets))
        stored, written = (open_workbook(str(path), formulas=formulas) for formulas in (False, True))
        read.append(Contents.model_validate(read_cells(stored, written, [list(place) for place in places])))
    return compare(places, read[0], read[1])


def test_workbooks_agree_when_their_values_do(tmp_path: Path) -> None:
    gold = {"S": [["a", 1.004, None, datetime(2024, 2, 22)], ["7", True, "", time(9, 30)]]}
    output = {"S": [["a", 1, "", datetime(2024, 2, 22, 8)], [7, 1, None, "09:30"]], "More": [["x"]]}
    assert scored(tmp_path, "A1:D2", gold, output) == Score(hard=1, soft=1, feedback="correct")


def test_feedback_shows_dates_as_dates_and_texts_in_quotes(tmp_path: Path) -> None:
    gold, output = {"S": [[datetime(2024, 2, 22), "x"]]}, {"S": [[45000, "y"]]}
    assert scored(tmp_path, "A1:B1", gold, output).feedback == (
        "2 cells of the answer are wrong: S!A1: expected 2024-02-22 00:00:00, found 45000; "
        "S!B1: expected 'x', found 'y'"
    )


def test_a_missing_sheet_is_named(tmp_path: Path) -> None:
    score = scored(tmp_path, "LISTS!A1", {"LISTS": [[1]]}, {"Sheet": [[1]], "lists": [[1]]})
    assert score == Score(hard=0, soft=0, feedback="there is no sheet 'LISTS'; sheets: 'Sheet', 'lists'")


def test_a_file_that_unpacks_to_more_than_can_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x", "w") as inside:
        for _ in range(110):
            inside.write(b"\0" * 1_000_000)
    with pytest.raises(ValueError, match="it has 110 MB unpacked, at most 100 MB are read"):
        open_workbook(str(path))
