import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from etude.cli.main import main
from etude.cli.scaffold.columns import guess_columns
from etude.envs.files import Row
from etude.skill import load_skill, validate_skill

Captured = pytest.CaptureFixture[str]
SIMULATED = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]


def write_jsonl(path: str, rows: Sequence[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def sums(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"question": f"What is {n} + {n}?", "answer": 2 * n} for n in range(start, start + count)]


def found(capsys: Captured, *words: str) -> dict[str, Any]:
    assert main(["init", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_data_file_becomes_a_project_that_passes_doctor_and_trains(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    assert main(["init", "sums.jsonl"]) == 0
    assert main(["doctor", *SIMULATED]) == 0
    assert main(["train", *SIMULATED, "--train.epochs", "1"]) == 0
    assert Path("runs/first/summary.json").exists()


def test_what_was_found_and_what_to_do_next_is_printed_what_is_free_first(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    assert main(["init", "sums.jsonl"]) == 0
    assert capsys.readouterr().out == (
        "tasks   30: 12 train, 9 val, 9 test\n"
        "fields  input = question, gold = answer\n"
        "scorer  numeric: gold answers are numbers\n"
        "\n"
        "task 1  as it is asked:\n"
        "  | What is 2 + 2?\n"
        "gold    4\n"
        "scores  the gold 1, 'A' 0, an empty answer 0\n"
        "\n"
        "task 2  as it is asked:\n"
        "  | What is 21 + 21?\n"
        "gold    42\n"
        "scores  the gold 1, 'A' 0, an empty answer 0\n"
        "\n"
        "note    openai:gpt-5.5: environment variable 'OPENAI_API_KEY' is not set; put the key there, name another "
        "variable in api_key_env, or set base_url for a server without keys\n"
        "wrote   etude.yaml, skill/SKILL.md\n"
        "\n"
        "next:\n"
        "  etude doctor\n"
        "  etude train --name dry-run --target.model simulated:target --optimizer.model simulated:optimizer\n"
        "  etude plan\n"
        "  etude train\n"
    )


def test_the_skill_it_writes_is_valid(here: Path, capsys: Captured) -> None:
    write_jsonl("we: ird, $name.jsonl", sums(30))
    found(capsys, "we: ird, $name.jsonl")
    assert validate_skill(load_skill("skill"), folder_name="skill", strict=True) == []


def test_the_settings_have_comments_and_name_models_but_no_key(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    write_jsonl("sums.jsonl", sums(30))
    result = found(capsys, "sums.jsonl", "--target", "openai:small", "--optimizer", "openai:large")
    assert result["notes"] == []
    text = Path("etude.yaml").read_text()
    assert "sk-secret" not in text
    assert "# passes over the training tasks" in text
    settings = yaml.safe_load(text)
    assert settings["target"] == {"model": "openai:small"}
    assert settings["optimizer"] == {"model": "openai:large"}
    assert settings["env"]["path"] == "sums.jsonl"
    assert settings["train"] == {"epochs": 4}


def test_a_model_that_does_not_exist_is_reported_of(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    result = found(capsys, "sums.jsonl", "--target", "opnai:x", "--optimizer", "simulated:optimizer")
    assert any("did you mean 'openai'?" in note for note in result["notes"])


def test_paths_count_from_the_project(here: Path, capsys: Captured) -> None:
    Path("data").mkdir()
    write_jsonl("data/sums.jsonl", sums(30))
    result = found(capsys, "data/sums.jsonl", "--folder", "work/sums")
    assert yaml.safe_load(Path("work/sums/etude.yaml").read_text())["env"]["path"] == "../../data/sums.jsonl"
    assert result["next"][0] == "etude doctor work/sums/etude.yaml"
    assert main(["doctor", "work/sums/etude.yaml", *SIMULATED]) == 0


def test_data_far_from_the_project_is_named_in_full(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    found(capsys, "sums.jsonl", "--folder", "a/b/c/d")
    assert yaml.safe_load(Path("a/b/c/d/etude.yaml").read_text())["env"]["path"] == str(here / "sums.jsonl")


def test_a_folder_with_a_file_for_each_split_is_used_as_it_is(here: Path, capsys: Captured) -> None:
    Path("data").mkdir()
    for number, name in enumerate(("train-00000-of-00001", "validation", "my_test")):
        write_jsonl(f"data/{name}.jsonl", sums(5 + number, 100 * number))
    Path("data/README.md").write_text("about")
    result = found(capsys, "data")
    assert result["tasks"] == {"train": 5, "val": 6, "test": 7}
    env = yaml.safe_load(Path("etude.yaml").read_text())["env"]
    assert (env["train"], env["val"], env["test"]) == (
        "data/train-00000-of-00001.jsonl",
        "data/validation.jsonl",
        "data/my_test.jsonl",
    )
    assert "ratio" not in env


def test_a_folder_with_one_data_file_is_that_file(here: Path, capsys: Captured) -> None:
    Path("data").mkdir()
    write_jsonl("data/sums.jsonl", sums(30))
    assert found(capsys, "data")["tasks"]["train"] == 12


def test_csv_and_parquet_files_are_understood(here: Path, capsys: Captured) -> None:
    with Path("sums.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer"])
        writer.writeheader()
        writer.writerows(sums(30))
    assert found(capsys, "sums.csv", "--folder", "a")["scorer"] == "numeric"
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(sums(30)), "sums.parquet")
    assert found(capsys, "sums.parquet", "--folder", "b")["scorer"] == "numeric"


@pytest.mark.parametrize(
    ("golds", "scorer"),
    [
        (["12", "-3.5", "$1,200", "45%"], "numeric"),
        (["so 3 + 4\n#### 7", "#### 1,000", "x #### 2", "#### -3"], "numeric"),
        (["A", "(B)", "C.", "d".upper()], "choice"),
        ([{"a": 1}, {"a": 2}, {"b": [1]}, {}], "json"),
        ([["Paris", "City of Paris"], ["Rome"], "Oslo", "Bern"], "exact"),
        ([f"The {who}, which was very old, sat on the mat all day." for who in ("cat", "dog")], "f1"),
        (["A", "B", "C", "Paris"], "exact"),
    ],
)
def test_the_scorer_follows_from_the_gold_answers(
    golds: list[Any], scorer: str, here: Path, capsys: Captured
) -> None:
    rows = [
        {"input": f"task {number} {name}", "gold": gold} for name in "abcdef" for number, gold in enumerate(golds)
    ]
    write_jsonl("data.jsonl", rows)
    assert found(capsys, "data.jsonl")["scorer"] == scorer
    assert yaml.safe_load(Path("etude.yaml").read_text()).get("gate") == (
        {"metric": "soft"} if scorer == "f1" else None
    )
    assert main(["doctor", *SIMULATED]) == 0


def test_a_guess_that_later_rows_refute_falls_back_to_exact(here: Path, capsys: Captured) -> None:
    rows = [*sums(1200), {"question": "What is truth?", "answer": "unknown"}]
    write_jsonl("data.jsonl", rows)
    result = found(capsys, "data.jsonl")
    assert result["scorer"] == "exact"
    assert "not all gold answers are of one kind" in Path("etude.yaml").read_text()


def test_of_a_large_file_a_sample_is_used(here: Path, capsys: Captured) -> None:
    write_jsonl("data.jsonl", sums(1500))
    result = found(capsys, "data.jsonl")
    assert result["tasks"] == {"train": 200, "val": 100, "test": 300}
    env = yaml.safe_load(Path("etude.yaml").read_text())["env"]
    assert env["ratio"] == [2, 1, 7]
    assert env["limit"] == {"train": 200, "val": 100, "test": 300}


def test_columns_are_found_under_many_names(here: Path, capsys: Captured) -> None:
    rows = [{"uid": n, "Problem": f"p {n}", "Solution": f"s {n}", "subject": "algebra"} for n in range(20)]
    write_jsonl("data.jsonl", rows)
    assert found(capsys, "data.jsonl")["fields"] == {
        "id": "uid",
        "input": "Problem",
        "gold": "Solution",
        "type": "subject",
    }


def test_of_two_columns_the_one_that_is_not_the_input_is_the_gold(here: Path, capsys: Captured) -> None:
    write_jsonl("data.jsonl", [{"prompt": f"p {n}", "capital": f"c {n}"} for n in range(20)])
    assert found(capsys, "data.jsonl")["fields"] == {"input": "prompt", "gold": "capital"}


def test_keys_inside_objects_count_as_columns(here: Path, capsys: Captured) -> None:
    write_jsonl("data.jsonl", [{"no": n, "mcq": {"question": f"q {n}", "answer": f"a {n}"}} for n in range(20)])
    assert found(capsys, "data.jsonl")["fields"] == {"input": "mcq.question", "gold": "mcq.answer"}
    assert main(["doctor", *SIMULATED]) == 0


def test_context_and_options_become_part_of_the_input(here: Path, capsys: Captured) -> None:
    options = [{"label": "A", "text": "one"}, {"label": "B", "text": "two"}]
    rows = [{"context": f"c {n}", "question": "which?", "choices": options, "answer": "AB"[n % 2]} for n in range(20)]
    write_jsonl("data.jsonl", rows)
    result = found(capsys, "data.jsonl")
    assert result["first"][0]["input"].endswith("\n\nwhich?\n\n(A) one\n(B) two")
    assert result["scorer"] == "choice"
    assert main(["doctor", *SIMULATED]) == 0
    assert "built   multiple choice: context and question" in _printed(capsys, "data.jsonl", "--folder", "again")


def _printed(capsys: Captured, *words: str) -> str:
    capsys.readouterr()
    assert main(["init", *words]) == 0
    return capsys.readouterr().out


def test_nothing_is_overwritten_unless_forced(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    Path("etude.yaml").write_text("mine")
    assert main(["init", "sums.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "error: 'etude.yaml' exists already\nhint: give another --folder, or --force to overwrite it\n"
    )
    assert Path("etude.yaml").read_text() == "mine"
    assert not Path("skill").exists()
    found(capsys, "sums.jsonl", "--force")
    assert Path("etude.yaml").read_text() != "mine"


def test_a_skill_that_is_there_is_kept_and_used(here: Path, capsys: Captured) -> None:
    write_jsonl("sums.jsonl", sums(30))
    Path("skill").mkdir()
    Path("skill/SKILL.md").write_text("# Mine\n")
    assert "skill/SKILL.md exists already and is kept" in found(capsys, "sums.jsonl")["notes"]
    assert Path("skill/SKILL.md").read_text() == "# Mine\n"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: None, "data 'data' does not exist"),
        (lambda: Path("data").mkdir(), "'data' has no file for the train split; data files: none"),
        (lambda: _files("train.jsonl", "train.csv"), "'data' has two files for the train split: 'train.csv' and "),
        (
            lambda: _files("train.jsonl", "test.jsonl"),
            "'data' has no file for the val split; data files: 'test.jsonl', ",
        ),
    ],
)
def test_data_that_makes_no_dataset_is_an_error(make: Any, error: str, here: Path, capsys: Captured) -> None:
    make()
    assert main(["init", "data"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {error}")
    assert not Path("etude.yaml").exists()


def _files(*names: str) -> None:
    Path("data").mkdir()
    for name in names:
        Path("data", name).write_text('{"input": "a", "gold": "b"}\n')


def test_columns_that_say_nothing_are_listed(here: Path, capsys: Captured) -> None:
    write_jsonl("data.jsonl", [{"foo": 1, "bar": 2}])
    assert main(["init", "data.jsonl"]) == 2
    assert "no column looks like the input of a task; columns: 'foo', 'bar'" in capsys.readouterr().err


def test_broken_data_is_an_error_with_its_line(here: Path, capsys: Captured) -> None:
    Path("data.jsonl").write_text('{"input": "a", "gold": "b"}\n{oops\n')
    assert main(["init", "data.jsonl"]) == 2
    assert "error: data.jsonl:2: not JSON" in capsys.readouterr().err
    assert not Path("etude.yaml").exists()


@pytest.mark.parametrize(
    ("values", "found_as"),
    [
        (["pages/a.PNG", "https://example.org/b.jpeg?size=9"], "image"),
        (["a photo of a cat", "a.png"], None),
        ([3, 4], None),
    ],
)
def test_a_column_is_one_of_pictures_when_its_values_look_like_them(
    values: list[Any], found_as: str | None, here: Path
) -> None:
    Path("pages").mkdir()
    for name in ("pages/a.PNG", "a.png"):
        Path(name).touch()
    rows = [Row("here", {"question": "q", "answer": "a", "image": value}) for value in values]
    assert guess_columns(rows).fields.get("images") == found_as


@pytest.mark.parametrize(
    ("columns", "found_as", "notes"),
    [
        ({"left_half": "there.png"}, "left_half", ()),
        ({"where": "https://example.org/a.png"}, "where", ()),
        ({"scans": {"front": "there.png"}}, "scans.front", ()),
        ({"left_half": "there.png", "screenshot": "there.png", "size": 3}, "left_half", ("'screenshot' may be ",)),
        (
            {"file_name": "gone.png"},
            None,
            (
                (
                    "the values of 'file_name' look like pictures, but 'gone.png' is not there: if tasks need them, "
                    "put them there and set env.fields.images: file_name"
                ),
            ),
        ),
        ({"file_name": "there.txt"}, None, ()),
    ],
)
def test_a_column_of_any_name_is_one_of_pictures_if_they_are_there(
    tmp_path: Path, columns: dict[str, Any], found_as: str | None, notes: Sequence[str]
) -> None:
    Path(tmp_path, "there.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    guessed = guess_columns([Row("here", {"question": "q", "answer": "a", **columns})], tmp_path)
    assert guessed.fields.get("images") == found_as
    assert len(guessed.notes) == len(notes)
    assert all(note.startswith(start) for note, start in zip(guessed.notes, notes, strict=True))


def test_the_path_of_a_picture_is_no_context_of_the_question(tmp_path: Path) -> None:
    rows = [Row("here", {"question": "q", "answer": "a", "document": "a.png"})]
    assert (guess_columns(rows, tmp_path).fields.get("images"), guess_columns(rows, tmp_path).template) == (None, "")
    Path(tmp_path, "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    guessed = guess_columns(rows, tmp_path)
    assert (guessed.fields["images"], guessed.fields["input"], guessed.template) == ("document", "question", "")


def test_questions_about_pictures_become_a_project(here: Path, capsys: Captured) -> None:
    Path("pages").mkdir()
    rows: list[dict[str, Any]] = []
    for number in range(12):
        Path(f"pages/{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([number]))
        rows.append({"question": "What is the total?", "answer": number, "bill": f"pages/{number}.png"})
    write_jsonl("bills.jsonl", rows)
    assert found(capsys, "bills.jsonl", "--folder", "project")["fields"]["images"] == "bill"
    assert main(["doctor", "project/etude.yaml", *SIMULATED]) == 0
