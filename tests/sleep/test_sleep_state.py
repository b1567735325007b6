"""Where sleep keeps its state."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from etude.errors import ConfigError, EtudeError, StopRun
from etude.sleep.adoption.adopt import kept_rules, receipts, recover
from etude.sleep.adoption.transaction import PENDING
from etude.sleep.night import read_tasks
from etude.sleep.state import SleepState, Surroundings, state_in
from etude.sleep.tasks.gather import archived


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def folder(project: Path, home: Path, environ: Mapping[str, str] = MappingProxyType({})) -> Path:
    return state_in(project, Surroundings(home=home, environ=environ)).folder


def test_the_folder_is_the_user_s_state_folder_with_one_for_each_project(tmp_path):
    home = Path("/home/user")
    given = folder(Path("/code/My App!"), home, {"XDG_STATE_HOME": "/state"})
    assert given.parent == Path("/state/etude/sleep")
    assert given.name.startswith("my-app-")
    assert folder(Path("/other/My App!"), home) != given.name
    usual = folder(Path("/code/My App!"), home, {"XDG_STATE_HOME": "relative"})
    assert usual == home / ".local/state/etude/sleep" / given.name
    assert folder(Path("/"), home).name.startswith("root-")


def test_a_link_to_a_project_has_the_project_s_own_state(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folders = {folder(tmp_path / name, tmp_path) for name in ("real", "link", "./real")}
    assert len(folders) == 1


def test_nights_are_numbered_and_closed_to_others(tmp_path):
    state = SleepState(tmp_path / "a" / "b")
    assert state.numbers() == []
    state.make()
    assert mode(state.folder) == mode(state.nights) == 0o700
    state.write(state.night(1) / "x", "")
    assert mode(state.night(1)) == 0o700
    state.night(12).mkdir()
    (state.nights / "notes").mkdir()
    assert state.numbers() == [1, 12]
    os.chmod(state.folder, 0o755)
    state.make()
    assert mode(state.folder) == 0o700


def test_files_are_replaced_in_one_move_and_closed_to_others(tmp_path):
    state = SleepState(tmp_path / "s")
    state.make()
    state.write(state.archive, "one\n")
    state.write(state.archive, "two \udc80\n")
    assert state.archive.read_bytes() == b"two \\udc80\n"
    assert mode(state.archive) == 0o600
    state.write(state.night(1) / "report.json", "{}")
    assert mode(state.night(1) / "report.json") == 0o600
    assert sorted(each.name for each in state.folder.iterdir()) == ["archive.jsonl", "nights"]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    state = SleepState(tmp_path / "s")
    state.make()
    (state.folder / "archive.jsonl").mkdir()
    with pytest.raises(StopRun, match=r"archive\.jsonl' cannot be written"):
        state.write(state.archive, "")


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be used: (Not a directory|File exists)"):
        SleepState(tmp_path / "file" / "s").make()
    with pytest.raises(ConfigError, match="cannot be used"):
        SleepState(tmp_path / "file").write(tmp_path / "file" / "nights" / "x", "")


READERS: dict[str, Callable[[SleepState], object]] = {
    "rules.json": lambda state: kept_rules(state.folder),
    "adopted/0001~1.json": lambda state: receipts(state.folder),
    PENDING: lambda state: recover(state.folder),
    "archive.jsonl": archived,
    "nights/0001/tasks.json": lambda state: read_tasks(state, 1),
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *((name, b'["s3cret-s3cret"]\n') for name in READERS),
        (next(iter(READERS)), b'{"api_key": "s3cret-s3cret'),
        *((name, b"\xff\n") for name in ("rules.json", "archive.jsonl")),
    ],
)
def test_a_damaged_file_is_reported_in_one_line_with_a_way_out_and_nothing_of_what_is_in_it(tmp_path, name, data):
    state = SleepState(tmp_path / "state")
    place = state.folder / name
    place.parent.mkdir(parents=True)
    place.write_bytes(data)
    with pytest.raises(EtudeError) as caught:
        READERS[name](state)
    assert caught.value.message.startswith(f"{str(place)!r} cannot be read: ")
    assert caught.value.hint
    for word in ("\n", "pydantic", "s3cret"):
        assert word not in caught.value.message
