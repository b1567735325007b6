"""SIGTERM and SIGKILL: what a run with agent programs leaves on the machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import forked

DEADLINE = 60
PROGRAM = "import pathlib, time; pathlib.Path('began').touch(); time.sleep(600)"


def folders(place: Path) -> list[Path]:
    return sorted(place.glob("etude-*"))


def living(token: str) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where temporary files go."""
    return tmp_path_factory.mktemp("t")


@pytest.fixture
def busy(fresh_project: Path, scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """`evaluate`, with attempts under way by a program that takes ten minutes."""
    Path("program.py").write_text(PROGRAM)
    words = ["evaluate", "demo/etude.yaml", "--agent.name", "command", "--limits.concurrency", "2"]
    words += ["--agent.command", f"[{sys.executable}, program.py]", "--agent.env.TOKEN", scratch.name]
    env = {**os.environ, "TMPDIR": str(scratch)}
    with forked(words, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and not list(scratch.glob("etude-*/work/began")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        yield process
        process.kill()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_sigterm_ends_programs_first_and_leaves_no_folder(busy: subprocess.Popen[str], scratch: Path) -> None:
    token = f"TOKEN={scratch.name}"
    assert folders(scratch)
    assert living(token)
    busy.send_signal(signal.SIGTERM)
    _, err = busy.communicate(timeout=DEADLINE)
    assert living(token) == []
    assert busy.returncode == 130
    assert "error: stopped at once; the calls that were in flight are lost and will be made again" in err
    assert folders(scratch) == []


@pytest.mark.slow
def test_what_sigkill_leaves_is_gone_after_the_next_start(busy: subprocess.Popen[str], scratch: Path) -> None:
    busy.kill()
    busy.communicate(timeout=DEADLINE)
    left = folders(scratch)
    assert left
    for folder in left:
        os.utime(folder, (1, 1))
    code = "from etude.sandbox import find_sandbox; find_sandbox(unsafe=True)"
    end = time.monotonic() + DEADLINE
    while folders(scratch) and time.monotonic() < end:  # its programs are ended after it
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(scratch)}, check=True)
    assert folders(scratch) == []
