import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from data_files import init, made, write

from at_terminal import at_a_terminal
from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def mails(count: int = 24) -> list[dict[str, Any]]:
    return [
        {
            "mail": f"My printer number {n} is broken.",
            "team": ("it", "hr")[n % 2],
            "priority": ("low", "mid", "high")[n % 3],
        }
        for n in range(count)
    ]


def numbered(first: int) -> list[dict[str, Any]]:
    """Options by number, which never is 0 or 4."""
    return [{"question": f"q {n}?", "choices": ["a", "b", "c", "d"], "answer": 1 + n % 2 + first} for n in range(9)]


def refused(capsys: Captured, *words: str) -> str:
    assert main(["init", *words]) == 2
    assert not Path("etude.yaml").exists()
    assert not Path("tasks.jsonl").exists()
    return capsys.readouterr().err


def test_no_at_a_terminal_writes_nothing(here: Path) -> None:
    write("plain.csv", [{"question": f"q {n}", "answer": f"a {n}"} for n in range(9)])
    assert "nothing was written" in at_a_terminal(["init", "plain.csv"], ["n"])
    assert sorted(path.name for path in here.iterdir()) == ["plain.csv"]


def test_without_a_terminal_the_error_says_which_option_answers(here: Path, capsys: Captured) -> None:
    write("mails.csv", mails())
    assert refused(capsys, "mails.csv") == (
        "error: mails.csv:2: no column looks like the gold of a task; columns: 'mail', 'team', 'priority'\n"
        "hint: say it with --gold, as in `--gold team`; where there are no right answers, --rubric TEXT has a model "
        "judge\n"
    )
    assert init("mails.csv", "--gold", "team", capsys=capsys)["scorer"] == "exact"


def test_the_column_with_most_to_read_is_the_example_of_what_is_asked(here: Path, capsys: Captured) -> None:
    rows = [
        {"no.": n, "ok": "yn"[n % 2], "told us": f"My printer number {n} is broken.", "by": f"A{n}"} for n in range(9)
    ]
    write("calls.csv", rows)
    assert "as in `--input 'told us'`" in refused(capsys, "calls.csv")


def test_whether_options_count_from_0_or_1_is_asked_where_the_data_do_not_tell(here: Path, capsys: Captured) -> None:
    write("numbers.json", numbered(0))
    assert "nothing tells whether the first one is 0 or 1\nhint: say it with --gold, as in `--gold 'answer[0]'`" in (
        refused(capsys, "numbers.json")
    )
    golds: dict[str, set[str]] = {}
    for first in "01":
        init("numbers.json", "--gold", f"answer[{first}]", "--folder", first, capsys=capsys)
        golds[first] = {json.loads(line)["gold"] for line in Path(first, "tasks.jsonl").read_text().splitlines()}
    assert golds == {"0": {"B", "C"}, "1": {"A", "B"}}


def test_answers_that_look_like_several_in_a_cell_are_asked_about(here: Path, capsys: Captured) -> None:
    write("towns.csv", [{"question": f"Capital {n}?", "answer": f"Rome {n};Roma {n}"} for n in range(9)])
    assert "'Rome 0;Roma 0': several right answers separated by ';', or one text?" in refused(capsys, "towns.csv")
    assert init("towns.csv", "--gold", "answer", "--folder", "one", capsys=capsys)["first"][0]["gold"].count(";") == 1
    init("towns.csv", "--gold", "answer[;]", "--folder", "two", capsys=capsys)
    assert json.loads(Path("two/tasks.jsonl").read_text().splitlines()[0])["gold"] == ["Rome 0", "Roma 0"]


@pytest.mark.parametrize(
    ("gold", "say"),
    [
        ({"text": ["Rome"], "answer_start": [3]}, "answer.text"),
        ({"value": "Rome", "aliases": ["Roma"]}, "answer.value"),
        ({"spans": ["Rome"]}, "answer.spans"),
    ],
)
def test_which_part_of_an_object_is_right_is_asked(gold: Any, say: str, here: Path, capsys: Captured) -> None:
    write("qa.jsonl", [{"question": f"Capital of {n}?", "answer": gold} for n in range(9)])
    assert f"which part holds the right answers?\nhint: say it with --gold, as in `--gold {say}`" in (
        refused(capsys, "qa.jsonl")
    )
    assert init("qa.jsonl", "--gold", say, capsys=capsys)["scorer"] == "exact"


def test_a_right_option_that_is_not_there_is_an_error_with_its_row(here: Path, capsys: Captured) -> None:
    rows = [{"question": f"q {n}?", "choices": ["a", "b", "c"], "answer": n % 4} for n in range(9)]
    write("beyond.jsonl", rows)
    assert (
        "beyond.jsonl:4: answer = 3 is neither label, number nor text of one of the 3 options (a; b; c)"
        in refused(capsys, "beyond.jsonl")
    )
    write("odd.jsonl", [*rows[:3], {**rows[0], "question": "odd?", "answer": "none of them"}])
    assert 'odd.jsonl:4: answer = "none of them" is neither label, number nor text' in refused(capsys, "odd.jsonl")


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (lambda n: "yes", "the fixed reply 'yes' solves"),
        (lambda n: "ABCD"[n % 4], "their input lists no options, as in 'What is "),
        (lambda n: "many" if n == 11 else str(n), "most gold answers are numbers, not all: 'many' at data.csv:13"),
    ],
)
def test_what_may_make_tasks_useless_is_said(answer: Any, note: str, here: Path, capsys: Captured) -> None:
    write("data.csv", [{"question": f"What is {n}?", "answer": answer(n)} for n in range(12)])
    assert any(note in said for said in init("data.csv", capsys=capsys)["notes"])


def test_a_column_divides_the_tasks(here: Path, capsys: Captured) -> None:
    rows = [{"question": f"q {n}", "answer": f"a {n}", "fold": ["train", "dev", "test"][n % 3]} for n in range(12)]
    write("data.csv", rows)
    assert any("--split fold uses it" in note for note in init("data.csv", "--folder", "a", capsys=capsys)["notes"])
    assert init("data.csv", "--split", "Fold", capsys=capsys)["tasks"] == {"train": 4, "val": 4, "test": 4}
    assert {task.input for task in made().tasks("val")} == {f"q {n}" for n in (1, 4, 7, 10)}
    assert init("data.csv", "--split", "1,1,2", "--folder", "b", capsys=capsys)["tasks"]["test"] == 6
    assert main(["init", "data.csv", "--split", "part", "--folder", "c"]) == 2
    assert "--split 'part' is not a column; columns: 'question', 'answer', 'fold'" in capsys.readouterr().err


def test_the_data_are_never_overwritten(here: Path, capsys: Captured) -> None:
    write("tasks.jsonl", [{"question": f"q {n}?", "choices": ["a", "b"], "answer": n % 2} for n in range(9)])
    before = Path("tasks.jsonl").read_text()
    assert main(["init", "tasks.jsonl", "--force"]) == 2
    assert "would overwrite the data, 'tasks.jsonl'" in capsys.readouterr().err
    assert Path("tasks.jsonl").read_text() == before


def test_force_spares_a_skill_written_by_hand(here: Path, capsys: Captured) -> None:
    write("a.csv", [{"question": f"q {n}", "answer": f"a {n}"} for n in range(9)])
    shutil.copy("a.csv", "b.csv")
    init("a.csv", capsys=capsys)
    init("b.csv", "--force", capsys=capsys)
    skill = Path("skills/answer-b/SKILL.md")
    assert "those in b.csv" in skill.read_text()
    skill.write_text("# Mine\n")
    assert f"{skill} exists already and is kept" in init("b.csv", "--force", capsys=capsys)["notes"]
    assert skill.read_text() == "# Mine\n"
    made = Path("skills/answer-a/SKILL.md")
    made.write_text(made.read_text().replace("a.csv", "c.csv"))
    init("a.csv", "--force", capsys=capsys)
    assert "c.csv" not in made.read_text()


def test_a_data_file_where_settings_are_expected_is_recognised(here: Path, capsys: Captured) -> None:
    write("t.csv", [{"question": "q", "answer": "a"}])
    assert main(["train", "t.csv"]) == 2
    assert capsys.readouterr().err == (
        "error: 't.csv' is a file of tasks, not of settings\nhint: `etude init t.csv` makes some\n"
    )


@pytest.mark.parametrize(
    ("named", "what", "hint"),
    [
        ("my-skill", "a folder", "a skill is named with --skill, or with --skill.path to train it"),
        ("my-skill/SKILL.md", "a skill", "a skill is named with --skill, or with --skill.path to train it"),
        ("runs/first", "a folder", "did you mean 'runs/first/config.yaml'?"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "evaluate", "plan"])
def test_a_skill_or_a_folder_where_settings_are_expected_is_recognised(
    here: Path, capsys: Captured, verb: str, named: str, what: str, hint: str
) -> None:
    for name in ("my-skill/SKILL.md", "runs/first/config.yaml"):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text("---\nname: my-skill\n---\n# Mine\n")
    assert main([verb, named]) == 2
    assert capsys.readouterr().err == f"error: '{named}' is {what}, not a settings file\nhint: {hint}\n"
