"""Code in C that does not let Python go on is ended all the same."""

import contextlib
import os
import pty
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_cli_before_a_run import last_words, start, write

from etude.cli.terminal.unheard import ended_if_unheard
from forked import as_copy
from rows import few
from trusting import trust

DEADLINE = 60


def hold() -> None:
    """Keep the interpreter for very long."""
    sum(range(10**14))


def press(later: float, *, times: int = 1) -> None:
    """Have signals arrive after a while, as those of a terminal do."""
    process = os.getpid()
    if os.fork() == 0:
        for _ in range(times):
            time.sleep(later)
            os.kill(process, signal.SIGINT)
        os._exit(0)


def in_the_main_thread() -> int:
    with ended_if_unheard(0.5):
        press(0.3, times=3)
        hold()
    return 0


def in_another_thread() -> int:
    with ended_if_unheard(0.5):
        press(0.3)
        threading.Thread(target=hold, daemon=True).start()
        time.sleep(600)
    return 0


def heard_each_time() -> int:
    with ended_if_unheard(0.5) as heard:
        signal.signal(signal.SIGINT, lambda *_: heard())
        press(0.2, times=2)
        time.sleep(2)
    return 7


def others_are_none_of_its_business() -> int:
    with ended_if_unheard(0.5):
        signal.signal(signal.SIGUSR2, lambda *_: None)
        os.kill(os.getpid(), signal.SIGUSR2)
        signal.signal(signal.SIGTERM, lambda *_: None)
        copy = os.fork()
        if copy == 0:
            time.sleep(2)
            os._exit(0)
        time.sleep(0.2)
        os.kill(copy, signal.SIGTERM)
        os.waitpid(copy, 0)
    return 7


def ended(work: Callable[[], int]) -> tuple[int, str]:
    done = subprocess.run(["copy"], **as_copy(work), stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    return done.returncode, done.stderr


@pytest.mark.parametrize("work", [in_the_main_thread, in_another_thread])
def test_who_does_not_hear_a_signal_is_ended_and_said_where(work: Callable[[], int]) -> None:
    code, said = ended(work)
    assert code == -signal.SIGKILL
    assert "in hold\n" in said
    assert said.endswith(
        "error: ended by force, since code in C did not let Python go on: see above where\n"
        "hint: run the same command again to resume\n"
    )


def test_a_terminal_has_its_cursor_again() -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(["copy"], **as_copy(in_the_main_thread), stderr=slave) as process:
        os.close(slave)
        said = b""
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while more := os.read(master, 4096):
                said += more
    os.close(master)
    assert process.returncode == -signal.SIGKILL
    assert b"\x1b[?25herror: ended by force" in said


@pytest.mark.parametrize("work", [heard_each_time, others_are_none_of_its_business])
def test_who_hears_it_goes_on_and_other_signals_and_those_of_a_copy_do_not_count(work: Callable[[], int]) -> None:
    assert ended(work) == (7, "")


VERBS = [("train", signal.SIGINT), ("train", signal.SIGTERM), ("doctor", signal.SIGINT)]


@pytest.mark.parametrize(("verb", "number"), few(VERBS))
def test_a_verb_whose_tasks_hold_the_interpreter_is_ended(verb: str, number: signal.Signals, here: Path) -> None:
    write("made", here)
    holds = (here / "own.py").read_text().replace("time.sleep(1)", "import re; re.match('(a+)+$', 'a' * 60 + 'b')")
    (here / "own.py").write_text(holds)
    trust()
    with start(verb, here) as process:
        process.send_signal(number)
        said = last_words(process, DEADLINE)
    assert process.returncode == -signal.SIGKILL
    assert f'File "{here / "own.py"}", line 7 in hang' in said
