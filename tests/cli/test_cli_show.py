import json
import os
import re
import shutil
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import RunSection
from etude.events import RunStarted
from etude.store import RunFolder
from etude.store.projections.cost import read_cost

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def steps() -> int:
    """How many the run has made."""
    return len(list(Path(RUN, "steps").iterdir()))


def table(lines: list[str]) -> list[list[str]]:
    """The lines of the table of steps, in cells."""
    header = next(number for number, line in enumerate(lines) if line.startswith("step  "))
    return [re.split("  +", line) for line in lines[header:]]


def test_a_run_is_shown_with_summary_steps_and_files(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run demo: finished"
    assert "SIMULATED MODELS: these scores say nothing about a real model." in lines
    rows = table(lines)
    assert rows[0][:2] == ["step", "action"]
    assert rows[0][-1] == "reason"
    assert rows[1][0] == "1"
    assert f"{RUN}/events.jsonl  everything that happened, with times" in lines


def test_steps_that_were_validated_are_shown_with_both_scores(paper_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN]) == 0
    rows = table(capsys.readouterr().out.splitlines())
    assert rows[0] == ["step", "action", "validation", "tokens", "edits", "reason"]
    assert re.fullmatch(r"0\.\d{3} -> (0\.\d{3}|-)", rows[1][2])


def test_a_slow_update_stands_behind_the_step_it_followed(demo_project: Path, capsys: Captured) -> None:
    with Path(RUN, "events.jsonl").open("a") as log:
        for epoch, step in ((21, 1), (22, 3)):
            event = {"kind": "stage_started", "stage": "slow_update", "step": step, "epoch": epoch}
            log.write(json.dumps(event) + "\n")
    for epoch in (21, 22, 23):
        folder = Path(RUN, f"epochs/{epoch:02d}")
        folder.mkdir(parents=True)
        (folder / "gate.json").write_text('{"action": "rejected", "origin": "slow_update", "reason": "no"}')
    main(["show", RUN])
    names = [re.split("  +", line)[0] for line in capsys.readouterr().out.splitlines()]
    assert names.index("slow update 21") == names.index("1") + 1
    assert names.index("slow update 22") == names.index("3") + 1
    assert names.index("slow update 23") > names.index(str(steps()))


def test_a_run_is_found_by_name_in_runs(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    assert main(["show", "demo"]) == 0
    assert capsys.readouterr().out.startswith("run demo: finished")


def test_a_run_as_json_has_its_summary_and_steps(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["summary"] == json.loads(Path(RUN, "summary.json").read_text())
    assert [step["number"] for step in shown["steps"]] == list(range(1, steps() + 1))
    assert (shown["resume"], shown["raise_limit"]) == (None, None)


def test_a_step_is_shown_with_the_fate_reason_and_evidence_of_its_edits(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "1"]) == 0
    out = capsys.readouterr().out
    update = json.loads(Path(RUN, "steps/0001/update.json").read_text())
    for number, applied in enumerate(update["edits"], 1):
        edit = applied["edit"]
        assert f"edit {number} ({edit['op']}): {applied['fate']}" in out
        assert f"  reason  {edit['reason']}" in out
        assert f"  cites   {', '.join(edit['cites'])}" in out
    assert Path(RUN, "steps/0001/candidate.diff").read_text() in out


def test_a_step_as_json_has_edits_and_diff(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["number"] == 1
    assert {edit["fate"] for edit in shown["details"]} == set(shown["edits"])
    assert shown["diff"].startswith("--- current")


def test_a_step_says_task_by_task_what_its_edits_did(demo_project: Path, capsys: Captured) -> None:
    proof = json.loads(Path(RUN, "steps/0001/proof.json").read_text())
    assert main(["show", RUN, "--step", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["tasks"]) == proof["failed"]
    assert {one["task"] for one in shown["tasks"] if (one["after"] or 0) > one["before"]} >= set(proof["fixed"])
    assert all(edit["detail"] for edit in shown["details"])
    main(["show", RUN, "--step", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert f"{proof['failed']} tasks, score before -> with the candidate:" in lines
    assert {f"  better  {task}  0 -> 1" for task in proof["fixed"]} <= set(lines)


def test_a_step_of_the_published_loop_says_which_validation_tasks_decided(
    paper_project: Path, capsys: Captured
) -> None:
    gates = [json.loads(path.read_text()) for path in sorted(Path(RUN, "steps").glob("*/gate.json"))]
    number, gate = next((number, gate) for number, gate in enumerate(gates, 1) if gate["action"] == "rejected")
    assert main(["show", RUN, "--step", str(number), "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)["tasks"]
    assert len(tasks) == gate["verdict"]["decided_after"]
    assert [task["before"] for task in tasks] == sorted(task["before"] for task in tasks)
    main(["show", RUN, "--step", str(number)])
    worse = [task for task in tasks if task["after"] < task["before"]]
    out = capsys.readouterr().out
    assert all(f"  worse   {task['task']}  1 -> 0\n" in out for task in worse)


def test_an_edit_that_was_not_tested_is_shown_with_the_reason(demo_project: Path, capsys: Captured) -> None:
    selected = Path(RUN, "steps/0001/selected.json")
    edit = {"op": "append", "content": "Say 42.", "cites": ["a-1"]}
    selected.write_text(json.dumps({"edits": [], "left_out": [{"edit": edit, "why": "repeats an attempt"}]}))
    main(["show", RUN, "--step", "1"])
    assert "\nnot tested (append): repeats an attempt\n  text    Say 42.\n" in capsys.readouterr().out


def test_a_step_that_is_not_there_is_an_error(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "99"]) == 2
    assert capsys.readouterr().err == f"error: run 'demo' has no step 99\nhint: it has {steps()} steps so far\n"
    for step in range(2, steps() + 1):
        shutil.rmtree(Path(RUN, f"steps/{step:04d}"))
    assert main(["show", RUN, "--step", "99"]) == 2
    assert "hint: it has 1 step so far\n" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_an_error_that_names_the_others(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    assert main(["show", "dmeo"]) == 2
    assert capsys.readouterr().err == "error: there is no run in 'runs/dmeo'\nhint: runs in 'runs': demo\n"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("runs", "there is no run in 'runs'\nhint: runs in 'runs': demo"),
        (".", "there is no run in '.'\nhint: runs in 'runs': demo"),
        ("../demo", "there is no run in '../demo'\nhint: runs in '../demo/runs': demo"),
        (
            "demo:best",
            (
                "'demo:best' is a skill of a run, not a run\n"
                "hint: give 'demo' alone; `etude diff demo` compares two of its skills"
            ),
        ),
        ("demos:best", "there is no run in 'runs/demos:best'\nhint: runs in 'runs': demo"),
    ],
)
def test_what_is_near_a_run_leads_to_it(
    name: str, error: str, demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    assert main(["show", name]) == 2
    assert capsys.readouterr().err == f"error: {error}\n"


def test_where_there_are_no_runs_it_says_so(here: Path, capsys: Captured) -> None:
    assert main(["show", "demo"]) == 2
    assert capsys.readouterr().err == "error: there is no run in 'runs/demo'\nhint: 'runs' holds no runs\n"


def test_a_stopped_run_says_so_and_the_command_it_shows_goes_on_with_it(
    fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", "demo/etude.yaml", "--limits.calls", "150"]) == 3
    capsys.readouterr()
    assert main(["show", RUN]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("run demo: not finished, ")
    assert first.endswith(" done")
    label, _, words = second.partition(": etude ")
    assert label == "resume (with a larger --limits.calls)"
    assert words == f"train {RUN}/config.yaml"
    main(["show", RUN, "--json"])
    assert json.loads(capsys.readouterr().out)["raise_limit"] == "limits.calls"
    assert main([*words.split(), "--limits.calls", "10000"]) == 0
    capsys.readouterr()
    main(["show", RUN, "--json"])
    assert json.loads(capsys.readouterr().out)["resumable"] is False


def test_a_run_that_was_killed_after_an_earlier_stop_is_not_finished(demo_project: Path, capsys: Captured) -> None:
    summary = json.loads(Path(RUN, "summary.json").read_text())
    Path(RUN, "summary.json").write_text(json.dumps({**summary, "stopped": "limits.calls = 5 is reached: "}))
    with Path(RUN, "events.jsonl").open("a") as log:
        log.write('{"kind": "run_started", "steps": 0, "epochs": 4}\n')
    assert main(["show", RUN]) == 0
    first, second, _, fourth, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"run demo: not finished, {steps()} (of {steps()} )?steps done", first)
    assert second.startswith("resume: ")  # whether a limit was in its way is not known any more
    assert fourth == "when it last stopped:"


def test_a_folder_with_evaluations_only_is_said_to_be_one(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--run.name", "scores", "--split", "val"]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["show", "demo/runs/scores"]) == 0
    first, _, *files = capsys.readouterr().out.splitlines()
    assert first == "folder scores: evaluations only, no run was trained in it"
    assert re.split("  +", files[0]) == ["demo/runs/scores/evaluations", "what `etude evaluate` found"]
    assert main(["show", "demo/runs/scores", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["evaluations_only"], shown["resumable"], shown["resume"]) == (True, False, None)


@pytest.mark.parametrize(("planned", "done"), [(0, "1 step done"), (1, "1 of 1 step done"), (6, "1 of 6 steps done")])
def test_a_run_that_a_process_works_on_is_said_to_be_running(
    planned: int, done: str, here: Path, capsys: Captured
) -> None:
    with RunFolder.open(RunSection(folder="runs", name="new")) as run:
        started = RunStarted(name="new", folder="", epochs=1, steps=planned, resumed=False, simulated=True)
        run.events.emit(started)
        run.write_json("steps/0001/gate.json", {"action": "skipped"})
        assert main(["show", "new"]) == 0
    assert capsys.readouterr().out.startswith(f"run new: running now, {done}\n")


def test_a_run_that_has_just_begun_can_be_shown(here: Path, capsys: Captured) -> None:
    with RunFolder.open(RunSection(folder="runs", name="new")):
        pass
    assert main(["show", "new"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run new: not finished\nresume: run the command that started it again\n")
    assert "no step has begun yet" in out
    assert main(["show", "new", "--step", "1"]) == 2
    assert "hint: it has none yet" in capsys.readouterr().err


def test_a_run_whose_tasks_came_from_python_shows_no_command(demo_project: Path, capsys: Captured) -> None:
    Path(RUN, "config.yaml").write_text("run: {folder: .., name: demo}\n")
    Path(RUN, "summary.json").unlink()
    assert main(["show", RUN]) == 0
    assert "resume: run the command that started it again" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", '{"name": 3}'])
def test_a_damaged_summary_is_an_error_that_names_the_file(text: str, demo_project: Path, capsys: Captured) -> None:
    Path(RUN, "summary.json").write_text(text)
    assert main(["show", RUN]) == 2
    assert f"error: '{RUN}/summary.json' is damaged: " in capsys.readouterr().err


def test_without_a_run_the_one_that_changed_last_is_shown(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    shutil.copytree("runs/demo", "runs/another")
    os.utime("runs/another/journal.db", (1, 1))
    assert main(["show"]) == 0
    assert capsys.readouterr().out.startswith("run demo: finished")


def test_an_attempt_is_shown_as_a_conversation_with_its_score(demo_project: Path, capsys: Captured) -> None:
    attempt = json.loads(Path(RUN, "steps/0001/rollout.json").read_text())[0]
    assert main(["show", RUN, "--attempt", attempt["id"]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"attempt {attempt['id']} of run demo"
    said = [message["content"][0]["text"] for message in attempt["trajectory"]["messages"]]
    assert lines.index("user") < lines.index("assistant") < lines.index("result   completed")
    assert [f"  {line}" for text in said for line in text.splitlines()] == [
        line for line in lines if line.startswith("  ")
    ]
    assert f"feedback {attempt['score']['feedback']}".splitlines()[0] in lines
    main(["show", RUN, "--attempt", attempt["id"], "--json"])
    assert json.loads(capsys.readouterr().out) == attempt


def test_tool_calls_their_results_and_a_shortened_skill_are_part_of_it(demo_project: Path, capsys: Captured) -> None:
    path = Path(RUN, "steps/0001/rollout.json")
    attempts = json.loads(path.read_text())
    call = {"id": "c1", "name": "shell", "arguments": '{"command": "ls"}'}
    attempts[0]["trajectory"]["messages"] = [
        {"role": "system", "content": [{"type": "text", "text": "first " + "skill " * 1000 + "last"}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a.txt\x1b[2J"}]},
    ]
    attempts[0]["trajectory"]["exit_codes"] = {"c1": 2}
    path.write_text(json.dumps(attempts))
    assert main(["show", RUN, "--attempt", attempts[0]["id"]]) == 0
    out = capsys.readouterr().out
    assert '\nassistant\n  calls shell {"command": "ls"}\n\ntool shell, exit code 2\n  a.txt<U+001B>[2J\n' in out
    assert "\nsystem\n  first skill" in out
    assert "characters left out ...]" in out
    assert len(out) < 2000


def attempts_of(split: str) -> list[dict[str, str]]:
    """The events of the attempts at the tasks of a split."""
    events = [json.loads(line) for line in Path(RUN, "events.jsonl").read_text().splitlines()]
    return [event for event in events if event.get("split") == split]


def test_an_attempt_of_which_only_the_score_was_kept_is_made_again_from_the_journal(
    demo_project: Path, capsys: Captured
) -> None:
    before = read_cost(RUN)
    for event in attempts_of("test")[-1], attempts_of("val")[0]:
        assert main(["show", RUN, "--attempt", event["attempt"], "--json"]) == 0
        attempt = json.loads(capsys.readouterr().out)
        assert attempt["task"]["id"] == event["task"]
        assert attempt["score"]["hard"] == event["hard"]
        assert [message["role"] for message in attempt["trajectory"]["messages"]] == ["user", "assistant"]
    assert read_cost(RUN) == before


def test_an_attempt_that_is_not_there_or_not_kept_is_an_error(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--attempt", "a-nothing"]) == 2
    assert capsys.readouterr().err.startswith(
        "error: run 'demo' has no attempt 'a-nothing'\nhint: the edits of a step"
    )
    tested = attempts_of("test")[0]
    log = Path(RUN, "events.jsonl")
    log.write_text(log.read_text().replace(tested["attempt"], "a-othermodel"))
    assert main(["show", RUN, "--attempt", "a-othermodel"]) == 2
    assert f"it is one at test task '{tested['task']}': completed" in capsys.readouterr().err


def test_cost_is_told_by_role_and_stage_and_adds_up_to_the_account(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--cost", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    paid = json.loads(Path(RUN, "summary.json").read_text())["cost"]
    assert cost["calls"] == sum(each["calls"] for each in cost["stages"])
    for role in ("target", "optimizer"):
        rows = [each for each in cost["stages"] if each["role"] == role]
        assert sum(each["calls"] for each in rows) == paid[f"{role}_calls"]
        assert sum(each["usage"]["input_tokens"] for each in rows) == paid["tokens"][role]["input_tokens"]
    assert {each["stage"] for each in cost["stages"] if each["role"] == "optimizer"} <= {"reflect", "tidy"}
    main(["show", RUN, "--cost"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["role", "stage", "calls", "failed", "tokens", "in", "cached", "out", "cost"]
    assert lines[-1].split()[:2] == ["total", f"{cost['calls']:,}"]
    assert max(map(len, lines)) <= 80


def test_calls_that_no_event_tells_of_are_shown_apart(demo_project: Path, capsys: Captured) -> None:
    log = Path(RUN, "events.jsonl")
    lines = [line for line in log.read_text().splitlines() if '"call_finished", "role": "optimizer"' not in line]
    log.write_text("\n".join(lines) + "\n")
    main(["show", RUN, "--cost"])
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("optimizer"))
    assert row.split()[:2] == ["optimizer", "-"]
    assert row.endswith("unknown")
