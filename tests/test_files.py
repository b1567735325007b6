"""Files are replaced as a whole, or not at all."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from etude.files import private_folder, remove_leftovers, write_atomically


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_in_one_move(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        write_atomically(path, b"new", durable=durable)
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


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


def test_missing_folders_above_a_private_one_are_private_and_those_that_are_there_stay(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    for _ in range(2):
        private_folder(tmp_path / "a" / "b" / "c")
    assert [path.stat().st_mode & 0o777 for path in sorted((tmp_path / "a").rglob("*"))] == [0o700, 0o700]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(OSError):
            private_folder(tmp_path / place)


def test_a_folder_in_which_none_can_be_made_is_not_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/proc` says that what should be made in it does not exist."""
    real = Path.mkdir

    def made(path: Path, **options: Any) -> None:
        if path.parent in (tmp_path, tmp_path / "a"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        real(path, **options)

    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "mkdir", made)
    with pytest.raises(FileNotFoundError):
        private_folder(tmp_path / "a" / "b")
    assert tmp_path.stat().st_mode & 0o777 == 0o755
