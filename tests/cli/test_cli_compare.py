import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main
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
    assert lines[3] == f"difference  {interval}  paired, test n=30, share solved"
    assert re.fullmatch(
        r"verdict     ship, on tasks like these: B is better by \+0\.\d{3} or more, with 95% confidence", lines[4]
    )
    assert re.fullmatch(r" {12}on just these tasks: ship, luck alone would do as well in .+ of cases", lines[5])
    assert "test split" not in captured.out + captured.err
    events = [json.loads(line) for line in Path(RUN, "events.jsonl").read_text().splitlines()]
    last = max(number for number, event in enumerate(events) if event["kind"] == "stage_started")
    assert events[last]["total"] == 60
    assert "call_finished" not in {event["kind"] for event in events[last:]}


@pytest.mark.parametrize(
    ("words", "split", "said"),
    [
        (["compare", f"{RUN}:initial", f"{RUN}:best", "--trials", "1"], "train", True),
        (["compare", f"{RUN}:initial", f"{RUN}:best", "--trials", "1"], "val", True),
        (["compare", "none", f"{RUN}:initial", "--trials", "1"], "val", False),
        (["recheck", f"{RUN}:best", "--target", "simulated:target"], "val", True),
        (["recheck", f"{RUN}:best", "--target", "simulated:target"], "test", False),
    ],
)
def test_a_trained_skill_is_said_to_do_better_on_tasks_that_chose_its_lines(
    words: list[str], split: str, said: bool, demo_project: Path, capsys: Captured
) -> None:
    assert main([*words, "--split", split]) in (0, 4, 5)
    told = f"a trained skill does better on {split} tasks than on others"
    assert (told in capsys.readouterr().err) is said


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


def test_the_exit_code_is_that_of_the_verdict_which_a_margin_or_an_allowed_loss_moves(
    demo_project: Path, capsys: Captured
) -> None:
    Path("same.md").write_text(Path(RUN, "best/everyday-tasks/SKILL.md").read_text() + "\nThank you.\n")
    words = ["compare", f"{RUN}:best", "same.md", "--trials", "1"]
    few = [*words, "--env.limit={test: 5}"]
    for asked, code, said in (
        (few, 4, r"inconclusive, on tasks like these: B may be better, or not \(-"),
        (
            [*words, "--margin", "0.2"],
            5,
            r"do not ship, on tasks like these: B is not better by 0\.2, with 95% confidence \(",
        ),
        (
            [*words, "--allow-loss", "0.2"],
            0,
            r"ship, on tasks like these: B is not worse by 0\.2 or more, with 95% confidence \(-0\.\d{3} at least\)",
        ),
        (
            [*words, "--allow-loss", "0.001"],
            4,
            r"inconclusive, on tasks like these: B may be worse by 0\.001 or more, or not \(-",
        ),
    ):
        assert main(asked) == code
        out = capsys.readouterr().out
        assert re.search(rf"\nverdict     {said}", out)
        assert ("\nto settle   " in out) == (code == 4)
    assert main(["compare", "same.md", "same.md", "demo/etude.yaml", "--trials", "1"]) == 5
    assert "\nverdict     do not ship, on tasks like these: A and B are the same skill\n" in capsys.readouterr().out
    assert main([*few, "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["settle"]["note"]


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


@pytest.mark.parametrize("arm", [f"{RUN}:best", "exported/everyday-tasks"])
def test_tasks_that_have_chosen_lines_are_no_test_tasks_whatever_the_split_is_called(
    demo_project: Path, capsys: Captured, arm: str
) -> None:
    assert main(["export", RUN, "--to", "exported"]) == 0
    assert (
        main(
            [
                "compare",
                "none",
                arm,
                "demo/etude.yaml",
                "--env.test",
                "demo/data/train.jsonl",
                "--env.train",
                "demo/data/test.jsonl",
            ]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert "have chosen lines of a skill that is compared" in error
    assert "hint: compare on tasks that no training has seen" in error
