"""Transcripts in the format that users convert others to."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from strict_source import OddRecords

from etude.errors import ConfigError
from etude.sleep.transcripts.sessions import Reading, Turn, UnreadSession
from etude.sleep.transcripts.sources.plain import PlainTranscripts
from etude.testing.source import ID, PROJECT, dated


def turn_of(turn: Turn) -> dict[str, Any]:
    assert turn.at is not None
    tools = [
        {"name": tool.name, "arguments": tool.arguments, "result": tool.result, "failed": tool.failed}
        for tool in turn.tools
    ]
    return {"prompt": turn.prompt, "answer": turn.answer, "at": turn.at.isoformat(), "tools": tools}


def write(home: Path, records: Sequence[Any], name: str = "shop.jsonl") -> Path:
    path = home / "transcripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


class InHome(PlainTranscripts):
    """Reads the folder `transcripts` of a home."""

    def __init__(self) -> None:
        super().__init__(Path())

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        self._path = home / "transcripts"
        return super().find(home, environ) if self._path.exists() else ()


class TestPlain(OddRecords):
    def make_source(self) -> PlainTranscripts:
        return InHome()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        record = {"id": id, "project": project, "turns": [turn_of(turn) for turn in turns]}
        return dated(write(home, [record], f"{id}.jsonl"), turns)


def find(home: Path) -> dict[str, UnreadSession]:
    return {found.id: found for found in PlainTranscripts(home / "transcripts").find(home, {})}


def readings(home: Path) -> dict[str, Reading]:
    source = PlainTranscripts(home / "transcripts")
    return {found.id: source.read(found) for found in source.find(home, {})}


def test_a_file_or_a_folder_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, [{"turns": [{"prompt": "Hello"}]}])
    for place in (path, path.parent):
        (found,) = PlainTranscripts(place).find(tmp_path, {})
        assert found.id == "shop:1"


def test_a_path_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ConfigError) as raised:
        PlainTranscripts(missing).find(tmp_path, {})
    assert str(raised.value) == (
        f"{str(missing)!r} is neither a file nor a folder\nhint: name a .jsonl file, or a folder that has such files"
    )


def test_one_file_may_hold_many_sessions_and_one_on_several_lines(tmp_path: Path) -> None:
    b = {"id": "b", "turns": [{"prompt": "Two"}, {"prompt": "Three"}]}
    write(tmp_path, [{"turns": [{"prompt": "One"}]}, b, {"id": "b", "turns": [{"prompt": "Four"}]}])
    said = {id: reading.session for id, reading in readings(tmp_path).items()}
    prompts = {id: [turn.prompt for turn in one.turns] for id, one in said.items() if one is not None}
    assert prompts == {"shop:1": ["One"], "b": ["Two", "Three", "Four"]}


def test_everything_that_a_session_may_say_is_read(tmp_path: Path) -> None:
    turn = {
        "prompt": "Sort",
        "answer": "Done",
        "at": "2026-05-04T12:00:00+02:00",
        "interrupted": True,
        "tools": [{"name": "write", "arguments": {"path": "a.txt"}, "result": "ok", "failed": False}],
    }
    record = {"id": "a", "project": "/p", "turns": [turn], "skills": ["x"], "branch": "unknown keys are left out"}
    write(tmp_path, [record])
    session = readings(tmp_path)["a"].session
    assert session is not None
    assert (session.project, session.skills) == ("/p", ("x",))
    (said,) = session.turns
    assert (said.prompt, said.answer, said.interrupted) == ("Sort", "Done", True)
    assert said.at is not None
    assert said.at.isoformat() == "2026-05-04T10:00:00+00:00"
    assert said.tools[0].model_dump() == {
        "name": "write",
        "arguments": '{"path": "a.txt"}',
        "result": "ok",
        "failed": False,
    }


def test_a_turn_without_an_answer_is_not_interrupted_unless_it_says_so(tmp_path: Path) -> None:
    write(tmp_path, [{"turns": [{"prompt": "Hello"}]}])
    session = readings(tmp_path)["shop:1"].session
    assert session is not None
    assert not session.turns[0].interrupted


def test_what_is_no_session_is_counted_once(tmp_path: Path) -> None:
    other = {"id": "b", "turns": [{"prompt": "Two"}, {"prompt": " "}]}
    write(tmp_path, [{"text": "none"}, {"id": "a", "turns": [{"prompt": "One"}]}, other, {"prompt": "alone"}])
    said = readings(tmp_path)
    assert said["a"].skipped == {"broken line": 2}
    assert said["b"].skipped == {"broken turn": 1}


def test_a_file_without_any_session_is_found_and_says_what_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, [{"text": "no turn"}])
    assert readings(tmp_path)["shop"] == Reading(skipped={"broken line": 1})
    path.write_text("")
    assert readings(tmp_path) == {}


def test_a_session_that_its_file_no_longer_has_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, [{"id": "a", "turns": [{"prompt": "One"}]}])
    found = find(tmp_path)["a"]
    path.write_text(json.dumps({"id": "b", "turns": []}))
    assert PlainTranscripts(path).read(found).problem == "has no session 'a' any more"


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="there is no file here that nobody can read")
def test_a_file_that_cannot_be_read_is_found_and_named() -> None:
    source = PlainTranscripts(Path("/proc/self/mem"))
    (found,) = source.find(Path("/"), {})
    assert found.id == "mem"
    assert source.read(found).problem.startswith("cannot be read: ")
