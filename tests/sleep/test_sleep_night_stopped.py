"""Nights that are stopped, and what the next one makes of them."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_night import MODELS, Counted, Kept, Small, run_night, tree

from etude import workbench
from etude.config import LimitsSection
from etude.errors import BudgetStop, Interrupted, OutageStop, RejectedRequest, RejectedRole, StopRun
from etude.programs.trouble import after_reset
from etude.records import ChatRequest, Reply
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults
from etude.sleep.improve.changes import Spent
from etude.sleep.limits import of_the_night
from etude.sleep.report import NightReport
from etude.workbench import StopSwitch

DIFFER = ("journal.db", "events.jsonl", "summary.json", "night.json", "mine", "ledger.json", ".lock", "config.yaml")


def queued(small: Small) -> bool:
    return set(small.ledger().values()) == {"queued"}


def die_after(small: Small, answers: int) -> None:
    """From then on the models are refused."""

    def before(request: ChatRequest) -> None:
        del request
        if small.answered >= answers:
            raise RejectedRole("401: no such key", hint="set the key")

    small.before = before


def live(small: Small) -> None:
    small.before = lambda request: None


def test_a_budget_stops_a_night_and_a_larger_one_leads_to_the_same_result(tmp_path: Path) -> None:
    small, calls = Small(tmp_path), 21
    with pytest.raises(BudgetStop) as stop:
        small.night(limits={"calls": calls, "concurrency": 1})
    assert (stop.value.exit_code, small.answered) == (3, calls)
    report = small.report()
    assert stop.value.summary == report
    assert (report.status, report.resumes, report.spent.calls) == ("error", True, calls)
    assert f"limits.calls = {calls}" in report.reason
    assert queued(small) or not small.ledger()
    assert not report.proposal
    again = small.night()
    assert (again.night, again.status) == (1, "proposed")
    assert set(small.ledger().values()) == {"used"}
    for asked in (small.target.answered, small.optimizer.answered):
        # Nothing is asked twice. The target is asked the same for each attempt; only its seed tells them apart.
        known = [text for text in asked if not text.startswith("Reply with the word OK.")]
        assert asked is small.target.answered or len(known) == len(set(known))
    left = tree(small.state.night(1), without=DIFFER)
    small.base.rename(tmp_path / "first")
    assert small.night().status == "proposed"
    assert tree(small.state.night(1), without=DIFFER) == left


def test_the_cap_on_calls_holds_over_mining_skill_and_memory(tmp_path: Path) -> None:
    sleep = {"memory": True, "val_fraction": 0.3, "confirm_trials": 0}
    with running_endpoint(faults=Faults(server_error=0.1)) as endpoint:
        small = Small(tmp_path, n=5)
        settings: dict[str, Any] = {
            role: {"model": f"openai:{name}", "base_url": endpoint.url, "api_key_env": "NO_SUCH_KEY"}
            for role, name in MODELS.items()
        }
        config = small.config(sleep, **settings, limits={"calls": 24, "concurrency": 16})
        with pytest.raises(BudgetStop):
            run_night(config, small.around)
        asked = endpoint.stats()["received"]
        assert 18 < asked <= 24
        assert small.report().spent.calls == asked
        report = run_night(small.config(sleep, **settings), small.around)
        assert report.status == "proposed"
        assert report.spent.calls == endpoint.stats()["received"]


def stopped(small: Small, answers: int = 18, sleep: dict[str, Any] | None = None) -> NightReport:
    """A night that ends when the models have given so many answers."""
    die_after(small, answers)
    with pytest.raises(StopRun):
        small.night(sleep)
    live(small)
    return small.report()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    small = Small(tmp_path_factory.mktemp("stopped") / "now")
    assert stopped(small).resumes
    return Kept(small)


@pytest.fixture
def halted(kept: Kept) -> Small:
    """After a night that was stopped on the way."""
    return kept.again()


def test_settings_that_changed_since_begin_a_new_night(halted: Small) -> None:
    small = halted
    report = small.night(train={"epochs": 2})
    assert report.night == 2
    assert report.sessions == {"claude-code": 5}
    old = small.report()
    assert (old.status, old.resumes) == ("error", False)
    assert (old.reason, old.hint) == ("night 1 began with other settings: train.epochs", "a new night begins")


def test_settings_that_decide_nothing_any_more_may_change(halted: Small) -> None:
    report = halted.night({"sources": ["codex"], "lookback_hours": 1.0}, limits={"concurrency": 4})
    assert (report.night, report.status) == (1, "proposed")
    assert report.sessions == {"claude-code": 5}


def test_documents_that_changed_since_begin_a_new_night(halted: Small) -> None:
    small, path = halted, halted.skill
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: learned\ndescription: By hand.\n---\n\nUse spaces.\n")
    report = small.night()
    assert (report.night, report.status) == (2, "proposed")
    old = small.report()
    assert (old.status, old.resumes) == ("error", False)
    assert set(small.ledger().values()) == {"used"}


def test_a_dead_model_stops_the_night_before_anything_is_read(small: Small) -> None:
    report = stopped(small, 0)
    assert (report.status, report.sessions, report.tasks) == ("error", {}, {})
    assert "401: no such key" in report.reason
    assert report.hint == "set the key"
    assert small.ledger() == {}
    again = small.night()
    assert (again.night, again.status, again.reason, again.hint) == (1, "proposed", "", "")


def test_a_model_that_refuses_to_be_asked_is_named_with_its_role(small: Small) -> None:
    def before(request: ChatRequest) -> None:
        if small.target.answered:
            raise RejectedRequest("400: no such parameter")

    small.before = before
    with pytest.raises(OutageStop) as stop:
        small.night()
    assert stop.value.message == "optimizer: 400: no such parameter"
    assert stop.value.hint == "fix the cause and run the same command again"
    assert small.ledger() == {}


def test_a_model_that_says_nothing_is_as_good_as_none(small: Small) -> None:
    class Silent(Counted):
        async def complete(self, request: ChatRequest) -> Reply:
            return (await super().complete(request)).model_copy(update={"text": " "})

    with pytest.raises(OutageStop) as stop:
        small.night(given={"target": Silent(MODELS["target"], lambda request: None)})
    assert stop.value.message == "target: simulated:target-steady replies with nothing"


def test_minutes_are_those_of_the_whole_night(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(workbench, "time", SimpleNamespace(monotonic=lambda: now[0]))
    switch = StopSwitch()
    switch.allow(2.0)
    now[0] = 119.9
    switch.check()
    now[0] = 120.0
    with pytest.raises(BudgetStop) as stop:
        switch.check()
    assert stop.value.message == "limits.minutes = 2 is reached: nothing more is sent"
    switch.allow(None)
    switch.check()
    switch.stop()
    with pytest.raises(Interrupted):
        switch.check()


def test_a_night_out_of_minutes_stops_and_goes_on(small: Small) -> None:
    with pytest.raises(BudgetStop, match="1e-06 is reached"):
        small.night(limits={"minutes": 0.000001})
    assert small.answered == 0
    assert small.report().resumes


def test_a_limit_of_money_or_tokens_is_reported_as_it_was_set() -> None:
    limits = LimitsSection(usd=2.5, tokens=12_000)
    spent = Spent(calls=3, tokens=11_000, usd=2.25)
    part = BudgetStop(
        "limits.usd = 0.3 is reached: 0.1 used and 0.1 reserved, the next request (judge) needs up to 0.2",
        hint="h",
        limit="usd",
    )
    found = of_the_night(part, limits, spent)
    assert found.message == "limits.usd = 2.5 is reached: 2.25 used in this night"
    assert found.hint == "raise `limits.usd` and run the same command again"
    unknown = of_the_night(part, limits, spent.model_copy(update={"usd": None}))
    assert "an unknown sum used in this night" in unknown.message
    gone = BudgetStop("limits.tokens = 7 is used up", hint="h", limit="tokens")
    assert of_the_night(gone, limits, spent).message == "limits.tokens = 12,000 is reached: 11,000 used in this night"
    other = BudgetStop("limits.usd = 2 cannot be kept: the price is unknown", hint="h")
    assert of_the_night(other, limits, spent) is other


def test_a_plan_that_is_used_up_ends_the_night_at_once_and_says_when_it_goes_on(small: Small) -> None:
    def used_up(request: ChatRequest) -> None:
        said = "You've hit your usage limit: try again in 3 hours"
        raise RejectedRole(said, hint=after_reset(said, small.around.now()))

    small.before = used_up
    with pytest.raises(OutageStop) as stop:
        small.night()
    at = small.around.now() + timedelta(hours=3)
    assert stop.value.hint.startswith(f"it goes on from {at:%Y-%m-%d %H:%M} (UTC)")
    assert (small.answered, small.report().hint, stop.value.silent) == (0, stop.value.hint, False)
