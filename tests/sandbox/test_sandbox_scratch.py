"""Temporary folders are removed by whoever made them, and after a kill by the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etude.sandbox.scratch import Scratch, remove_stale

HOLD = """
import sys, time
from etude.sandbox.scratch import Scratch
scratch = Scratch(sys.argv[1])
(scratch.path / "login").write_text("secret")
print(scratch.path, flush=True)
time.sleep(600)
"""


def aged(path: Path) -> Path:
    os.utime(path, (1, 1))
    return path


@pytest.fixture
def holder(tmp_path):
    """A process that has a folder."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, aged(Path(process.stdout.readline().strip()))
        process.kill()


def test_a_folder_is_private_and_gone_at_the_end(tmp_path) -> None:
    with Scratch(tmp_path) as scratch:
        assert scratch.path.stat().st_mode & 0o777 == 0o700
        (scratch.path / "inner").mkdir(mode=0)
    assert list(tmp_path.iterdir()) == []
    scratch.close()


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(holder, tmp_path) -> None:
    process, folder = holder
    with Scratch(tmp_path) as mine:
        aged(mine.path)
        remove_stale(tmp_path)
        assert (folder / "login").read_text() == "secret"
        process.send_signal(signal.SIGKILL)
        process.wait()
        remove_stale(tmp_path)
        assert list(tmp_path.iterdir()) == [mine.path]


def test_a_folder_that_has_just_been_made_stays(holder, tmp_path) -> None:
    process, folder = holder
    process.kill()
    process.wait()
    os.utime(folder)
    remove_stale(tmp_path)
    assert folder.is_dir()


def test_folders_with_other_names_links_and_files_stay(tmp_path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (tmp_path / "etude-scratch-notes").mkdir()
    (tmp_path / "etude-scratch-12345678").symlink_to(target)
    (tmp_path / "etude-scratch-abcdefgh").touch()
    for path in tmp_path.iterdir():
        aged(path)
    before = sorted(tmp_path.iterdir())
    remove_stale(tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_of_another_user_stays(tmp_path) -> None:
    folder = tmp_path / "etude-scratch-12345678"
    folder.mkdir()
    os.chown(folder, 1234, 1234)
    os.utime(folder, (1, 1))
    remove_stale(tmp_path)
    assert folder.is_dir()
