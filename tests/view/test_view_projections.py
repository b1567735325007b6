"""What the page shows, against what the files and the journal say when they are asked in another way."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from view_runs import train

from etude.errors import DataError, Interrupted
from etude.events import AttemptFinished, Event
from etude.records.summary import Noise
from etude.simulation import make_tasks
from etude.store.projections.cost import read_cost
from etude.store.projections.log import Log
from etude.view.shelf import Shelf


def asked(run: Path, sql: str) -> list[tuple[Any, ...]]:
    """What the journal says."""
    with closing(sqlite3.connect(f"file:{run / 'journal.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def events(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    return [event for event in lines if event["kind"] == kind]


def document(run: Path, name: str = "") -> Any:
    return json.loads(Shelf([run], None).document(f"runs/{run.name}{name}"))


def attempts_of(run: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each attempt that was told of, and its page."""
    told = {event["attempt"]: event for event in events(run, "attempt_finished")}
    pages = map(json.loads, Shelf([run], None).many(run.name, [*told]))
    return zip(told.values(), pages, strict=True)


@pytest.fixture(params=["finished", "published"])
def run(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def test_much_noise_is_said(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / finished.name)
    noise = Noise(failed=40, regained=13, passed=0, lost=0, again=70, attempts=300)
    summary = json.loads((run / "summary.json").read_text()) | {"noise": noise.model_dump()}
    (run / "summary.json").write_text(json.dumps(summary))
    assert noise.note in [line["text"] for line in document(run)["answer"]["lines"]]
    (run / "summary.json").write_text(json.dumps(summary | {"noise": None}))
    assert "noise" not in [line["name"] for line in document(run)["answer"]["lines"]]


@pytest.fixture
def better(finished: Path, tmp_path: Path) -> Path:
    """A copy of a run whose best skill has one line more than the initial one, and one less."""
    run = shutil.copytree(finished, tmp_path / finished.name)
    summary = json.loads((run / "summary.json").read_text())
    rest = (run / "skills/0000.md").read_text().splitlines()[1:]
    (run / summary["best"]["skill"]).write_text("\n".join([*rest, "- A new line.", ""]))
    summary["best"]["hash"], summary["verdict"] = "another", "ship"
    (run / "summary.json").write_text(json.dumps(summary))
    return run


def test_a_run_shows_its_verdict_and_what_came_into_the_skill_and_what_went(better: Path) -> None:
    page, first = document(better), (better / "skills/0000.md").read_text().splitlines()[0]
    assert (page["answer"]["verdict"], page["answer"]["words"]) == ("ship", "ship, on tasks like these")
    assert page["answer"]["gain"] == json.loads((better / "summary.json").read_text())["test_gain"]
    head, lines = page["diff"].splitlines()[:2], page["diff"].splitlines()[2:]
    assert head == ["--- initial", "+++ best"]
    assert [line for line in lines if line[0] in "+-"] == [f"-{first}", "+- A new line."]
    (line,) = json.loads(Shelf([better], None).document("runs"))
    assert (line["verdict"], line["words"], line["gain"]) == ("ship", "ship", page["answer"]["gain"])
    (better / "summary.json").unlink()
    page, last = document(better), max(better.glob("skills/*.md"))
    assert (page["state"], page["answer"]) == ("died", None)
    assert page["why"] == f"its process ended after {len(page['decisions'])} steps and did not say why"
    shown = {line[1:] for line in page["diff"].splitlines()[2:] if line[0] == "+"}
    assert shown == {*last.read_text().splitlines()} - {*(better / "skills/0000.md").read_text().splitlines()}


def test_a_task_has_its_text_the_expected_and_the_given_answer(run: Path) -> None:
    tasks = {task.id: task for task in make_tasks("sorting", 18, seed=1)}
    assert {row["task"]: row["input"] for row in document(run, "/tasks")["rows"]} == {
        name: " ".join(task.input.split())[:120] for name, task in tasks.items()
    }
    for event, page in attempts_of(run):
        task = tasks[event["task"]]
        assert (page["input"], page["gold"]) == (task.input, task.gold)
        assert (page["answer"] == task.gold) == (event["hard"] == 1)


def test_only_runs_that_can_be_compared_stand_together_and_those_by_their_score(tmp_path: Path) -> None:
    for name, more in {
        "good": {},
        "bad": {"search": {"policy": "paper", "gate": False, "batch_size": 2}, "train": {"epochs": 1}},
        "other": {"target": {"model": "simulated:target-contrary"}},
    }.items():
        train(tmp_path, name, **more)
    died = shutil.copytree(tmp_path / "good", tmp_path / "died")
    (died / "summary.json").unlink()
    lines = json.loads(Shelf([], tmp_path).document("runs"))
    groups = {line["name"]: line["group"] for line in lines}
    assert groups["good"] == groups["bad"] == groups["died"] != groups["other"]
    names = [line["name"] for line in lines if line["group"] == groups["good"]]
    scores = {line["name"]: line["test"] for line in lines}
    assert names == ["good", "bad", "died"] if scores["good"] > scores["bad"] else ["bad", "good", "died"]
    told = {line["name"]: (line["state"], line["why"]) for line in lines}
    assert told["died"][0] == "died"
    assert "ended" in told["died"][1]


def test_what_attempts_cost_is_what_the_target_was_paid(tmp_path: Path) -> None:
    target = {"model": "simulated:target", "price": {"input": 3.0, "output": 15.0}}
    run = train(tmp_path, "priced", target=target)
    costs = [page["usd"] for _, page in attempts_of(run)]
    stages = [stage["usd"] for stage in document(run, "/cost")["stages"] if stage["role"] == "target"]
    assert sum(stages) > 0
    assert sum(costs) == pytest.approx(sum(stages))  # what the journal knows already is not paid again


def test_a_log_is_read_on_as_it_grows_and_comes_to_the_same(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / run.name)
    whole = (run / "events.jsonl").read_bytes()
    file = tmp_path / run.name / "events.jsonl"
    log = Log(tmp_path / run.name)
    for end in (*range(0, len(whole), 9_973), len(whole)):
        file.write_bytes(whole[:end])  # also in the middle of a line
        log.read()
    known = Log(run)
    known.read()
    assert (log.attempts, log.story) == (known.attempts, known.story)
    assert read_cost(log) == read_cost(known)
    assert not log.read()
    file.write_bytes(whole[:-1])
    assert log.read()


def test_a_run_that_has_just_begun_has_a_page(tmp_path: Path, finished: Path) -> None:
    young = tmp_path / "young"
    young.mkdir()
    shutil.copy(finished / "journal.db", young)
    (young / "events.jsonl").write_bytes(
        b"".join((finished / "events.jsonl").read_bytes().splitlines(keepends=True)[:20])
    )
    assert document(young)["answer"] is None
    assert document(young, "/curve")["turns"] == []
    assert document(young, "/tasks")["rows"] == []
    with pytest.raises(DataError, match="has no provenance"):
        document(young, "/skill")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "runs/first/nothing",
        "runs/none",
        "runs/first/steps/99",
        "runs/first/attempts/a",
        "runs/first/skill/x",
    ],
)
def test_a_document_that_is_not_there_is_an_error(finished: Path, name: str) -> None:
    with pytest.raises(DataError):
        Shelf([finished], None).document(name)


def test_a_file_in_its_folder_stops_a_run_which_then_goes_on(tmp_path: Path) -> None:
    class Stopping:
        def emit(self, event: Event) -> None:
            if isinstance(event, AttemptFinished):
                (tmp_path / "run" / "stop").touch()

    with pytest.raises(Interrupted):
        train(tmp_path, "run", sinks=[Stopping()])
    page = document(tmp_path / "run")
    assert (page["state"], page["why"]) == ("stopped", "interrupted")
    assert document(train(tmp_path, "run"))["state"] == "finished"
