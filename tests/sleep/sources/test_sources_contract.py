"""What all sources have in common."""

import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from etude.errors import ConfigError
from etude.programs.transcripts.values import as_json, object_of, text, without_notes
from etude.registry import names
from etude.sleep.transcripts.sessions import UnreadSession
from etude.sleep.transcripts.sources import source_of
from etude.sleep.transcripts.sources.lines import (
    LONG_LINE,
    files_under,
    found_in,
    head,
    moment,
    open_regular,
    records,
)
from etude.sleep.transcripts.sources.record_files import RecordFiles
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from rows import rows


@pytest.mark.parametrize("name", names("sources"))
def test_every_source_of_the_table_can_be_had_by_its_name(name: str, tmp_path: Path) -> None:
    source = source_of(name)
    assert source.name == name
    assert list(source.find(tmp_path, {})) == []


def test_an_unknown_source_is_an_error_with_a_hint() -> None:
    with pytest.raises(ConfigError) as raised:
        source_of("claude-cod")
    assert str(raised.value) == (
        "unknown source 'claude-cod'\nhint: did you mean 'claude-code', or an import path 'package.module:Class'"
    )


# --- lines


def test_a_line_that_is_too_long_is_counted_and_the_ones_around_it_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = b'{"text": "' + b"x y " * (LONG_LINE // 2) + b'"}'
    path.write_bytes(b'{"n": 1}\n' + long + b'\n{"n": 2}\n' + long)
    skipped: Counter[str] = Counter()
    assert list(records(path, skipped)) == [{"n": 1}, {"n": 2}]
    assert skipped == {"long line": 2}


def test_a_line_of_just_the_length_that_is_allowed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = b'{"text": "' + b"x" * (LONG_LINE - 12) + b'"}'
    assert len(line) == LONG_LINE
    path.write_bytes(line + b"\n" + line)
    skipped: Counter[str] = Counter()
    assert len(list(records(path, skipped))) == 2
    assert not skipped


def test_bytes_that_are_no_utf_8_do_not_cost_the_line() -> None:
    assert object_of(b'\xef\xbb\xbf{"text": "a\xffb"}') == {"text": "a\ufffdb"}


def test_zeros_before_a_line_do_not_cost_it() -> None:
    assert object_of(b'\0\0\0{"text": "a"}') == {"text": "a"}
    assert object_of(b"\0\0\0") is None


def test_the_head_of_a_file_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert head(tmp_path) == ""
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    assert 0 < len(head(tmp_path / "a")) < 100_000


def test_links_are_followed_and_what_cannot_be_read_comes_without_a_state(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in" / "deep").mkdir(parents=True)
    for place in ("root/a.jsonl", "root/in/b.jsonl", "root/in/deep/c.jsonl", "elsewhere.jsonl"):
        (tmp_path / place).write_text("")
    for name, target in {
        "link.jsonl": "../elsewhere.jsonl",
        "gone.jsonl": "nowhere.jsonl",
        "gone": "nowhere",
        "round": "round",
        "around": ".",
        "inside": "in",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe.jsonl")
    (root / os.fsdecode(b"\xff.jsonl")).write_text("")
    found = {path.name: state is not None for path, state in files_under(root, ".jsonl", depth=1)}
    read, named = ["a.jsonl", "b.jsonl", "link.jsonl"], ["gone", "gone.jsonl", "pipe.jsonl", "round"]
    assert found == dict.fromkeys(read, True) | dict.fromkeys(named, False)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli", "pi", "qwen-code", "copilot-cli"])
def test_a_program_s_folder_that_leads_nowhere_is_named(name: str, tmp_path: Path) -> None:
    source = source_of(name)
    assert isinstance(source, RecordFiles)
    (root, _, _), *_ = source.places(tmp_path, {})
    root.mkdir(parents=True)
    link = root / "gone"
    link.symlink_to("/nowhere")
    (found,) = source.find(tmp_path, {})
    assert (found.path, found.revision) == (str(link), "")
    assert source.read(found).problem


def test_a_folder_that_is_a_link_to_another_place_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.jsonl").write_text("")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to("../elsewhere")
    (tmp_path / "root" / "up").symlink_to("..")
    found = [path for path, _ in files_under(tmp_path / "root", ".jsonl", depth=1)]
    assert found == [tmp_path / "root" / "linked" / "a.jsonl"]


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)


def test_the_later_of_two_files_with_one_id_is_found(tmp_path: Path) -> None:
    files = []
    for name, time in (("old", 1_000), ("new", 2_000)):
        path = tmp_path / name
        path.write_text("")
        os.utime(path, (time, time))
        files.append(("one", path, path.stat()))
    (found,) = found_in("mine", files)
    assert found.path == str(tmp_path / "new")
    assert found.changed == datetime(1970, 1, 1, 0, 33, 20, tzinfo=UTC)


@rows(
    ("value", "expected"),
    [
        ("2026-05-04T10:00:00.250Z", "2026-05-04T10:00:00.250000+00:00"),
        ("2026-05-04T10:00:00+05:30", "2026-05-04T04:30:00+00:00"),
        ("2026-05-04 10:00:00", "2026-05-04T10:00:00+00:00"),
        (1777888800000, "2026-05-04T10:00:00+00:00"),
        ("yesterday", None),
        ("", None),
        ("0001-01-01T00:00:00+14:00", None),
        (1e300, None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_times_are_read_as_utc_or_not_at_all(value: Any, expected: str | None) -> None:
    read = moment(value)
    assert (read.isoformat() if read is not None else None) == expected


def test_values_become_texts_that_can_be_stored() -> None:
    assert text("a\ud800b") == "a?b"
    assert text(17) == ""
    assert as_json(None) == ""
    assert as_json("a") == "a"
    assert as_json({"a": "\ud800", "b": float("nan")}) == '{"a": "?", "b": NaN}'
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    assert as_json(deep) == ""


def test_notes_are_cut_off_at_both_ends_and_only_there() -> None:
    tags = frozenset({"note"})
    assert without_notes(" as it is ", tags) == " as it is "
    assert without_notes("<note>a</note> <note b='c'>d</note>\nkept <note>e</note> this", tags) == (
        "kept <note>e</note> this"
    )
    assert without_notes("kept <note>a</note>", tags) == "kept"
    assert without_notes("kept </note>", tags) == "kept </note>"
    assert without_notes("<note>not closed", tags) == ""
    assert without_notes("<notes>kept</notes>", tags) == "<notes>kept</notes>"
    assert without_notes("<", tags) == "<"
    assert len(without_notes("<note></note>" * 1_000, tags)) < 13_000


def test_what_happens_before_the_first_prompt_belongs_to_no_turn() -> None:
    conversation = SessionBuilder(UnreadSession(source="mine", id="a", path="/a", revision="1"))
    conversation.say("Hello")
    conversation.call("1", "shell", {})
    conversation.stop()
    conversation.done()
    assert conversation.reading().session is None


def test_a_folder_with_a_path_that_no_system_opens_is_no_project() -> None:
    conversation = SessionBuilder(UnreadSession(source="plain", id="a", path="/a", revision="1"))
    conversation.ask("Hello.", None)
    conversation.seen(None, "/" + "a/" * 2_048)
    conversation.seen(None, "/" + "a/" * 2_047 + "b")
    session = conversation.reading().session
    assert session is not None
    assert session.project.endswith("/b")


def test_a_folder_that_cannot_be_read_is_an_error_and_one_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert list(files_under(tmp_path / "none", ".jsonl", depth=1)) == []
    (tmp_path / "file").write_text("")
    assert list(files_under(tmp_path / "file", ".jsonl", depth=1)) == []
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="round"):
        list(files_under(tmp_path / "round", ".jsonl", depth=1))
