"""What a night comes to, told beforehand."""

from typing import Any

import pytest

from etude.envs.scorers.checks import Check
from etude.records import Split
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.forecast import forecast_night
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.sessions import Session, Turn

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


def test_nothing_to_do_costs_no_more_than_asking_whether_the_models_are_there() -> None:
    found = forecast_night(config(), [], None, 100)
    assert (found.sessions, found.tasks.high) == (0, 0)
    assert (found.target_calls.high, found.optimizer_calls.high, found.judge_calls.high) == (1, 1, 1)
    assert found.tokens.high <= 3 * 350
    assert found.tokens == forecast_night(config(), [], None, 100_000).tokens
    assert found.assumptions == ("each model is only asked whether it is there",)


def test_more_sessions_are_more_tasks_up_to_the_limit() -> None:
    found = forecast_night(config(), SESSIONS, None, 100)
    assert (found.sessions, found.tasks.low, found.tasks.high) == (10, 3, 15)
    few = forecast_night(config({"max_tasks": 5}), SESSIONS, None, 100)
    assert few.tasks.high == 5
    assert few.target_calls.high < found.target_calls.high
    assert found.assumptions[0] == "a session gives 0.3 to 1.5 tasks"


@pytest.mark.parametrize("more", [{"dream": 2}, {"confirm_trials": 9}, {"val_fraction": 0.5}])
def test_what_is_asked_for_beyond_the_usual_is_counted(more: dict[str, Any]) -> None:
    plain, found = (forecast_night(config(sleep), SESSIONS, None, 100) for sleep in ({}, more))
    assert found.target_calls.high != plain.target_calls.high
    if "dream" in more:
        assert found.optimizer_calls.high > plain.optimizer_calls.high


def test_two_documents_are_twice_the_attempts_of_one() -> None:
    both, one = (forecast_night(config({"memory": memory}), SESSIONS, None, 100) for memory in (True, False))
    assert both.target_calls.high - 1 == 2 * (one.target_calls.high - 1)


def test_the_tasks_of_a_file_are_counted_as_they_are() -> None:
    tasks = file("train", "train", "val", "test", "test", "test")
    found = forecast_night(config({"tasks": "t.json", "dream": 3}), [], tasks, 100)
    assert (found.tasks.low, found.tasks.high) == (6, 6)
    more = forecast_night(config({"tasks": "t.json"}), [], file("train", "train", "val"), 100)
    # Each test task is attempted once, at the end.
    assert found.target_calls.high == more.target_calls.high + 3
    assert found.optimizer_calls == more.optimizer_calls
    assert found.assumptions[0] == "the tasks of the file"


def test_a_file_without_training_tasks_comes_to_nothing() -> None:
    assert forecast_night(config({"tasks": "t.json"}), [], file("val", "val"), 100).target_calls.high == 1


def test_long_documents_and_long_transcripts_are_more_tokens() -> None:
    short = forecast_night(config(), SESSIONS, None, 0)
    assert forecast_night(config(), SESSIONS, None, 40_000).tokens.low > short.tokens.low
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


def test_a_program_is_said_to_make_many_calls() -> None:
    found = forecast_night(config(agent={"name": "codex"}), SESSIONS, None, 100)
    assert found.assumptions[1] == "an attempt of a program is many calls"


def test_without_held_out_tasks_there_is_one_epoch() -> None:
    many, one = (
        forecast_night(config({"val_fraction": 0.0}, train={"epochs": epochs}), SESSIONS, None, 100)
        for epochs in (8, 1)
    )
    assert many.target_calls == one.target_calls
    assert many.optimizer_calls == one.optimizer_calls
