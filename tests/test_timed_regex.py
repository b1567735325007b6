"""Regular expressions with a limit on the time they compute."""

import os
import signal
import subprocess
import sys

import pytest

from etude import timed_regex
from etude.timed_regex import Matcher


def stopped(matcher: Matcher) -> int:
    """The process of a matcher, which the system does not let run."""
    assert matcher.matches("a", "a")
    assert matcher._process is not None
    os.kill(matcher._process.pid, signal.SIGSTOP)
    return matcher._process.pid


def test_the_process_of_a_matcher_that_is_gone_is_the_next_ones_unless_it_has_ended() -> None:
    def process(matcher: Matcher) -> subprocess.Popen[str]:
        assert matcher.matches("b$", "ab")
        assert matcher._process is not None
        return matcher._process

    first, second = Matcher(0.2), Matcher(0.2)
    one, other = process(first), process(second)
    assert one is not other
    del first
    third = Matcher(0.2)
    assert process(third) is one
    one.kill()
    one.wait()
    del third
    assert process(Matcher(0.2)) is not one


def test_a_process_ends_with_the_one_that_started_it() -> None:
    code = "from etude.timed_regex import Matcher\n"
    code += "one, two = Matcher(1), Matcher(1)\n"
    code += "one.matches('a', 'a') and two.matches('a', 'a')\n"
    code += "pids = [each._process.pid for each in (one, two)]\ndel one\nprint(*pids)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


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
