"""`etude init`: from a file of tasks to a project."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data_files import init, made, settings, tasks_of, write

from etude.cli.main import main
from etude.skill import Document
from etude.store.projections.log import Log
from etude.store.projections.runs import curve, run_page
from rows import rows

Captured = pytest.CaptureFixture[str]
SIMULATED = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
PNG = b"\x89PNG\r\n\x1a\n"


def sums(count: int = 30, start: int = 0) -> list[dict[str, Any]]:
    return [{"question": f"What is {n} + {n}?", "answer": 2 * n} for n in range(start, start + count)]


def test_a_data_file_becomes_a_project_that_passes_doctor_and_trains(here: Path, capsys: Captured) -> None:
    write("sums.jsonl", sums())
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
        "wrote   etude.yaml, skills/solve-sums/SKILL.md\n"
        "\n"
        "next:\n"
        "  etude doctor\n"
        "  etude train --name dry-run --target.model simulated:target --optimizer.model simulated:optimizer\n"
        "  etude plan\n"
        "  etude train\n"
    )
    assert main(["doctor", *SIMULATED]) == 0
    assert main(["train", *SIMULATED, "--train.epochs", "1"]) == 0
    assert Path("runs/first/summary.json").exists()


@pytest.mark.parametrize(
    ("row", "name", "says"),
    [
        (
            lambda n: {"mail": f"My printer {n} is broken again.", "team": ("it", "hr")[n % 2]},
            "sort-mails",
            "Says which team each mail belongs to (hr, it)",
        ),
        (
            lambda n: {"question": f"What is {n} + 1?", "answer": n + 1},
            "solve-mails",
            "Finds the answer of each question",
        ),
        (
            lambda n: {"text": f"It is in Rome {n}", "gold": f"Rome {n}"},
            "answer-mails",
            "Finds the answer of each task",
        ),
        (
            lambda n: {"prompt": f"Write {n}.", "rubric": "It is short."},
            "answer-mails",
            "Finds the answer of each task",
        ),
    ],
)
def test_a_new_skill_is_called_after_what_it_does(
    row: Callable[[int], dict[str, Any]], name: str, says: str, here: Path, capsys: Captured
) -> None:
    write("mails.jsonl", [row(n) for n in range(12)])
    assert init("mails.jsonl", capsys=capsys)["skill"] == f"skills/{name}/SKILL.md"
    document = Document.parse(Path(f"skills/{name}/SKILL.md").read_text())
    assert document.meta["description"] == f"{says}. Use it for tasks like those in mails.jsonl."
    assert settings()["skill"]["path"] == f"skills/{name}"


@rows(
    ("folder", "agent", "beside"),
    [
        (".claude/skills", "claude-code", "scripts/"),
        (".codex/skills", "codex", "scripts/"),
        (".github/skills", "copilot-cli", "scripts/"),
        (".agents/skills", "tools", "scripts/"),
        (".openhands/skills", "tools", "scripts/"),
        (".claude/skills", "claude-code", "sum.py"),
        ("mine", "tools", "scripts/"),
        ("mine", "tools", "forms.md"),
    ],
)
def test_a_skill_with_folders_or_files_that_it_names_gets_an_agent_that_can_open_them(
    folder: str, agent: str, beside: str, here: Path, capsys: Captured
) -> None:
    skill = Path(folder, "adding")
    shutil.rmtree(skill, ignore_errors=True)
    (skill / "scripts").mkdir(parents=True)
    front = "---\nname: adding\ndescription: Adds. Use it for sums.\nlicense: see LICENSE.txt\n---\n"
    (skill / "SKILL.md").write_text(f"{front}\nRun sum.py, and see [FORMS.md](FORMS.md).\n")
    for other in ("notes.txt", "LICENSE.txt"):
        (skill / other).write_text("named by no line of the body")
    write("sums.jsonl", sums())
    init("sums.jsonl", "--skill", str(skill), "--force", capsys=capsys)
    assert "agent" not in settings()
    (skill / (f"{beside}add.py" if beside == "scripts/" else beside)).write_text("print(1 + 1)\n")
    notes = init("sums.jsonl", "--skill", str(skill), "--force", capsys=capsys)["notes"]
    assert settings()["agent"] == {"name": agent}
    assert f"the skill has {beside}: agent {agent!r} can open that, `chat` shows only the text" in notes
    if beside != "forms.md":
        return
    main(["doctor", *SIMULATED])
    unseen = f"skill 'adding' has {beside}, and agent 'chat' shows only its text"
    assert unseen not in capsys.readouterr().out
    assert main(["doctor", *SIMULATED, "--agent.name", "chat"]) == 0
    assert unseen in capsys.readouterr().out
    assert main(["train", *SIMULATED, "--agent.name", "chat", "--train.epochs", "1"]) == 0
    assert f"warning: {unseen}" in capsys.readouterr().err


@pytest.mark.parametrize("judged", [False, True])
def test_a_dry_run_ends_with_whether_the_plumbing_works(judged: bool, here: Path, capsys: Captured) -> None:
    """As `init` recommends it, without a key. The models know none of these tasks, so scores, doubts and verdicts say
    nothing."""
    rubric = {"rubric": "It is polite."} if judged else {}
    write("sums.jsonl", [{**row, **rubric} for row in sums()])
    dry = next(words for words in init("sums.jsonl", capsys=capsys)["next"] if "dry-run" in words)
    assert main(dry.split()[1:]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("dry run     the plumbing works: tasks are read, attempted and scored, ")
    assert ("the optimizer is asked" in " ".join(captured.out.split())) == (" 0 optimizer" not in captured.out)
    assert "a dry run: simulated models know none of the tasks" in captured.err
    for word in ("score", "verdict", "ship", "doubtful", "0.00", "validation:", "-> "):
        assert word not in captured.out.replace("tasks are read, attempted and scored", "")
        assert word not in captured.err
    assert Path("runs/.gitignore").read_text() == "*\n"
    main(["runs"])
    assert "dry run" in (listed := capsys.readouterr().out)
    assert "0.00" not in listed
    log = Log("runs/dry-run")
    log.read()
    assert (curve(log).turns, curve(log).marks) == ((), ())
    page = run_page(log)
    assert (page.dry, page.learnt, page.answer and page.answer.lines[0].text[:18]) == (True, "", "the plumbing works")
    assert main(["export", "dry-run"]) == 2
    assert "run 'dry-run' was a dry run" in capsys.readouterr().err
    assert main(["export", "dry-run", "--force"]) == 0
    assert "run 'dry-run' was a dry run: nobody knows whether this skill helps" in capsys.readouterr().err


def test_the_settings_have_comments_and_name_models_but_no_key(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    write("sums.jsonl", sums())
    assert init("sums.jsonl", "--target", "openai:small", "--optimizer", "openai:large", capsys=capsys)["notes"] == []
    text = Path("etude.yaml").read_text()
    assert "sk-secret" not in text
    assert "# passes over the training tasks" in text
    assert settings()["target"] == {"model": "openai:small"}
    assert settings()["optimizer"] == {"model": "openai:large"}
    assert settings()["env"]["path"] == "sums.jsonl"


def test_a_folder_with_a_file_for_each_split_is_used_as_it_is(here: Path, capsys: Captured) -> None:
    Path("data").mkdir()
    for number, name in enumerate(("train-00000-of-00001", "validation", "my_test")):
        write(f"data/{name}.jsonl", sums(5 + number, 100 * number))
    Path("data/README.md").write_text("about")
    assert init("data", capsys=capsys)["tasks"] == {"train": 5, "val": 6, "test": 7}
    env = settings()["env"]
    assert [env[split] for split in ("train", "val", "test")] == [
        "data/train-00000-of-00001.jsonl",
        "data/validation.jsonl",
        "data/my_test.jsonl",
    ]
    assert "ratio" not in env


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
    write(
        "data.jsonl",
        [{"input": f"task {n} {name}", "gold": gold} for name in "abcdef" for n, gold in enumerate(golds)],
    )
    assert init("data.jsonl", capsys=capsys)["scorer"] == scorer
    assert settings().get("gate") == ({"metric": "soft"} if scorer == "f1" else None)


def test_a_guess_that_later_rows_refute_falls_back_to_exact(here: Path, capsys: Captured) -> None:
    write("data.jsonl", [*sums(1200), {"question": "What is truth?", "answer": "unknown"}])
    assert init("data.jsonl", capsys=capsys)["scorer"] == "exact"
    assert "not all gold answers are of one kind" in Path("etude.yaml").read_text()


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        (
            lambda n: {"uid": n, "Problem": f"p {n}", "Solution": f"s {n}", "subject": "algebra"},
            {"id": "uid", "input": "Problem", "gold": "Solution", "type": "subject"},
        ),
        (lambda n: {"prompt": f"p {n}", "capital": f"c {n}"}, {"input": "prompt", "gold": "capital"}),
        (
            lambda n: {"no": n, "mcq": {"question": f"q {n}", "answer": f"a {n}"}},
            {"input": "mcq.question", "gold": "mcq.answer"},
        ),
    ],
)
def test_columns_are_found_under_many_names_and_inside_objects(
    row: Callable[[int], dict[str, Any]], fields: dict[str, str], here: Path, capsys: Captured
) -> None:
    write("data.jsonl", [row(n) for n in range(20)])
    assert init("data.jsonl", capsys=capsys)["fields"] == fields
    assert main(["doctor", *SIMULATED]) == 0


def test_a_context_or_a_type_that_some_rows_lack_is_empty_there(here: Path, capsys: Captured) -> None:
    rows = [{"question": f"q {n}", "context": f"c {n}", "answer": f"a {n}", "type": "x"} for n in range(12)]
    del rows[0]["context"], rows[3]["type"]
    write("data.jsonl", [*rows, {"question": "q 12", "context": None, "answer": "a 12"}])
    init("data.jsonl", capsys=capsys)
    assert main(["doctor", *SIMULATED]) == 0
    asked = {task.input.strip(): task.type for task in tasks_of(made())}
    assert {"q 0": "x", "c 1\n\nq 1": "x", "c 3\n\nq 3": "", "q 12": ""}.items() <= asked.items()


def test_nothing_is_overwritten_unless_forced(here: Path, capsys: Captured) -> None:
    write("sums.jsonl", sums())
    Path("etude.yaml").write_text("mine")
    assert main(["init", "sums.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "error: 'etude.yaml' exists already\nhint: give another --folder, or --force to overwrite it\n"
    )
    assert Path("etude.yaml").read_text() == "mine"
    assert not Path("skill").exists()
    init("sums.jsonl", "--force", capsys=capsys)
    assert Path("etude.yaml").read_text() != "mine"


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (None, "data 'data' does not exist"),
        ({}, "'data' holds no data file"),
        ({"train.jsonl": "", "train.csv": ""}, "'data' has two files for the train split: 'train.csv' and "),
        ({"train.jsonl": "", "test.jsonl": ""}, "'data' has no file for the val split; data files: 'test.jsonl', "),
        (
            {"a.jsonl": '{"foo": 1, "bar": 2}\n'},
            "data/a.jsonl:1: no column looks like the input of a task; columns: ",
        ),
        ({"a.jsonl": '{"input": "a", "gold": "b"}\n{oops\n'}, "data/a.jsonl:2: not JSON"),
        ({"a.csv": "What is 1?,a1,b1,A\nWhat is 2?,a2,b2,B\n"}, "data/a.csv:2: no column looks like the input"),
        ({"a.csv": "question,answer\nq,a\na\0,b\n"}, "data/a.csv:3: a NUL byte"),
        ({"a.csv": 'question,answer\nq,a\n"open,b\nc,d\n'}, "data/a.csv:3: broken CSV"),
        ({"a.csv": 'question,answer\nq,a\n"a"b,c\n'}, "data/a.csv:3: broken CSV"),
        ({"a.csv.gz": "plain"}, "data file 'data/a.csv.gz' cannot be read"),
        ({"a.xlsx": "PK"}, "data/a.xlsx: "),
    ],
)
def test_what_is_no_data_is_refused(files: dict[str, str] | None, error: str, here: Path, capsys: Captured) -> None:
    for name, text in (files or {}).items():
        Path("data").mkdir(exist_ok=True)
        Path("data", name).write_text(text)
    if files == {}:
        Path("data").mkdir()
    assert main(["init", "data"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {error}")
    assert not Path("etude.yaml").exists()


NOT_THERE = (
    "the values of 'file_name' look like pictures, but 'gone.png' is not there: if tasks need them, put them there "
    "and set env.fields.images: file_name"
)


@pytest.mark.parametrize(
    ("columns", "images", "note"),
    [
        ({"image": ["pages/there.PNG", "https://example.org/b.jpeg?size=9"]}, "image", ""),
        ({"image": ["a photo of a cat", "there.png"]}, None, ""),
        ({"image": [3, 4]}, None, ""),
        ({"left_half": "there.png"}, "left_half", ""),
        ({"where": "https://example.org/a.png"}, "where", ""),
        ({"scans": {"front": "there.png"}}, "scans.front", ""),
        ({"left_half": "there.png", "screenshot": "there.png", "size": 3}, "left_half", "'screenshot' may be "),
        ({"file_name": "gone.png"}, None, NOT_THERE),
        ({"file_name": "there.txt"}, None, ""),
        ({"document": "there.png"}, "document", ""),  # and no context of the question
    ],
)
def test_a_column_of_any_name_is_one_of_pictures_if_they_are_there(
    columns: dict[str, Any], images: str | None, note: str, here: Path, capsys: Captured
) -> None:
    Path("pages").mkdir()
    for name in ("there.png", "pages/there.PNG"):
        Path(name).write_bytes(PNG)
    rows = [
        {
            "question": f"q {n}",
            "answer": f"a {n}",
            **{k: v[n % 2] if isinstance(v, list) else v for k, v in columns.items()},
        }
        for n in range(6)
    ]
    write("bills.jsonl", rows)
    result = init("bills.jsonl", "--target", "simulated:target", "--optimizer", "simulated:optimizer", capsys=capsys)
    assert (result["fields"].get("images"), result["template"]) == (images, "")
    told = [said for said in result["notes"] if "picture" in said]
    assert [said.startswith(note) for said in told] == ([True] if note else [])


def test_words_of_a_script_without_blanks_are_counted(here: Path, capsys: Captured) -> None:
    """Else labels are not named in the task, and prose counts as a short answer."""
    write(
        "marks.jsonl",
        [{"question": f"请判断评论{n}的情感：很好", "answer": "正面负面"[n % 2 * 2 :][:2]} for n in range(12)],
    )
    assert init("marks.jsonl", capsys=capsys)["first"][0]["input"].endswith("Answer with one of: 正面, 负面")
    prose = "首先打开设置，然后选择账户，最后点击删除按钮，并且等待确认邮件。"
    write("prose.jsonl", [{"question": f"怎么删除账户{n}？", "answer": f"{prose}{n}"} for n in range(12)])
    assert init("prose.jsonl", "--folder", "prose", capsys=capsys)["scorer"] == "f1"


def test_pictures_that_go_with_a_task_are_said(here: Path, capsys: Captured) -> None:
    Path("a.png").write_bytes(PNG)
    write("seen.jsonl", [{"question": f"Which colour? {n}", "answer": "red", "image": "a.png"} for n in range(9)])
    first = init("seen.jsonl", capsys=capsys)["first"][0]["input"].splitlines()
    assert first[1:] == ["[image: a.png]"]
