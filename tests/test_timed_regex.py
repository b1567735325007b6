"""Regular expressions with a limit on the time they compute."""

import os
import signal
import threading

import pytest

from etude import timed_regex
from etude.timed_regex import Matcher


def stopped(matcher: Matcher) -> int:
    """The process of a matcher, which the system does not let run."""
    assert matcher.matches("a", "a")
    assert matcher._process is not None
    os.kill(matcher._process.pid, signal.SIGSTOP)
    return matcher._process.pid


def test_a_match_that_computes_too_long_is_a_timeout_and_the_next_one_works() -> None:
    matcher = Matcher(0.2)
    with pytest.raises(TimeoutError, match=r"no result after 0\.2 s; simplify"):
        matcher.matches("(a+)+$", "a" * 60 + "!")
    assert matcher.groups("(a)b", "ab ab") == ["a", "a"]


def test_time_in_which_the_process_is_not_let_run_does_not_count() -> None:
    matcher = Matcher(0.2)
    process = stopped(matcher)
    go_on = threading.Timer(1.0, os.kill, (process, signal.SIGCONT))
    go_on.start()
    assert matcher.matches("b$", "ab")
    go_on.join()


def test_a_process_that_is_never_let_run_is_broken_and_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_regex, "_WAIT_SECONDS", 0.1)
    matcher = Matcher(0.02)
    stopped(matcher)
    with pytest.raises(ChildProcessError, match="the process that matches regular expressions died"):
        matcher.matches("b$", "ab")
    assert matcher.matches("b$", "ab")
