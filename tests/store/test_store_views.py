import pytest

from etude.config import RunSection
from etude.errors import DataError
from etude.events import Notice, RunFinished, RunStarted
from etude.records import AppliedEdit, Edit, Verdict
from etude.records.summary import Cost, SkillScores, Summary
from etude.store import RunFolder, StepView, is_running, read_events, read_run, run_names


@pytest.fixture
def run(tmp_path):
    with RunFolder.open(RunSection(folder=str(tmp_path), name="first")) as run:
        yield run


def applied(content, fate):
    return AppliedEdit(edit=Edit(op="append", content=content), fate=fate)


def summary(stopped: str | None) -> Summary:
    """Of a run that measured nothing."""
    skill, none = SkillScores(skill="skills/0000.md", hash="0"), dict.fromkeys(("accepted", "rejected", "skipped"), 0)
    counts = {**none, "steps": 0, "missed_edits": 0, "voids": 0}
    about = {"name": "first", "folder": "", "simulated": True, "metric": "hard", "cost": Cost(), "stopped": stopped}
    return Summary(initial=skill, best=skill, **counts, **about)


def write_step(run, place, action, verdict=None, **gate):
    run.write_json(
        f"{place}/gate.json", {"verdict": verdict, "action": action, "best": False, "origin": "step", **gate}
    )


def test_steps_tell_what_became_of_their_candidate(run):
    verdict = Verdict(accepted=True, reason="0.60 > 0.50", current=0.5, candidate=0.6, compared=10)
    edits = [applied("a", "applied"), applied("b", "missed"), applied("c", "applied")]
    run.write_json("steps/0001/update.json", {"edits": edits, "skipped": ""})
    run.write_candidate("steps/0001", "", "abcde")
    write_step(run, "steps/0001", "accepted", verdict, best=True, reason=verdict.reason)
    lost = Verdict(accepted=False, reason="cannot win", current=0.6)
    write_step(run, "steps/0002", "rejected", lost, reason="lost after 3 tasks", origin="slow_update")
    run.write_json("steps/0003/update.json", {"edits": [], "skipped": "the text is unchanged"})
    write_step(run, "steps/0003", "skipped", reason="the text is unchanged", of_a_later_version={"a": 1})
    run.write_json("steps/0004/rollout.json", [])
    assert read_run(run.path).steps == (
        StepView(
            number=1,
            action="accepted",
            best=True,
            reason="0.60 > 0.50",
            current=0.5,
            candidate=0.6,
            edits={"applied": 2, "missed": 1},
            skill_tokens=2,
        ),
        StepView(number=2, action="rejected", origin="slow_update", reason="lost after 3 tasks", current=0.6),
        StepView(number=3, action="skipped", reason="the text is unchanged"),
        StepView(number=4),
    )


def test_steps_are_in_the_order_of_their_numbers(run):
    for number in (2, 10_000, 9_999):
        write_step(run, f"steps/{number:04d}", "skipped")
    (run.path / "steps" / "notes").mkdir()
    assert [step.number for step in read_run(run.path).steps] == [2, 9_999, 10_000]


def test_slow_updates_are_listed_by_epoch(run):
    write_step(run, "epochs/02", "skipped", origin="slow_update")
    assert read_run(run.path).epochs == (StepView(number=2, action="skipped", origin="slow_update"),)


def test_skills_are_listed_in_order(run):
    for number in (3, 0, 12):
        run.write_skill(number, "x")
    assert read_run(run.path).skills == ("skills/0000.md", "skills/0003.md", "skills/0012.md")


@pytest.mark.parametrize(
    ("written", "resumable"), [(None, True), (summary("limits.calls"), True), (summary(None), False)]
)
def test_a_run_can_be_resumed_unless_it_is_under_way_or_finished(run, written, resumable):
    run.write_text("config.yaml", "")
    if written is not None:
        run.write_json("summary.json", written)
    assert (read_run(run.path).running, read_run(run.path).resumable) == (True, False)
    run.close()
    view = read_run(run.path)
    assert (view.summary, view.running, view.resumable) == (written, False, resumable)


def test_a_summary_is_outdated_once_the_run_went_on_after_its_stop(run):
    def last(*events):
        for event in events:
            run.events.emit(event)
        return read_run(run.path).outdated

    started = RunStarted(name="first", folder="", epochs=1, steps=0, resumed=False, simulated=True)
    stopped = RunFinished(stopped="interrupted", summary="")
    run.write_json("summary.json", summary("interrupted"))
    assert not last(started, stopped)
    assert last(started, Notice(level="info", text='"run_finished"'))
    assert not last(stopped)
    run.write_json("summary.json", summary(None))
    assert not last(started)


@pytest.mark.parametrize("what", ["evaluations/a.json", "pruned/prune.json", "events.jsonl"])
def test_a_folder_that_was_only_borrowed_is_no_run_to_go_on_with(run, what):
    run.write_json(what, {})
    run.close()
    view = read_run(run.path)
    assert (view.evaluations_only, view.resumable) == (True, False)
    (run.path / "config.yaml").write_text("")
    view = read_run(run.path)
    assert (view.evaluations_only, view.resumable) == (False, True)


def test_looking_does_not_keep_a_run_from_starting(run):
    run.close()
    assert not is_running(run.path)
    with RunFolder.open(RunSection(folder=str(run.path.parent), name="first")):
        assert is_running(run.path)


def test_a_folder_without_a_lock_that_can_be_tried_is_not_running(tmp_path):
    assert not is_running(tmp_path)
    (tmp_path / "journal.db.lock").mkdir()
    assert not is_running(tmp_path)


def test_a_missing_run_is_an_error_that_names_the_others(run, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        with pytest.raises(DataError) as caught:
            read_run(tmp_path / name)
        expected = f"there is no run in {str(tmp_path / name)!r}\nhint: runs in {str(tmp_path)!r}: first"
        assert str(caught.value) == expected
    with pytest.raises(DataError, match=r"'.*nowhere' holds no runs"):
        read_run(tmp_path / "nowhere" / "run")


def test_runs_are_named_in_order(run, tmp_path):
    RunFolder.open(RunSection(folder=str(tmp_path), name="another")).close()
    (tmp_path / "notes.txt").write_text("no run")
    assert run_names(tmp_path) == ("another", "first")
    assert run_names(tmp_path / "absent") == ()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("summary.json", "{"),
        ("summary.json", "[]"),
        ("steps/0001/gate.json", "{"),
        ("steps/0001/gate.json", '{"action": "maybe"}'),
        ("steps/0001/update.json", "[1]"),
    ],
)
def test_a_damaged_file_is_named(run, place, text):
    path = run.write_text(place, text)
    with pytest.raises(DataError, match="is damaged") as caught:
        read_run(run.path)
    assert str(path) in caught.value.message
    assert caught.value.hint.startswith("run `train` again with the same settings")


def test_events_are_read_back_and_broken_lines_left_out(run):
    run.events.emit(Notice(level="info", text="one"))
    with (run.path / "events.jsonl").open("a") as log:
        log.write("[1]\n{\n")
    run.events.emit(Notice(level="info", text="two"))
    assert [event["text"] for event in read_events(run.path)] == ["one", "two"]
    assert list(read_events(run.path / "absent")) == []


def test_events_of_some_kinds_are_read_alone(run):
    run.events.emit(Notice(level="info", text="run_finished"))
    run.events.emit(RunFinished(stopped="", summary=""))
    assert [event["kind"] for event in read_events(run.path, "run_started", "run_finished")] == ["run_finished"]
