"""What a night comes to, told beforehand."""

from pathlib import Path
from typing import Any

from small_night import Counted, Small

from etude.envs.scorers.checks import Check
from etude.records import Split
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.forecast import NightForecast, forecast_night
from etude.sleep.tasks.gather import gleaned, sources_of
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sessions import Session, Turn
from rows import rows

SESSIONS = [Session(source="codex", id=f"s{n}", turns=(Turn(prompt="x" * 4_000, answer="y"),)) for n in range(10)]


def config(sleep: dict[str, Any] | None = None, **more: Any) -> SleepConfig:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    return make_sleep_config({**models, "sleep": sleep or {}, **more})


def file(*splits: Split) -> list[MinedTask]:
    checks = (Check(op="min_chars", arg=1, requirement="says something"),)
    return [
        MinedTask(id=f"t{n}", intent=f"Do the thing {n}.", checks=checks, split=split)
        for n, split in enumerate(splits)
    ]


def ahead(small: Small, sleep: dict[str, Any]) -> NightForecast:
    settings = small.config(sleep)
    with Ledger(small.state.ledger, read_only=True) as ledger:
        found = gleaned(settings, small.around, ledger, sources_of(settings))
    return forecast_night(settings, [each.session for each in found.sessions], None)


def calls(sleep: dict[str, Any]) -> int:
    found = forecast_night(config(sleep), SESSIONS, None).calls
    assert found is not None
    return found


def test_nights_that_find_much_little_or_nothing_make_no_more_calls_than_was_said(tmp_path: Path) -> None:
    for number, (optimizer, n, memory) in enumerate(
        [("optimizer-perfect", 4, True), ("optimizer", 12, True), ("optimizer-useless", 6, False)]
    ):
        small = Small(tmp_path / str(number), n=n)
        small.target, small.optimizer = (Counted(name, lambda request: None) for name in ("target-steady", optimizer))
        found, spent = ahead(small, {"memory": memory}), small.night({"memory": memory}).spent
        assert spent.calls <= (found.calls or 0), (optimizer, n, found, spent)


def test_nothing_to_do_costs_no_more_than_asking_whether_the_models_are_there() -> None:
    assert forecast_night(config(), [], None) == NightForecast(sessions=0, attempts=0, calls=2)
    assert forecast_night(config(judge={"model": "simulated:judge"}), [], None).calls == 3


def test_more_sessions_are_more_calls_up_to_the_limit_of_tasks() -> None:
    found = forecast_night(config(), SESSIONS, None)
    assert found.sessions == 10
    assert calls({"max_tasks": 5}) < calls({})
    long = [one.model_copy(update={"turns": one.turns * 9}) for one in SESSIONS]
    assert forecast_night(config(), long, None).attempts > found.attempts


@rows("more", [{"dream": 2}, {"confirm_trials": 9}, {"retire": 3}])
def test_what_is_asked_for_beyond_the_usual_is_counted(more: dict[str, Any]) -> None:
    assert calls(more) > calls({})


def test_a_second_document_is_more_calls() -> None:
    assert calls({"memory": True}) > calls({"memory": False})


def test_the_tasks_of_a_file_are_counted_as_they_are() -> None:
    settings = config({"tasks": "t.json", "dream": 3})
    found = forecast_night(settings, [], file("train", "train", "val", "test", "test", "test"))
    less = forecast_night(settings, [], file("train", "train", "val"))
    # Each test task is attempted once, at the end, and may be judged.
    assert found.attempts == less.attempts + 3
    assert (found.calls or 0) == (less.calls or 0) + 6


def test_a_file_without_training_tasks_comes_to_nothing() -> None:
    assert forecast_night(config({"tasks": "t.json"}), [], file("val", "val")).calls == 2


@rows(
    ("agent", "limits", "most"),
    [("chat", {"calls": 30}, 30), ("codex", {"calls": 30}, 30), ("codex", {}, None), ("codex", {"tokens": 9}, None)],
)
def test_no_more_is_foretold_than_the_limits_allow_and_an_attempt_of_a_program_is_many_calls(
    agent: str, limits: dict[str, int], most: int | None
) -> None:
    assert forecast_night(config(agent={"name": agent}, limits=limits), SESSIONS, None).calls == most
