"""What nights tell: rules with their ids, money that nobody knows, what waits, tasks that are of no use."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_said import Captured, data, said
from small_night import MODELS, Small

from etude.cli.main import main
from etude.cli.sleep.text import print_report
from etude.simulation.endpoint import running_endpoint
from etude.sleep.report import NightReport
from etude.sleep.tasks.probe import HOLLOW


def a_file(tasks: Sequence[dict[str, Any]]) -> None:
    file = {"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": tasks}
    Path("tasks.json").write_text(json.dumps(file))


def test_rules_have_their_ids_wherever_json_tells_of_them(one: Small, capsys: Captured) -> None:
    (rule,) = data(capsys, "show")["rules"]
    assert rule["document"] == ".claude/skills/learned/SKILL.md"
    assert "Key Risks" in rule["text"]
    assert any(line.endswith(f"[{rule['id']}]") for line in said(capsys, "show"))
    assert rule["state"] == "waits"
    adopted = data(capsys, "adopt")
    assert (adopted["rules"], adopted["night"], adopted["number"]) == ([rule["id"]], "0001", 1)
    assert adopted["documents"][0]["added"] == [rule["text"]]
    assert data(capsys, "revert", "--rule", rule["id"])["restored"] == [str(one.skill)]


def test_money_is_unknown_where_a_model_has_no_price(sleeper: Small, capsys: Captured) -> None:
    with running_endpoint() as endpoint:
        words = [
            f"--{role}.{key}={value}"
            for role, name in MODELS.items()
            for key, value in {"model": f"openai:{name}", "base_url": endpoint.url}.items()
        ]
        (spent,) = (line for line in said(capsys, "run", *words) if line.startswith("spent "))
    assert spent.endswith("tokens, unknown cost")
    assert data(capsys, "show")["spent"]["usd"] is None


def test_simulated_models_cost_nothing(one: Small, capsys: Captured) -> None:
    assert any(line.endswith(" tokens, 0.0000 USD") for line in said(capsys, "show"))


def test_sessions_that_no_night_has_looked_at_are_not_called_none(sleeper: Small, capsys: Captured) -> None:
    with running_endpoint(key="right") as endpoint:
        said(capsys, "run", "--target.model=openai:target", f"--target.base_url={endpoint.url}", code=1)
    assert "sessions  none looked at yet" in said(capsys, "status")


def test_tasks_that_a_night_can_do_nothing_with_are_seen_before_it(sleeper: Small, capsys: Captured) -> None:
    words = ("run", "--dry-run", "--sleep.tasks", "tasks.json")
    a_file([{"id": f"t{n}", "intent": f"Write about topic {n}.", "exact": ["x"], "split": "test"} for n in range(3)])
    assert "tasks      3 test" in said(capsys, *words)
    assert data(capsys, *words)["tasks"] == {"test": 3}


def test_settings_without_tasks_of_their_own_are_checked_as_those_of_a_night(
    sleeper: Small, capsys: Captured
) -> None:
    models = "".join(f"{role}: {{model: 'simulated:{name}'}}\n" for role, name in MODELS.items())
    Path("nightly.yaml").write_text(models)
    capsys.readouterr()
    main(["doctor", "nightly.yaml", "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["config"]["text"] == "nightly.yaml is valid for `etude sleep`"
    assert "data env" not in checks
    Path("etude.yaml").write_text(models)
    main(["doctor", "etude.yaml"])
    assert "`etude sleep`" not in capsys.readouterr().out


def test_a_night_whose_judge_grades_words_says_what_to_do(capsys: Captured) -> None:
    print_report(report(status="nothing to do", dropped={HOLLOW: 2}))
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index(f"dropped    {HOLLOW} (2)") + 1] == (
        "  hint: name another `judge`: it grades the words of a rubric, not the work"
    )
    assert lines[-2:] == ["next:", "  etude sleep show 1"]


def test_what_held_a_proposal_back_is_reported_only_while_it_waits(capsys: Captured) -> None:
    held = report(status="proposed", held_back=("the verdict is 'inconclusive'",))
    for stands, waits in (("proposed", True), ("adopted", False), ("reverted", False)):
        print_report(held, stands=stands)
        assert ("waits for a person: the verdict is 'inconclusive'" in capsys.readouterr().out) is waits


def report(**more: Any) -> NightReport:
    started = datetime(2026, 3, 2, tzinfo=UTC)
    return NightReport(**{"night": 1, "project": "/p", "started": started, "target": "t", "optimizer": "o", **more})


@pytest.mark.parametrize(
    ("words", "error"),
    [(("--sleep.skill=false", "--sleep.memory=false"), "with skill and memory off there is nothing to improve")],
)
def test_settings_that_do_not_fit_together_are_named_without_all_others(
    sleeper: Small, capsys: Captured, words: tuple[str, ...], error: str
) -> None:
    assert main(["sleep", "run", *words]) == 2
    assert capsys.readouterr().err == (
        f"error: sleep.yaml: sleep: {error}\nhint: change one of these settings of 'sleep'\n"
    )


def test_a_state_folder_that_cannot_be_used_is_named(sleeper: Small, capsys: Captured) -> None:
    sleeper.base.parent.mkdir(parents=True)
    sleeper.base.write_text("no folder")
    assert main(["sleep", "run"]) == 2
    error = capsys.readouterr().err
    assert str(sleeper.base) in error
    assert "Not a directory" in error
