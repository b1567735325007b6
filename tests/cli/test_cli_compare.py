import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.cli.parsing.parser import find_verb
from etude.measure.compare import TRIALS
from etude.records import Skill
from etude.records.summary import Comparison
from etude.skill import load_skill
from trusting import trust

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def test_two_skills_of_a_run_are_compared_from_what_it_paid_for(demo_project: Path, capsys: Captured) -> None:
    assert main(["compare", f"{RUN}:initial", f"{RUN}:best", "--trials", "1"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    summary = json.loads(Path(RUN, "summary.json").read_text())
    gain = summary["test_gain"]
    assert lines[0] == "SIMULATED MODELS: these scores say nothing about a real model."
    assert lines[1].startswith(f"A           {RUN}:initial  {summary['initial']['test']['mean']:.2f} [")
    assert lines[2].startswith(f"B           {RUN}:best     {summary['best']['test']['mean']:.2f} [")
    interval = f"{gain['mean']:+.2f} [{gain['low']:+.2f}, {gain['high']:+.2f}]"
    assert lines[3] == f"difference  {interval}  paired, test n=120, mean hard score"
    assert re.fullmatch(
        r"verdict     ship, on tasks like these: B is better by \+0\.\d{3} or more, with 95% confidence", lines[4]
    )
    assert re.fullmatch(r" {12}on just these tasks: ship, luck alone would do as well in .+ of cases", lines[5])
    assert "test split" not in captured.out + captured.err
    events = [json.loads(line) for line in Path(RUN, "events.jsonl").read_text().splitlines()]
    last = max(number for number, event in enumerate(events) if event["kind"] == "stage_started")
    assert events[last]["total"] == 240
    assert "call_finished" not in {event["kind"] for event in events[last:]}


def test_tasks_gained_and_lost_are_listed_the_lost_ones_first(demo_project: Path, capsys: Captured) -> None:
    words = ["compare", f"{RUN}:initial", f"{RUN}:best", "--trials", "1"]
    main([*words, "--json"])
    result = Comparison.model_validate_json(capsys.readouterr().out)
    main(words)
    out = capsys.readouterr().out
    assert f"\ntasks       {len(result.gained)} better, {len(result.lost)} worse, {result.equal} equal\n" in out
    rows = [line.split() for line in out.splitlines() if line.endswith((" better", " worse"))]
    assert [row[0] for row in rows if row[-1] == "worse"] == [flip.task for flip in result.lost]
    assert rows[len(result.lost)] == [result.gained[0].task, "0.00", "1.00", "+1.00", "better"]
    assert rows[-1] == ["...", str(len(result.gained) - 20), "more", "better"]
    written = Comparison.model_validate_json(Path(result.file).read_text())
    assert written == result.model_copy(update={"file": ""})


def test_none_is_an_arm_without_a_skill_and_costs_nothing_where_the_run_knows_it(
    demo_project: Path, capsys: Captured
) -> None:
    few = ["--trials", "1", "--env.limit={test: 30}"]
    assert main(["compare", "none", f"{RUN}:best", *few]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"A           no skill +0\.", lines[1])
    assert lines[2].startswith(f"B           {RUN}:best  0.")
    words = ["evaluate", "demo/etude.yaml", "--skill", "none", "--skill", f"{RUN}:best", "--env.limit={test: 30}"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["evaluations"]
    assert [(row["label"], row["calls_sent"]) for row in rows] == [("no skill", 0), (f"{RUN}:best", 0)]
    assert rows[0]["score"]["mean"] < rows[1]["score"]["mean"]
    assert main(words[:4] + words[-1:]) == 0
    assert "\nskill   no skill (" in capsys.readouterr().out


def test_a_folder_called_none_is_named_with_its_path(demo_project: Path, capsys: Captured) -> None:
    Path("none").mkdir()
    Path("none/SKILL.md").write_text("Answer with one word.\n")
    assert main(["compare", "none", "./none", "demo/etude.yaml", "--json", "--env.limit={test: 5}"]) in (0, 4, 5)
    result = json.loads(capsys.readouterr().out)
    assert (result["a"]["hash"], result["b"]["hash"]) == (Skill(text="").hash, load_skill("none").hash)


def test_trials_and_split_are_reported(demo_project: Path, capsys: Captured) -> None:
    words = ["compare", f"{RUN}:1", f"{RUN}:best", "--split", "val", "--trials", "2", "--env.limit={val: 10}"]
    assert main(words) in (0, 4)
    captured = capsys.readouterr()
    assert "  paired, val n=10, 2 trials each, mean hard score\n" in captured.out
    assert "  validation: " in captured.err
    assert "test: " not in captured.err


def test_skills_by_path_use_the_settings_given_or_those_here(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    skills = ["skills/everyday-tasks", "runs/demo/best/everyday-tasks/SKILL.md"]
    few = ["--json", "--env.limit={test: 10}"]
    main(["compare", *skills, "etude.yaml", *few])
    given = json.loads(capsys.readouterr().out)
    main(["compare", *skills, *few])
    assert json.loads(capsys.readouterr().out) == given


def test_without_a_verdict_the_exit_code_is_4_and_it_says_what_would_settle_it(
    demo_project: Path, capsys: Captured
) -> None:
    text = Path(RUN, "best/everyday-tasks/SKILL.md").read_text()
    Path("same.md").write_text(text + "\nThank you.\n")
    words = ["compare", f"{RUN}:best", "same.md", "--env.limit={test: 5}"]
    assert main(words) == 4
    out = capsys.readouterr().out
    assert "\nverdict     inconclusive, on tasks like these: B may be better, or not (-" in out
    assert "\nto settle   " in out
    assert main([*words, "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["settle"]["note"]


def test_with_a_margin_a_skill_that_changes_nothing_is_not_shipped(demo_project: Path, capsys: Captured) -> None:
    text = Path(RUN, "best/everyday-tasks/SKILL.md").read_text()
    Path("same.md").write_text(text + "\nThank you.\n")
    assert main(["compare", f"{RUN}:best", "same.md", "--trials", "1", "--margin", "0.2"]) == 5
    assert "\nverdict     do not ship: B is not better by 0.2, with 95% confidence (" in capsys.readouterr().out


def test_a_skill_that_is_not_worse_is_shipped_where_a_loss_is_allowed(demo_project: Path, capsys: Captured) -> None:
    text = Path(RUN, "best/everyday-tasks/SKILL.md").read_text()
    Path("same.md").write_text(text + "\nThank you.\n")
    words = ["compare", f"{RUN}:best", "same.md", "--trials", "1"]
    assert main([*words, "--allow-loss", "0.2"]) == 0
    assert re.search(
        r"\nverdict     ship: B is not worse by 0\.2 or more, with 95% confidence \(-0\.\d{3} at least\)\n",
        capsys.readouterr().out,
    )
    assert main([*words, "--allow-loss", "0.001"]) == 4
    assert "\nverdict     inconclusive: B may be worse by 0.001 or more, or not (-" in capsys.readouterr().out


def test_a_larger_loss_than_is_allowed_is_not_shipped_also_as_json(demo_project: Path, capsys: Captured) -> None:
    words = ["compare", f"{RUN}:best", f"{RUN}:initial", "--trials", "1", "--allow-loss", "0.1"]
    assert main(words) == 5
    assert "\nverdict     do not ship: B is worse by 0.1 or more, with 95% confidence (-" in capsys.readouterr().out
    assert main([*words, "--json"]) == 5
    result = Comparison.model_validate_json(capsys.readouterr().out)
    assert (result.verdict, result.margin) == ("do not ship", -0.1)


def test_another_skill_on_the_test_split_of_a_run_is_told_that_it_was_opened_before(
    demo_project: Path, capsys: Captured
) -> None:
    Path("other.md").write_text("Other.\n")
    first = ["compare", f"{RUN}:initial", f"{RUN}:best", "--trials", "1"]
    main(first)
    assert "test split" not in "".join(capsys.readouterr())
    again = ["compare", f"{RUN}:best", "other.md", "--trials", "1"]
    main(again)
    captured = capsys.readouterr()
    assert (
        "\ntest split  scored 2 times in this run: a skill that is chosen by these scores has no unseen test left\n"
        in captured.out
    )
    assert "warning: skills were already scored on the test split of run 'demo', once: a skill" in captured.err
    main(first)
    assert "test split" not in "".join(capsys.readouterr())
    main(["evaluate", "demo/etude.yaml", "--skill", "other.md", "--run.folder", "demo/runs"])
    assert (
        "\ntest    scored 2 times in this run: a skill that is chosen by these scores has no unseen test left\n"
        in capsys.readouterr().out
    )


def test_the_number_of_trials_is_that_of_the_function() -> None:
    assert find_verb("compare").parse(["a", "b"]).trials == TRIALS


def test_settings_of_the_run_can_be_changed_by_flags(demo_project: Path, capsys: Captured) -> None:
    words = ["compare", f"{RUN}:initial", f"{RUN}:best", "--run.name", "other", "--env.limit={test: 5}", "--json"]
    main(words)
    assert json.loads(capsys.readouterr().out)["file"].startswith("demo/runs/other/comparisons/")


def test_voids_are_counted(here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("voids_for_compare.py").write_text(
        "from etude import Environment, Task\n"
        "class Env(Environment):\n"
        "    @classmethod\n    def from_options(cls, *a, **k):\n        return cls()\n"
        "    def tasks(self, split):\n"
        "        return [Task(id=f'{split}{n}', input=f'{split} {n}') for n in range(4)]\n"
        "    def score(self, task, trajectory):\n"
        "        if task.id == 'test0':\n            raise ValueError('broken')\n"
        "        return 0.5\n"
    )
    monkeypatch.syspath_prepend(str(here))
    Path("c.yaml").write_text("env: {name: 'voids_for_compare:Env'}\nlimits: {max_void_eval: 0.5}\n")
    trust("c.yaml")
    for name in ("a", "b"):
        Path(f"{name}.md").write_text(name)
    assert main(["compare", "a.md", "b.md", "c.yaml", "--trials", "1"]) == 5
    out = capsys.readouterr().out
    assert "\nverdict     do not ship, on just these tasks: B scores no more than A\n" in out
    assert "tasks       0 better, 0 worse, 3 equal\nerrors      2 attempts errored; their tasks are compared " in out


def test_a_stop_names_the_command_that_goes_on(fresh_project: Path, capsys: Captured) -> None:
    Path("other.md").write_text("Other.\n")
    words = ["compare", "other.md", "demo/skills/everyday-tasks", "demo/etude.yaml", "--limits.calls", "5"]
    assert main(words) == 3
    assert capsys.readouterr().err.endswith(f"\nresume (with a larger --limits.calls): etude {' '.join(words)}\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["a", "b", "--margin", "0.1", "--allow-loss", "0.1"], "--allow-loss: not allowed with argument --ma"),
        (["a", "b", "--margin", "1"], "--margin: '1' is not a number from 0 to below 1\n"),
    ],
)
def test_a_bar_out_of_range_is_an_error(words: list[str], error: str, here: Path, capsys: Captured) -> None:
    assert main(["compare", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {error}")
