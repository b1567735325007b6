import contextlib
import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import RunSection
from etude.events import Notice, RunStarted
from etude.store import RunFolder
from etude.store.projections.cost import read_cost

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def steps() -> int:
    """How many the run has made."""
    return len(list(Path(RUN, "steps").iterdir()))


def test_a_slow_update_stands_behind_the_step_it_followed(demo_project: Path, capsys: Captured) -> None:
    with Path(RUN, "events.jsonl").open("a") as log:
        for epoch, step in ((21, 1), (22, 3)):
            event = {"kind": "stage_started", "stage": "slow_update", "step": step, "epoch": epoch}
            log.write(json.dumps(event) + "\n")
    for epoch in (21, 22, 23):
        folder = Path(RUN, f"epochs/{epoch:02d}")
        folder.mkdir(parents=True)
        (folder / "gate.json").write_text('{"action": "rejected", "origin": "slow_update", "reason": "no"}')
    main(["diff", RUN, "0", "2"])
    between = capsys.readouterr().out
    assert "\nslow update 21 rejected: no\nstep 2 " in between
    assert "slow update 22" not in between
    main(["show", RUN])
    names = [re.split("  +", line)[0] for line in capsys.readouterr().out.splitlines()]
    assert names.index("slow update 21") == names.index("1") + 1
    assert names.index("slow update 22") == names.index("3") + 1
    assert names.index("slow update 23") > names.index(str(steps()))


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


def test_a_stopped_run_says_so_and_the_command_it_shows_goes_on_with_it(
    fresh_project: Path, capsys: Captured
) -> None:
    small = ["--train.epochs", "1", "--env.limit={train: 12, val: 8, test: 6}"]
    assert main(["train", "demo/etude.yaml", "--limits.calls", "30", *small]) == 3
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


def test_a_folder_with_evaluations_only_is_said_to_be_one_and_has_no_skills(
    demo_project: Path, capsys: Captured
) -> None:
    words = ["evaluate", "demo/etude.yaml", "--run.name", "scores", "--split", "val"]
    assert main(words) == 0
    capsys.readouterr()
    with contextlib.chdir(demo_project):  # by itself it shows what was trained, also where that was before
        assert main(["show"]) == 0
    assert capsys.readouterr().out.startswith("run demo: finished\n")
    assert main(["show", "demo/runs/scores"]) == 0
    first, _, *files = capsys.readouterr().out.splitlines()
    assert first == "folder scores: evaluations only, no run was trained in it"
    assert re.split("  +", files[0]) == ["demo/runs/scores/evaluations", "what `etude evaluate` found"]
    assert main(["show", "demo/runs/scores", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["evaluations_only"], shown["resumable"], shown["resume"]) == (True, False, None)
    for words in (
        "diff {}",
        "export {}",
        "export {}:1",
        "blame {}",
        "blame {} 1",
        "verify demo/skills/everyday-tasks {}",
    ):
        asked = words.format("demo/runs/scores").split()
        assert main(asked) == 2
        assert capsys.readouterr().err == (
            "error: 'demo/runs/scores' holds evaluations only, no skill\n"
            "hint: skills are in the folders of runs that were trained\n"
        )


def test_of_a_folder_in_which_a_skill_was_pruned_it_is_said_what_to_read(
    demo_project: Path, capsys: Captured
) -> None:
    assert main(["prune", "demo/skills/everyday-tasks", "demo/etude.yaml", "--name", "short"]) == 0
    capsys.readouterr()
    assert main(["show", "demo/runs/short"]) == 0
    assert re.search("demo/runs/short/pruned +what `etude prune` found", capsys.readouterr().out)
    for words in ("blame {}", "verify {}/pruned/everyday-tasks {}", "diff {}"):
        assert main(words.replace("{}", "demo/runs/short").split()) == 2
        assert capsys.readouterr().err == (
            "error: 'demo/runs/short' holds evaluations only, no skill\n"
            "hint: it pruned a skill: 'demo/runs/short/pruned/prune.json' says why each block went or stays\n"
        )


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
    with RunFolder.open(RunSection(folder="runs", name="new")) as run:
        run.write_text("config.yaml", "")
        for text, withdrawn in (("not so", False), ("two\nlines", False), ("not so", True)):
            run.events.emit(Notice(level="info" if withdrawn else "warning", text=text, withdrawn=withdrawn))
    assert main(["show", "new"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run new: not finished\nresume: run the command that started it again\n")
    assert "warning: two\n  lines\nno step has begun yet" in out
    assert "not so" not in out
    assert main(["show", "new", "--step", "1"]) == 2
    assert "hint: it has none yet" in capsys.readouterr().err


def test_a_run_whose_tasks_came_from_python_shows_no_command(demo_project: Path, capsys: Captured) -> None:
    Path(RUN, "config.yaml").write_text("run: {folder: .., name: demo}\n")
    Path(RUN, "summary.json").unlink()
    assert main(["show", RUN]) == 0
    assert "resume: run the command that started it again" in capsys.readouterr().out


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


def test_an_attempt_that_no_step_kept_is_told_from_the_journal(demo_project: Path, capsys: Captured) -> None:
    before = read_cost(RUN)
    for event in attempts_of("test")[-1], attempts_of("val")[0]:
        assert main(["show", RUN, "--attempt", event["attempt"], "--json"]) == 0
        page = json.loads(capsys.readouterr().out)
        assert (page["task"], page["hard"]) == (event["task"], event["hard"])
        assert page["answer"]
        assert main(["show", RUN, "--attempt", event["attempt"]]) == 0
        out = capsys.readouterr().out
        assert f"task     {event['task']}, {event['split']} split\n" in out
        assert f"\nanswer   {page['answer']}" in out
    assert read_cost(RUN) == before


def test_an_attempt_that_is_not_there_is_an_error(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--attempt", "a-nothing"]) == 2
    assert capsys.readouterr().err.startswith(
        "error: run 'demo' has no attempt 'a-nothing'\nhint: the edits of a step"
    )


def test_calls_that_no_event_tells_of_are_shown_apart(demo_project: Path, capsys: Captured) -> None:
    log = Path(RUN, "events.jsonl")
    lines = [line for line in log.read_text().splitlines() if '"call_finished", "role": "optimizer"' not in line]
    log.write_text("\n".join(lines) + "\n")
    main(["show", RUN, "--cost"])
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("optimizer"))
    assert row.split()[:2] == ["optimizer", "-"]
    assert row.endswith("unknown")
