"""The tasks that come with a skill, evals/evals.json: from init to the trained skill."""

import json
from pathlib import Path
from typing import Any

import pytest
from data_files import made, tasks_of

from etude.cli.main import main
from etude.cli.scaffold.table import Wishes
from etude.cli.scaffold.tasks import read_data
from etude.config import load_config
from etude.errors import DataError
from etude.records import Task
from etude.skill import load_skill

Captured = pytest.CaptureFixture[str]
SKILL = Path(".claude/skills/sea-poet")
WANTED = ["It rhymes.", "It has four lines."]


def evals(count: int = 10, **first: Any) -> list[dict[str, Any]]:
    rows = [
        {"id": n, "prompt": f"Write a poem about {n} bees.", "expected_output": "A poem.", "expectations": WANTED}
        for n in range(1, count + 1)
    ]
    return [{**rows[0], **first}, *rows[1:]]


def write(rows: list[dict[str, Any]]) -> None:
    (SKILL / "evals" / "files").mkdir(parents=True, exist_ok=True)
    (SKILL / "SKILL.md").write_text("---\nname: poet\ndescription: Poems.\n---\n\n- Rhyme.\n")
    (SKILL / "evals" / "files" / "bees.csv").write_text("bee,age\nAda,3\n")
    (SKILL / "evals" / "evals.json").write_text(json.dumps({"skill_name": "poet", "evals": rows}))


def init(*words: str) -> int:
    return main(["init", "--skill", str(SKILL), "--json", *words])


def tasks() -> list[Task]:
    return sorted(tasks_of(made()), key=lambda task: int(task.id))


def test_the_tasks_of_a_skill_become_a_project_that_names_the_skill_where_it_is(here: Path, capsys: Captured) -> None:
    write(evals(files=["evals/files/bees.csv"]))
    before = {path: path.read_bytes() for path in SKILL.rglob("*") if path.is_file()}
    assert init() == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["tasks"], made["scorer"]) == ({"train": 4, "val": 3, "test": 3}, "rubric")
    assert any("a test of 3 has no verdict on tasks like these" in note for note in made["notes"])
    config = load_config("etude.yaml")
    assert (config.skill.path, config.gate.metric) == (str(SKILL), "soft")
    assert config.judge is not None
    first = tasks()[0]
    assert (first.input, first.gold) == ("Write a poem about 1 bees.", "A poem.")
    assert first.data["expectations"] == WANTED
    assert {name: file.data for name, file in first.files.items()} == {"bees.csv": b"bee,age\nAda,3\n"}
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"expectations": [], "expected_output": ""}, "neither expectations nor an expected output say what a good"),
        ({"expectations": ["a", 1]}, "'expectations' holds something else than texts"),
        ({"prompt": " "}, "nothing is asked in 'prompt'"),
        ({"prompt": 3}, "nothing is asked in 'prompt'"),
        ({"files": ["evals/files/none.csv"]}, "poet/evals/files/none.csv"),
        ({"files": ["../../../secret"]}, "is outside of the folder of the data"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(
    here: Path, capsys: Captured, first: dict[str, Any], message: str
) -> None:
    Path("secret").write_text("x")
    write(evals(**first))
    assert init() == 2
    assert message in capsys.readouterr().err
    assert not Path("etude.yaml").exists()


def test_a_skill_without_tasks_is_said_to_have_none(here: Path, capsys: Captured) -> None:
    write(evals())
    (SKILL / "evals" / "evals.json").unlink()
    assert init() == 2
    said = capsys.readouterr().err
    assert f"skill '{SKILL}' has no evals/evals.json, and no data were given" in said
    assert f"etude init data.jsonl --skill {SKILL}" in said


def test_the_tasks_are_no_part_of_the_skill_that_an_agent_is_given(here: Path) -> None:
    write(evals())
    (SKILL / "references" / "evals").mkdir(parents=True)
    (SKILL / "references" / "evals" / "evals.json").write_text("{}")
    assert list(load_skill(SKILL).files) == ["references/evals/evals.json"]
    (SKILL / "evals" / "evals.json").unlink()
    assert "evals/files/bees.csv" in load_skill(SKILL).files


# --- other forms in which skills bring their tasks --------------------


def bring(rows: list[dict[str, Any]]) -> None:
    """Rows without those that every form of this file has."""
    write([])
    (SKILL / "evals" / "evals.json").write_text(json.dumps(rows))


BEE = ["It contains: bee"]
PROSE = "A successful answer rhymes, has four lines and names at least one bee."
SAID = [f"What is expected: {PROSE}"]
WASP = "It must not: name a wasp"


@pytest.mark.parametrize(
    ("asked", "row", "made"),
    [
        *(("question", {"expected_behavior": each, "ground_truth": PROSE}, each or SAID) for each in (WANTED, [])),
        ("question", {"rubric": WANTED, "must_not": ["name a wasp"]}, [*WANTED, WASP]),
        ("question", {"expected_behavior": WANTED, "assertions": [WANTED[0], "Short."]}, [*WANTED, "Short."]),
        ("prompt", {"assertions": [{"name": "rhyme", "text": "It rhymes."}]}, ["It rhymes."]),
        ("prompt", {"assertions": [{"type": "x", "pattern": "b", "text": "A bee."}, "Short."]}, ["A bee.", "Short."]),
        ("input", {"expect": "It rhymes."}, ["It rhymes."]),
        *(
            (asked, {"criteria": WANTED}, WANTED)
            for asked in ("task", "request", "instruction", "user_input", "scenario")
        ),
        *(("message", {name: WANTED}, WANTED) for name in ("success_criteria", "checks", "checklist", "expect")),
        *(
            ("Prompt", {name: WANTED}, WANTED)
            for name in ("expectedBehavior", "Expected Behavior", "expected_behaviour")
        ),
        *(
            ("query", {name: PROSE}, SAID)
            for name in ("expected_output", "expected", "answer", "reference", "reference_answer", "gold", "ideal")
        ),
        *(("ask", {name: PROSE}, SAID) for name in ("expected_outcome", "ideal_response")),
        *(("user", {name: WANTED}, WANTED) for name in ("acceptance_criteria", "test_should", "evaluation_criteria")),
        ("prompt", {"rubric": "- It rhymes.\n2) It has four lines."}, WANTED),
        ("prompt", {"should": WANTED, "should_not": ["name a wasp"]}, [*WANTED, WASP]),
        ("prompt", {"must_include": ["bee"], "must_not_include": ["wasp"]}, [*BEE, "It does not contain: wasp"]),
        *(("prompt", {name: ["bee"]}, BEE) for name in ("expected_keywords", "contains", "must_contain")),
        (
            "prompt",
            {"rubric": {"1": "No rhyme.", "5": "It rhymes."}},
            ["It reaches the highest of these levels: 5: It rhymes.; 1: No rhyme."],
        ),
        ("input", {"ground_truth": [PROSE]}, SAID),
        ("input", {"ground_truth": None, "assertions": WANTED}, WANTED),
        ("prompt", {"expect": [{"must": "It rhymes."}]}, ["It rhymes."]),
        ("prompt", {"expectations": [{"id": "a", "text": "It rhymes.", "weight": 2}]}, ["It rhymes."]),
        ("prompt", {"assertions": [{"type": "output_contains", "value": "bee"}]}, ["output_contains: bee"]),
        *(("prompt", {name: ["name a wasp"]}, [WASP]) for name in ("must_not", "forbidden")),
        ("prompt", {"rubric": PROSE}, [PROSE]),
        ("prompt", {"traps": ["name a wasp"], "expected": PROSE}, [*SAID, WASP]),
        ("prompt", {"checks": {"rhyme": WANTED[0], "lines": WANTED[1]}}, WANTED),
        ("prompt", {"expected": {"behavior": WANTED}}, WANTED),
        ("prompt", {"expected": {"output_contains": ["bee"]}}, ["It contains: bee"]),
        *(
            ("prompt", {"expected": gold}, scorer)
            for gold, scorer in ((3, "numeric"), ("3", "numeric"), ("yes", "exact"), (True, "exact"))
        ),
        *(("prompt", {"expected_output": gold}, "json") for gold in ({"bees": 3}, '{"bees": 3}')),
        ("prompt", {"expected": "It has, as far as I know, nine bees in all."}, "rubric"),
        *(
            ("prompt", row, None)
            for row in ({"expected_tools": ["Read"]}, {"notes": PROSE}, {"should_trigger": True})
        ),
    ],
    ids=str,
)
def test_siblings_of_public_forms_are_judged_or_compared_or_refused(
    here: Path, asked: str, row: dict[str, Any], made: list[str] | str | None
) -> None:
    bring([{"id": number, asked: f"A poem? No. {number}", **row} for number in range(1, 8)])
    suite = {"path": SKILL / "evals" / "evals.json"}
    if made is None:
        with pytest.raises(DataError, match="neither expectations nor an expected output say what a good answer is"):
            read_data(suite, Wishes())
        return
    data = read_data(suite, Wishes())
    assert data.made.scorer == ("rubric" if isinstance(made, list) else made)
    if isinstance(made, list):
        assert data.env.tasks("test")[0].data["expectations"] == made


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"input": {"user": "A poem?"}}, "A poem?"),
        ({"turns": [{"role": "user", "content": "A poem?"}]}, "A poem?"),
        (
            {"messages": [{"role": "user", "content": "A poem?"}, {"role": "assistant", "content": "On what?"}]},
            "User: A poem?\n\nAssistant: On what?",
        ),
    ],
)
def test_what_is_asked_may_stand_in_an_object_or_be_a_chat(here: Path, asked: dict[str, Any], text: str) -> None:
    bring([{"id": number, "expectations": WANTED, **asked} for number in range(1, 3)])
    assert init() == 0
    assert {task.input for task in tasks()} == {text}


ONE = {"id": 1, "prompt": "A poem?", "expectations": WANTED}


@pytest.mark.parametrize(
    ("file", "held", "count"),
    [
        ("evals/evals.json", ONE, 1),
        ("evals/evals.jsonl", ONE, 1),
        ("evals/evals.yaml", [ONE] * 3, 3),
        ("evals/eval.yaml", {"scenarios": [{**ONE, "timeout": 60}] * 3}, 3),
        (
            "evals/eval.yaml",
            {"scenarios": [{**ONE, "setup": {"files": []}}]},
            "'setup' prepares a place for the agent",
        ),
        ("evals/eval.yaml", {"skill": "poet", "graders": [], "tasks": ["*"]}, "graded by programs of its own"),
        ("evals/eval.yaml", {"config": {"model": "x"}}, "a YAML file is read where it has a list of tasks"),
        ("evals/tasks.yaml", [ONE], "has no evals/evals.json"),
    ],
)
def test_files_of_evals_are_found_by_their_usual_names_and_kept_from_the_agent(
    here: Path, capsys: Captured, file: str, held: Any, count: int | str
) -> None:
    SKILL.mkdir(parents=True)
    (SKILL / "SKILL.md").write_text("---\nname: poet\ndescription: Poems.\n---\n\n- Rhyme.\n")
    (SKILL / file).parent.mkdir()
    rows = json.loads(json.dumps(held))
    for number, row in enumerate(rows if isinstance(rows, list) else rows.get("scenarios", []), 1):
        row |= {"id": number, "prompt": f"A poem? No. {number}"}
    (SKILL / file).write_text(json.dumps(rows))
    said = init()
    out = capsys.readouterr()
    if isinstance(count, str):
        assert said == 2
        assert count in out.err
        return
    assert [task.data["expectations"] for task in tasks()] == [WANTED] * count
    assert json.loads(out.out)["first"][0]["rubric"] == "- It rhymes.\n- It has four lines."
    assert load_skill(SKILL).files == {}


def test_a_folder_of_yaml_files_has_a_task_in_each(here: Path) -> None:
    Path("asked").mkdir()
    for number in range(3):
        Path(f"asked/{number}.yaml").write_text(
            json.dumps({"inputs": {"prompt": f"A poem? No. {number}"}, "expect": WANTED})
        )
    write([])
    assert init("asked") == 0
    assert sorted(task.input for task in tasks()) == [f"A poem? No. {number}" for number in range(3)]


def test_requests_that_are_no_tasks_are_none_of_the_project_either(here: Path, capsys: Captured) -> None:
    asked = [{"id": n, "prompt": f"Sum {n}?", "expected_output": str(n), "should_trigger": True} for n in range(6)]
    bring([*asked, {"id": 9, "prompt": "The time?", "expected_output": "9", "should_trigger": False}])
    assert init() == 0
    assert sum(json.loads(capsys.readouterr().out)["tasks"].values()) == 6
    assert {task.id for task in tasks()} == set("012345")


def test_requests_that_only_say_what_opens_the_skill_are_no_tasks_and_the_verb_for_them_is_named(
    here: Path, capsys: Captured
) -> None:
    Path("trigger_tests.yaml").write_text("should_trigger_prompts: [{prompt: a}]\nshould_not_trigger_prompts: [b]\n")
    assert main(["init", "trigger_tests.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: trigger_tests.yaml: item 1: neither expectations nor an expected output say what a good answer is\n"
        'hint: add "expectations": a list of sentences; `etude trigger` measures when the skill is opened\n'
    )


@pytest.mark.parametrize(
    "quiet",
    [
        {"expected_skill": None},
        {"expected_skill": "None"},
        {"expected_skill": "painter"},
        {"should_trigger": False},
        {"should_trigger": "FALSE"},
        {"expected_skill": []},
        {"expected_skill": [""]},
        {"expected_skill": False},
        {"shouldTrigger": False},
    ],
)
def test_requests_for_which_the_skill_must_stay_quiet_are_no_tasks(
    here: Path, capsys: Captured, quiet: dict[str, Any]
) -> None:
    more: dict[str, Any] = {"expected_skill": "poet"} if "expected_skill" in quiet else {}
    rows: list[dict[str, Any]] = [
        {"id": n, "question": f"Poem {n}?", "expected_behavior": WANTED, **more} for n in range(1, 8)
    ]
    bring([*rows, {"id": 8, "question": "What is the time?", "expected_behavior": ["It tells the time."], **quiet}])
    assert init() == 0
    made = json.loads(capsys.readouterr().out)
    assert sum(made["tasks"].values()) == 7
    assert any("1 row asks that the skill is not used" in note and "item 8" in note for note in made["notes"])
    bring([{**row, **quiet} for row in rows])
    if "painter" in quiet.values():  # it may have been called so
        assert init("--force") == 0
        return
    assert init("--force") == 2
    assert "each row asks that the skill is not used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expected", "asks"),
    [
        ("The poet skill is selected and its SKILL.md drives the answer.", False),
        ("Reads skills/poet/SKILL.md before answering.", True),
        ("Identifies sea-poet as the relevant skill.", True),
        ("The skill is triggered without the user naming it.", True),
        ("Routes to sea-poet", True),
        ("Sea-poet is activated.", True),
        ("Reads sea-poet/forms.md.", False),
        ("Opens with sea-poetry.", False),
        ("Loads the sea-poet skill and names three fish.", False),
        ("The sea-poet skill is NOT loaded.", False),
        ("Lists the steps that the skill describes.", False),
        ("It asks before it installs another skill.", False),
        ("The answer reads well.", False),
    ],
)
def test_expectations_that_only_the_use_of_the_skill_can_meet_are_left_out(
    here: Path, capsys: Captured, expected: str, asks: bool
) -> None:
    """Against no skill they would be lost by themselves, and a useless skill would seem to help."""
    rows: list[dict[str, Any]] = [{**row, "expectations": ["It rhymes.", expected]} for row in evals(5)]
    write([*rows, {"id": 6, "prompt": "Write a poem about 6 bees.", "expectations": [expected]}])
    assert init() == 0
    some = f"6 expectations left out, as {expected!r}, and 1 row without others: no answer shows that"
    assert any(note.startswith(some) for note in json.loads(capsys.readouterr().out)["notes"]) == asks
    made = [json.loads(line)["expectations"] for line in Path("tasks.jsonl").read_text().splitlines()]
    assert made == ([["It rhymes."]] * 5 if asks else [*[["It rhymes.", expected]] * 5, [expected]])


def test_where_the_use_of_the_skill_is_all_that_is_expected_there_is_no_task(here: Path, capsys: Captured) -> None:
    only: list[dict[str, Any]] = [{**row, "expectations": ["Reads SKILL.md first."]} for row in evals(6)]
    bare = [{name: value for name, value in row.items() if name != "expected_output"} for row in only]
    write(bare)
    assert init() == 2
    assert "all expectations ask that the skill is used, as 'Reads SKILL.md first.'" in capsys.readouterr().err
    write([{**row, "expected_output": "A poem in four lines about the sea and what lives in it."} for row in only])
    assert init() == 0
    capsys.readouterr()
    assert "What is expected: A poem in four lines" in Path("tasks.jsonl").read_text()


def test_expectations_that_also_say_what_is_answered_stay_and_are_pointed_out(here: Path, capsys: Captured) -> None:
    also = "Loads the sea-poet skill and names three fish."
    write([{**row, "expectations": ["It rhymes.", also]} for row in evals(6)])
    assert init() == 0
    some = f"6 of 12 expectations also ask that the skill is used, as {also!r}: without it they fail in any case"
    assert any(note.startswith(some) for note in json.loads(capsys.readouterr().out)["notes"])


def test_columns_that_say_which_rows_are_tasks_are_not_called_unused(here: Path, capsys: Captured) -> None:
    write([{**row, "expected_skill": "poet", "expected_script": "a.py"} for row in evals(6)])
    assert init() == 0
    assert json.loads(capsys.readouterr().out)["unused"] == ["expected_script"]


@pytest.mark.parametrize("count", [1, 4])
def test_one_to_four_tasks_can_be_scored_and_compared_and_none_is_trained_on(
    here: Path, capsys: Captured, count: int
) -> None:
    write(evals(count))
    simulated = ("--target", "simulated:target", "--optimizer", "simulated:optimizer")
    assert init(*simulated) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["tasks"] == {"train": 0, "val": 0, "test": count}
    assert [command.split()[1] for command in made["next"]] == ["doctor", "evaluate", "compare"]
    assert any("too few to train on" in note for note in made["notes"])
    for command in made["next"]:
        assert main(command.split()[1:]) in (0, 5), command  # what is simulated solves none of them
    assert "do not ship, on just these tasks: B scores no more than A" in capsys.readouterr().out
    before = sorted(Path("runs").rglob("*"))
    for verb in ("train", "plan"):
        assert main([verb, "--run.name", "next"]) == 2
        said = capsys.readouterr().err
        assert "there are no training tasks" in said
        assert "etude evaluate" in said
        able = f"{count} task{'s' * (count > 1)} can show whether a skill is better on just these tasks; on tasks"
        assert (able in said) == (verb == "plan")
    assert sorted(Path("runs").rglob("*")) == before


def test_no_prose_of_a_published_suite_is_compared_as_an_answer() -> None:
    """As they are in the data beside the project: each is judged, or refused with a reason."""
    data = Path(__file__).parents[3].parent / "shared" / "data" / "skills"
    suites = sorted(data.glob("*/evals/evals.json"))
    if not suites:
        pytest.skip(f"{data.name} is not beside the project")
    refused: dict[str, str] = {}
    for suite in suites:
        try:
            found = read_data({"path": suite}, Wishes())
        except DataError as error:
            refused[suite.parent.parent.name] = error.message
            continue
        assert found.made.scorer == "rubric", suite
    assert len(suites) > 200
    assert len(refused) < 10
    assert all("does not exist" in message or "holds no tasks" in message for message in refused.values()), refused
