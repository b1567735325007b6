"""Regular expressions with a limit on the time they compute."""

import os
import signal

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


def test_a_process_that_is_never_let_run_is_broken_and_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_regex, "_WAIT_SECONDS", 0.1)
    matcher = Matcher(0.02)
    stopped(matcher)
    with pytest.raises(ChildProcessError, match="the process that matches regular expressions died"):
        matcher.matches("b$", "ab")
    assert matcher.matches("b$", "ab")
