"""The best sandbox that works is found by trying, and without any nothing runs."""

import os
import shutil
from pathlib import Path

import pytest
from sandbox_boxes import play, python, sandbox_named

from etude.errors import ConfigError
from etude.sandbox import find_sandbox
from etude.sandbox.bubblewrap import Bubblewrap
from etude.sandbox.find import choose, find_bubblewrap
from etude.sandbox.landlock import Landlock
from etude.sandbox.sandbox import Unsafe


def script(folder: Path, text: str) -> str:
    """A program of that text."""
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_bubblewrap_comes_first() -> None:
    sandbox_named("bubblewrap")
    assert find_sandbox().name == "bubblewrap"


def test_landlock_is_taken_where_bubblewrap_is_not_installed(monkeypatch, tmp_path) -> None:
    sandbox_named("landlock")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_bubblewrap() == "'bwrap' is not installed"
    assert isinstance(find_sandbox(unsafe=os.geteuid() == 0), Landlock)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_landlock_is_not_taken_for_root_unless_that_is_allowed(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as error:
        find_sandbox()
    assert str(error.value).splitlines()[0] == (
        "there is no sandbox on this machine that could run programs: 'bwrap' is not installed; "
        "Landlock is not enough for root: run etude as another user"
    )


async def test_it_is_found_while_an_event_loop_runs() -> None:
    assert find_sandbox(unsafe=True).name in {"bubblewrap", "Landlock", "unsafe"}


def test_a_bubblewrap_that_may_not_make_namespaces_does_not_work(tmp_path) -> None:
    program = script(tmp_path, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    reason = "bubblewrap does not work (bwrap: setting up uid map: Permission denied)"
    assert find_bubblewrap(program) == reason


def test_a_bubblewrap_that_hides_nothing_does_not_work(tmp_path) -> None:
    program = script(tmp_path, 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    assert find_bubblewrap(program) == "bubblewrap does not work (it hides nothing)"


async def test_an_older_bubblewrap_is_used_without_what_it_does_not_know(tmp_path, workspace) -> None:
    sandbox_named("bubblewrap")
    text = 'for word; do if [ "$word" = --disable-userns ]; then echo "bwrap: Unknown option" >&2; exit 1; fi; done\n'
    sandbox = find_bubblewrap(script(tmp_path, f'{text}exec {shutil.which("bwrap")} "$@"'))
    assert isinstance(sandbox, Bubblewrap)
    assert (await play(sandbox, python("print(1)"), workspace)).stdout == b"1\n"


def test_without_a_sandbox_nothing_runs_unless_that_is_allowed() -> None:
    reasons = ["'bwrap' is not installed", "Landlock does not work (it is a part of Linux)"]
    with pytest.raises(ConfigError) as error:
        choose(reasons, unsafe=False)
    assert str(error.value) == (
        "there is no sandbox on this machine that could run programs: 'bwrap' is not installed; "
        "Landlock does not work (it is a part of Linux)\n"
        "hint: install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap), or run the programs without "
        "one: --unsafe-no-sandbox, or unsafe_no_sandbox: true in the section that runs them (agent or env)"
    )
    assert isinstance(choose(reasons, unsafe=True), Unsafe)


def test_allowing_unsafe_runs_does_not_leave_out_a_sandbox_that_works() -> None:
    sandbox_named("landlock")
    assert not isinstance(find_sandbox(unsafe=True), Unsafe)
