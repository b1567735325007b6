"""Nights that nobody watches: they wait for the network, and tell of their end."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_said import Captured, said
from small_night import Small

from at_terminal import at_a_terminal
from etude.cli.main import main
from etude.cli.sleep.unattended import WAITS, patiently
from etude.cli.terminal.news import news_folder
from etude.errors import OutageStop, RejectedRole, TransientError
from etude.records import ChatRequest


def failing(times: int, *, silent: bool = True) -> Callable[[], int]:
    """Work that is done after so many outages, and says how often it was tried."""
    tried: list[int] = []

    def work() -> int:
        tried.append(1)
        if len(tried) <= times:
            raise OutageStop("the model does not answer", silent=silent)
        return len(tried)

    return work


def test_a_night_without_a_network_waits_longer_each_time_and_goes_on_once_there_is_one() -> None:
    slept: list[float] = []
    assert patiently(failing(3), slept.append) == 4
    assert slept == [300, 600, 1200]


def test_it_gives_up_after_some_hours_and_at_once_where_a_model_refuses() -> None:
    slept: list[float] = []
    with pytest.raises(OutageStop):
        patiently(failing(99), slept.append)
    assert len(slept) == len(WAITS)
    assert 6 * 3600 <= sum(slept) <= 7 * 3600
    slept.clear()
    with pytest.raises(OutageStop):
        patiently(failing(99, silent=False), slept.append)
    assert slept == []


@pytest.mark.parametrize(
    ("failure", "silent"), [(TransientError("no route", unreachable=True), True), (RejectedRole("wrong key"), False)]
)
def test_only_a_model_that_cannot_be_reached_is_worth_waiting_for(
    tmp_path: Path, failure: Exception, silent: bool
) -> None:
    small = Small(tmp_path, n=1)

    def fail(request: ChatRequest) -> None:
        raise failure

    small.before = fail
    with pytest.raises(OutageStop) as caught:
        small.night(limits={"outage_seconds": 0.1})
    assert caught.value.silent is silent
    assert small.ledger() == {}


def test_a_proposal_is_told_of_once_at_the_next_command(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "run", "--unattended")
    words = "Night 1 proposes 1 new rule. Nothing changes before you say so. See: "
    assert main(["sleep", "status", "--json"]) == 0
    assert "note:" not in capsys.readouterr().err  # nobody is at a terminal
    line = f"note: {words}cd {sleeper.project} && etude sleep show"
    shown = [at_a_terminal(words, []) for words in (["sleep", "status", "--json"], ["--version"], ["--version"])]
    assert [line in one for one in shown] == [False, True, False]
    said(capsys, "run", "--unattended")
    assert list(news_folder().iterdir()) == []  # nothing to do: nothing to tell


def test_a_night_that_failed_is_told_of_without_a_word_of_why(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "run", "--unattended", "--limits.calls", "5", code=3)
    Path("sleep.yaml").write_text("secret: words")
    assert main(["sleep", "run", "--unattended"]) == 2
    (news,) = news_folder().iterdir()
    assert news.read_text() == f"A night stopped before its end. See: cd {sleeper.project} && etude sleep status"
    assert news.stat().st_mode & 0o777 == 0o600
