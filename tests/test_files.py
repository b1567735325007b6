"""Files are replaced as a whole, or not at all."""

import os
import stat
from pathlib import Path

import pytest

from etude.files import private_file, private_folder, remove_leftovers, write_atomically


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_in_one_move(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        write_atomically(path, b"new", durable=durable)
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch(mode=0o644)
    write_atomically(path, b"", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        write_atomically(tmp_path / "folder", b"new")
    assert os.listdir(tmp_path) == ["folder"]


def test_only_half_written_files_are_removed(tmp_path: Path) -> None:
    for name in ("a.txt", ".etude-00", "deep/.etude-11", ".etude-folder/kept"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == [".etude-folder/kept", "a.txt"]


def test_private_folders_and_files_are_for_their_owner_whatever_the_umask(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o755)
    before = os.umask(0)
    try:
        private_folder(tmp_path / "there" / "a" / "b")
        private_folder(tmp_path / "there")
        os.close(private_file(tmp_path / "there" / "log"))
        write_atomically(tmp_path / "there" / "text", b"")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "there").rglob("*")}
    assert modes == {"a": 0o700, "b": 0o700, "log": 0o600, "text": 0o600}
    assert stat.S_IMODE((tmp_path / "there").stat().st_mode) == 0o700
