"""What a night comes to, told beforehand."""

from pathlib import Path
from typing import Any

import pytest
from small_night import Counted, Small

from etude.envs.scorers.checks import Check
from etude.records import Split
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.forecast import NightForecast, forecast_night
from etude.sleep.improve.groups import opened_chars
from etude.sleep.tasks.gather import gleaned, sources_of
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sessions import Session, Turn
from rows import rows

SESSIONS = [Session(source="codex", id=f"s{n}", turns=(Turn(prompt="x" * 4_000, answer="y"),)) for n in range(10)]
PRICE = {"input": 1.0, "output": 10.0}


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
    return forecast_night(settings, [each.session for each in found.sessions], None, opened_chars(settings))


@rows("gap", ["structure", "verbose", "brain-first"])
def test_nights_that_find_much_little_or_nothing_use_no_more_and_no_less_than_was_said(
    tmp_path: Path, gap: str
) -> None:
    for number, (optimizer, n, memory) in enumerate(
        [("optimizer-perfect", 4, True), ("optimizer", 12, True), ("optimizer-useless", 6, False)]
    ):
        small = Small(tmp_path / str(number), gap=gap, n=n)
        small.target, small.optimizer = (Counted(name, lambda request: None) for name in ("target-steady", optimizer))
        found, spent = ahead(small, {"memory": memory}), small.night({"memory": memory}).spent
        assert found.calls.low <= spent.calls <= found.calls.high, (optimizer, n, found.calls, spent)
        assert found.tokens.low <= spent.tokens <= found.tokens.high, (optimizer, n, found.tokens, spent)


def test_nothing_to_do_costs_no_more_than_asking_whether_the_models_are_there() -> None:
    found = forecast_night(config(), [], None, 100)
    assert (found.sessions, found.calls.low, found.calls.high) == (0, 2, 2)
    assert found.tokens.high <= 2 * 350
    assert found.tokens == forecast_night(config(), [], None, 100_000).tokens
    assert found.assumptions == ("each model is only asked whether it is there",)
    judged = config(judge={"model": "simulated:judge"})
    assert forecast_night(judged, [], None, 100).calls.high == 3


def test_more_sessions_are_more_calls_up_to_the_limit_of_tasks() -> None:
    found = forecast_night(config(), SESSIONS, None, 100)
    few = forecast_night(config({"max_tasks": 5}), SESSIONS, None, 100)
    assert found.sessions == 10
    assert few.calls.high < found.calls.high
    long = [one.model_copy(update={"turns": one.turns * 9}) for one in SESSIONS]
    assert forecast_night(config(), long, None, 100).calls.high > found.calls.high
    assert found.calls.low == few.calls.low == 12  # a night that finds no task reads the sessions


@pytest.mark.parametrize("more", [{"dream": 2}, {"confirm_trials": 9}, {"retire": 3}])
def test_what_is_asked_for_beyond_the_usual_is_counted(more: dict[str, Any]) -> None:
    plain, found = (forecast_night(config(sleep), SESSIONS, None, 100) for sleep in ({}, more))
    assert found.calls.high > plain.calls.high


def test_a_second_document_is_more_calls_at_most_and_as_many_at_least() -> None:
    both, one = (forecast_night(config({"memory": memory}), SESSIONS, None, 100) for memory in (True, False))
    assert both.calls.high > one.calls.high
    assert both.calls.low == one.calls.low


def test_the_tasks_of_a_file_are_counted_as_they_are() -> None:
    settings = config({"tasks": "t.json", "dream": 3})
    found = forecast_night(settings, [], file("train", "train", "val", "test", "test", "test"), 100)
    more = forecast_night(settings, [], file("train", "train", "val"), 100)
    # Each test task is attempted once, at the end, and at most judged.
    assert (found.calls.low, found.calls.high) == (more.calls.low + 3, more.calls.high + 6)


def test_a_file_without_training_tasks_comes_to_nothing() -> None:
    assert forecast_night(config({"tasks": "t.json"}), [], file("val", "val"), 100).calls.high == 2


def test_long_documents_and_long_transcripts_are_more_tokens() -> None:
    short = forecast_night(config(), SESSIONS, None, 0)
    assert forecast_night(config(), SESSIONS, None, 40_000).tokens.high > short.tokens.high
    assert forecast_night(config(), SESSIONS[:3], None, 0).tokens.high < short.tokens.high
    assert 10 * 4_000 / 4 < short.tokens.low < short.tokens.high


def test_money_is_unknown_where_a_price_is() -> None:
    server = {"base_url": "http://127.0.0.1:9/v1"}
    unknown = config(target={"model": "openai:none-such", **server})
    assert forecast_night(unknown, SESSIONS, None, 100).usd is None
    known = config(target={"model": "openai:none-such", "price": PRICE, **server})
    usd = forecast_night(known, SESSIONS, None, 100).usd
    assert usd is not None
    assert 0 < usd.low < usd.high
    free = forecast_night(config(), SESSIONS, None, 100).usd
    assert free is not None
    assert free.high == 0


def test_no_more_is_foretold_than_the_limits_allow() -> None:
    found = forecast_night(config(limits={"calls": 30, "tokens": 50_000}), SESSIONS, None, 100)
    assert (found.calls.high, found.tokens.high) == (30, 50_000)


def test_a_program_is_said_to_make_many_calls() -> None:
    found = forecast_night(config(agent={"name": "codex"}), SESSIONS, None, 100)
    assert "an attempt of a program is many calls" in found.assumptions


def test_without_held_out_tasks_there_is_one_epoch() -> None:
    many, one = (
        forecast_night(config({"val_fraction": 0.0}, train={"epochs": epochs}), SESSIONS, None, 100)
        for epochs in (8, 1)
    )
    assert many.calls == one.calls
