import json
import re
from pathlib import Path
from typing import Any

import pytest
from data_files import init, made, tasks_of, write

from etude.cli.main import main
from etude.envs.files import read_rows
from etude.errors import DataError

Captured = pytest.CaptureFixture[str]
ROWS: list[dict[str, Any]] = [{"question": f"Wo ist, {n}; {n}?", "answer": f"Köln {n}"} for n in range(12)]


def text(delimiter: str = ",") -> str:
    write("made.csv", ROWS, delimiter)
    return Path("made.csv").read_text()


def check(name: str, capsys: Captured, *words: str) -> list[str]:
    notes = init(name, *words, capsys=capsys)["notes"]
    assert {(task.input, task.gold) for task in tasks_of(made())} == {
        (row["question"], row["answer"]) for row in ROWS
    }
    return notes


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_tables_with_other_delimiters_are_read(delimiter: str, here: Path, capsys: Captured) -> None:
    Path("data.csv").write_text(text(delimiter))
    check("data.csv", capsys)
    with pytest.raises(DataError, match="are separated by") as error:
        read_rows(Path("data.csv"))
    assert error.value.hint == "`etude init data.csv` reads such files"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_of_spreadsheet_programs_are_read(encoding: str, here: Path, capsys: Captured) -> None:
    Path("data.csv").write_bytes(text().replace("\n", "\r\n").encode(encoding))
    check("data.csv", capsys)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_cell_may_be_longer_than_the_csv_module_likes(delimiter: str, here: Path, capsys: Captured) -> None:
    Path("data.csv").write_text(text(delimiter).replace('"', '"' + "x" * 150_000, 1))
    init("data.csv", capsys=capsys)
    assert max(len(task.input) for task in tasks_of(made())) > 150_000


def test_a_guess_of_an_encoding_is_said(here: Path, capsys: Captured) -> None:
    Path("data.csv").write_bytes(text().encode("cp1252"))
    assert any("read as Windows-1252" in note for note in check("data.csv", capsys))
    with pytest.raises(DataError, match="is not UTF-8"):
        read_rows(Path("data.csv"))


def test_a_folder_with_a_json_file_for_each_task_is_read(here: Path, capsys: Captured) -> None:
    Path("data").mkdir()
    for number, row in enumerate(ROWS):
        Path(f"data/{number}.json").write_text(json.dumps(row))
    check("data", capsys)
    assert {task.id for task in tasks_of(made())} == {str(number) for number in range(12)}


def test_a_list_among_objects_is_an_answer_like_them(here: Path, capsys: Captured) -> None:
    golds = [{"a": number} for number in range(11)] + [[1, 2]]
    Path("data.json").write_text(json.dumps([{"question": f"q{n}", "answer": gold} for n, gold in enumerate(golds)]))
    assert init("data.json", capsys=capsys)["scorer"] == "json"


def cases(**shared: str) -> None:
    for number, row in enumerate(ROWS):
        case = Path(f"step/fixtures/case-{number:02}")
        case.mkdir(parents=True)
        (case / "expected.json").write_text(json.dumps({"town": row["answer"], "count": number}))
        (case / "the-report.md").write_text(row["question"])
    for name, text in shared.items():
        Path("step", f"{name.replace('_', '-')}.md").write_text(text)


def test_folders_of_cases_are_compared_field_by_field(here: Path, capsys: Captured) -> None:
    cases()
    result = init("step/fixtures", capsys=capsys)
    assert result["scorer"] == "json"
    tasks = {task.id: task for task in tasks_of(made())}
    assert (tasks["case-03"].input, tasks["case-03"].gold) == (ROWS[3]["question"], {"town": "Köln 3", "count": 3})


def test_what_cases_share_stands_around_their_texts(here: Path, capsys: Captured) -> None:
    shared = {"system_prompt": "You read.", "user_prompt_template": "Report: {{the_report}}", "output_spec": "JSON."}
    cases(**shared)
    first = init("step/fixtures", capsys=capsys)["first"][0]["input"]
    assert re.fullmatch(r"You read\.\n\nReport: Wo ist, \d+; \d+\?\n\nJSON\.", first)
    Path("step/user-prompt-template.md").write_text("{{the_report}} {{diff}}")
    assert main(["init", "step/fixtures", "--folder", "other"]) == 2
    assert "no text for 'diff' of user-prompt-template.md; texts: 'the-report'" in capsys.readouterr().err


def test_a_sheet_of_excel_is_read(here: Path, capsys: Captured) -> None:
    openpyxl: Any = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [list(row.values()) for row in ROWS]
    for cells in ([None], ["question", "answer"], *rows[:4], [None, " "], *rows[4:]):
        book.active.append(cells)
    book.save("data.xlsx")
    assert "data.xlsx: 1 blank row was skipped" in check("data.xlsx", capsys)


def test_the_delimiter_can_be_given(here: Path, capsys: Captured) -> None:
    Path("data.csv").write_text(text(";").replace("|", ""))
    check("data.csv", capsys, "--delimiter", ";")
    assert main(["init", "data.csv", "--delimiter", "semicolon", "--folder", "other"]) == 2
    assert "--delimiter 'semicolon' is not one character" in capsys.readouterr().err


def test_parquet_is_read(here: Path, capsys: Captured) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), "data.parquet")
    check("data.parquet", capsys)
