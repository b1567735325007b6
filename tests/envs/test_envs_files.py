import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from etude.envs.files import read_rows
from etude.errors import ConfigError, DataError, install_command


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns(path: Path) -> list[dict]:
    return [row.columns for row in read_rows(path)]


def test_csv_is_read_with_quotes_and_empty_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", 'a,b\r\n"x, ""y""\nz",2\r\n\r\n3,4\r\n')
    assert columns(path) == [{"a": 'x, "y"\nz', "b": "2"}, {"a": "3", "b": "4"}]
    assert read_rows(path)[1].place == f"{path}:5"


def test_parquet_is_read_as_json_values(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    table = {
        "text": ["x"],
        "list": [[1, 2]],
        "object": [{"k": 1.5}],
        "gap": [float("nan")],
        "day": [date(2024, 2, 3)],
        "price": [Decimal("1.25")],
        "none": [None],
    }
    parquet.write_table(pyarrow.table(table), path)
    assert columns(path) == [
        {
            "text": "x",
            "list": [1, 2],
            "object": {"k": 1.5},
            "gap": None,
            "day": "2024-02-03",
            "price": 1.25,
            "none": None,
        }
    ]
    parquet.write_table(pyarrow.table({"image": [b"\x00"]}), path)
    with pytest.raises(DataError, match="row 1: column 'image' holds bytes, which is not JSON"):
        read_rows(path)


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=r"t\.parquet: not a Parquet file"):
        read_rows(written(tmp_path, "t.parquet", "no"))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigError) as caught:
        read_rows(written(tmp_path, "t.parquet", "no"))
    assert caught.value.hint == install_command("parquet")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", '{"a": 1}\n{"a": \n', "t.jsonl:2: not JSON"),
        ("t.jsonl", '{"a": 1}\n[1]\n', "t.jsonl:2: expected an object, found an array"),
        ("t.jsonl", '{"a": NaN}', "t.jsonl:1: not JSON: NaN is not JSON"),
        ("t.jsonl", '{"a": "\\ud800"}', "t.jsonl:1: not JSON"),
        ("t.jsonl", "[" * 100_000, "t.jsonl:1: not JSON"),
        ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}', "t.jsonl:2: byte 0xff is not UTF-8"),
        ("t.jsonl", "\n\n", "t.jsonl: the file holds no tasks"),
        ("t.json", "", "t.json: the file holds no tasks"),
        ("t.json", "[]", "t.json: the file holds no tasks"),
        ("t.json", '[\n{"a": 1},\n]', "t.json:"),
        ("t.json", '{"a": [], "b": []}', "expected a list of tasks, or an object with exactly one list, found"),
        ("t.json", '[{"a": 1}, 2]', "t.json: item 2: expected an object, found 2"),
        ("t.csv", "", "t.csv: the file holds no tasks"),
        ("t.csv", "a,a\n1,2\n", "t.csv:1: two columns have the same name: a, a"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", r"t.csv:3: 3 values for 2 columns \(a, b\)"),
        ("t.csv", 'a,b\n"1,2\n', "t.csv:2: broken CSV: unexpected end of data"),
        ("t.csv", 'a,b\n1,2\n"3"x,4\n', "t.csv:3: broken CSV"),
        ("t.csv", "a,b\n1,\0\n", "t.csv:2: a NUL byte"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), "t.csv:1: a NUL byte"),
    ],
)
def test_a_broken_file_is_an_error_that_names_file_and_line(tmp_path, name, content, message) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(written(tmp_path, name, content))


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_rows(tmp_path / "none.jsonl")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        read_rows(tmp_path / "d.csv")


def test_an_unknown_suffix_needs_a_format(tmp_path: Path) -> None:
    path = written(tmp_path, "t.txt", '{"a": 1}')
    with pytest.raises(ConfigError, match=r"the suffix '.txt' does not tell the format"):
        read_rows(path)
    assert read_rows(path, "jsonl")[0].columns == json.loads('{"a": 1}')


def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "a\n1\n")
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        with pytest.raises(DataError, match="cannot be read: Permission denied"):
            read_rows(path)
    else:
        pytest.skip("this user may read everything")


@pytest.mark.parametrize("said", ["false", '"no"', "null"])
def test_tasks_that_no_person_has_reviewed_are_not_read(tmp_path: Path, said: str) -> None:
    path, rows = tmp_path / "tasks.json", '"tasks": [{"input": "2 + 2", "gold": "4"}]'
    path.write_text(f'{{"reviewed": {said}, {rows}}}')
    with pytest.raises(DataError, match=f"no person has reviewed these tasks .reviewed: {said}"):
        read_rows(path)
    path.write_text(f'{{"reviewed": true, {rows}}}')
    assert len(read_rows(path)) == 1


@pytest.mark.parametrize("around", ['{"reviewed": true, "tasks": [%s]}', "[%s]"])
def test_a_single_task_that_no_person_has_reviewed_is_not_read(tmp_path: Path, around: str) -> None:
    path, row = tmp_path / "tasks.json", '{"input": "2 + 2", "gold": "4", "reviewed": %s}'
    path.write_text(around % ", ".join([row % '"no"', row % "true", row % "false"]))
    with pytest.raises(DataError, match=r"item 3: no person has reviewed this task \(reviewed: false\)"):
        read_rows(path)
    path.write_text(around % ", ".join([row % '"no"', row % "true"]))
    assert len(read_rows(path)) == 2
