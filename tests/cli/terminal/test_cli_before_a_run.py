"""What comes before a run may hang: it is ended by whoever waits for it, and says what it waits for."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from forked import forked
from rows import few
from trusting import trust

DEADLINE = 30
MODELS = "target: {model: 'simulated:target'}\noptimizer: {model: 'simulated:optimizer'}\n"
HANG = """
import signal, time
from pathlib import Path
def hang():
    Path("began").touch()
    while True:
        time.sleep(1)
"""
OWN = f"""{HANG}
from etude.envs import ListEnvironment
class Own(ListEnvironment):
    @classmethod
    def from_options(cls, options, where, judge):
        {{made}}
        rows = [{{{{"input": str(number), "gold": str(number)}}}} for number in range(9)]
        return cls(rows[:3], rows[3:6], rows[6:], scorer="exact")
    def tasks(self, split):
        {{listed}}
        return super().tasks(split)
    def score(self, task, trajectory):
        {{scored}}
        return super().score(task, trajectory)
"""
FOREIGN = f"""{HANG}
from etude_annexes.foreign.environment import ForeignEnvironment
class Own(ForeignEnvironment):
    name, package, script = "own", "own", {{script!r}}
"""
RUNNER = f"{HANG}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nPath({{began!r}}).touch()\nhang()\n"
PLACES = {
    "made": "making the environment",
    "listed": "listing its tasks",
    "scored": "scoring",
    "foreign": "a package",
}


def write(place: str, here: Path) -> None:
    """A project that hangs there."""
    if place == "foreign":
        (here / "runner.py").write_text(RUNNER.format(began=str(here / "began")))
        (here / "own.py").write_text(FOREIGN.format(script=str(here / "runner.py")))
        options = f", task: x, unsafe_no_sandbox: true, own_sandbox: true, readable: ['{here}']"
    else:
        stops = dict.fromkeys(("made", "listed", "scored"), "pass") | {place: "hang()"}
        (here / "own.py").write_text(OWN.format(**stops))
        options = ""
    (here / "etude.yaml").write_text(f"env: {{name: 'own:Own'{options}}}\n{MODELS}")
    trust()


def start(verb: str, here: Path) -> subprocess.Popen[str]:
    process = forked([verb, "etude.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + DEADLINE
    while not (here / "began").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return process


def last_words(process: subprocess.Popen[str], deadline: float = DEADLINE) -> str:
    """What a process writes to stderr until it ends."""
    try:
        return process.communicate(timeout=deadline)[1]
    finally:
        process.kill()


SIGNALS = [
    *(("train", signal.SIGINT, place) for place in PLACES),
    ("train", signal.SIGTERM, "foreign"),
    ("doctor", signal.SIGINT, "made"),
]


def living(program: Path) -> list[str]:
    """Processes that run it, where /proc tells."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found += [folder.name] if os.fsencode(program) in (folder / "cmdline").read_bytes() else []
        except OSError:
            continue
    return found


@pytest.mark.parametrize(("verb", "number", "place"), few(SIGNALS, *SIGNALS[2:5:2]))
def test_one_signal_ends_it(verb: str, number: signal.Signals, place: str, here: Path) -> None:
    write(place, here)
    with start(verb, here) as process:
        process.send_signal(number)
        said = last_words(process)
    assert process.returncode == 130
    assert "error: " in said
    assert "Traceback" not in said
    assert not (here / "runs").exists()
    assert living(here / "runner.py") == []


AGENT = f"""{HANG}
class Own:
    attempt = fingerprint = print
    @classmethod
    def from_options(cls, options, target, prompts, where):
        hang()
"""


@pytest.mark.parametrize("number", few([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_what_does_not_let_the_run_go_on_is_named_and_ended(number: signal.Signals, here: Path) -> None:
    (here / "own.py").write_text(AGENT)
    rows = "".join(f'{{"input": "{each}", "gold": "{each}"}}\n' for each in range(12))
    (here / "rows.jsonl").write_text(rows)
    env = "env: {path: rows.jsonl, scorer: exact}\n"
    (here / "etude.yaml").write_text(f"{env}agent: {{name: 'own:Own'}}\n{MODELS}")
    trust()
    named = f"hang ({here / 'own.py'}:7)"
    with start("train", here) as process:
        assert process.stderr is not None
        process.send_signal(number)
        if number == signal.SIGINT:
            assert f"waiting for {named}; press Ctrl-C again to stop it there" in process.stderr.readline()
            process.send_signal(number)
        said = last_words(process)
    assert process.returncode == 130
    assert f"error: stopped at once, in {named}, which did not let the run go on" in said
    assert "Traceback" not in said
