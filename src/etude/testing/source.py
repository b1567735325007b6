"""The contract of sources of transcripts. Inherit it in a test class and say how the program writes a session."""

import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from etude.sleep.transcripts.sessions import Reading, Session, ToolUse, Turn, UnreadSession
from etude.sleep.transcripts.sources.source import Source

START = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)
PROJECT = "/home/user/demo"
ID = "01a1f8a5-c44f-7340-aebc-65c24ff75a50"
OTHER = "01a1f8a5-c44f-7340-aebc-65c24ff75a51"

BROKEN = (
    b"this is no JSON",
    b'{"type": "user", "message": {"role"',
    b"\xff\xfe\xfa",
    b"[" * 100_000,
    b'{"number": ' + b"1" * 5_000 + b"}",
    b"[1, 2]",
    b"null",
)
"""What is no record of any program: no JSON object, or none that can be read."""

TEXTS = (
    "Größe der 颜色 🙂 \u202eabc",
    "one\ntwo\r\nthree\u2028four\x85five\x0csix",
    'quotes " and \\ and \ttabs',
    "/etc/hosts is a file; what is in it?",
)
"""What a user may write, and an agent answer."""


class SourceContract:
    """What every source of transcripts must do.

    class TestMine(SourceContract):
        def make_source(self):
            return Mine()

        def write_session(self, home, turns, *, id=ID, project=PROJECT):
            path = home / ".mine" / f"{id}.jsonl"
            ...
            return path
    """

    has_times: bool = True
    """The program writes when a turn was asked."""
    has_results: bool = True
    """The program writes what tools gave back."""
    has_project: bool = True
    """The program writes the whole path of the folder it worked in."""

    @abstractmethod
    def make_source(self) -> Source:
        """A new source."""
        raise NotImplementedError

    @abstractmethod
    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        """Write a session as the program does, and give the file it is in.

        Each turn has a prompt, a time, tools with arguments (JSON), result and `failed`, and an answer. For an id
        that is there already, the session is what it is after the program resumed it: `turns` are all its turns.
        Other sessions stay. The program wrote last to it at the time of its last turn (`dated` sets it for a file).
        """
        raise NotImplementedError

    def environ(self, home: Path) -> Mapping[str, str]:
        """The environment that sources are asked with."""
        return {}

    def spoil(self, path: Path, id: str, junk: bytes) -> None:
        """Add a record to the end of a session that consists of these bytes. Skips the test for what cannot be."""
        with path.open("ab") as file:
            file.write(junk + b"\n")

    # --- what there is

    def test_a_home_where_the_program_was_never_used_has_no_sessions(self, tmp_path: Path) -> None:
        assert list(self._find(tmp_path)) == []
        assert list(self._find(tmp_path / "missing")) == []

    def test_a_written_session_is_found_and_read(self, tmp_path: Path) -> None:
        turns = turns_of("Sort the words.", "Now backwards.")
        path = self.write_session(tmp_path, turns)
        (found,) = self._find(tmp_path)
        assert found.source == self.make_source().name
        assert Path(found.path) == path
        session = self._session(found)
        assert session.source == found.source
        assert session.id == found.id
        self._tells(session, turns)
        if self.has_project:
            assert session.project == PROJECT
        if self.has_times:
            assert session.started is not None
            assert session.ended is not None
            assert session.started <= START <= session.ended

    def test_each_session_is_found_with_its_last_change(self, tmp_path: Path) -> None:
        for id, minutes in ((ID, 5), (OTHER, 600)):
            self.write_session(tmp_path, turns_of(f"After {minutes}.", at=START + timedelta(minutes=minutes)), id=id)
        changed = {each.id: each.changed for each in self._find(tmp_path)}
        first, last = changed.pop(ID), changed.pop(OTHER)
        assert first is not None
        assert last is not None
        assert first < last
        assert first.utcoffset() == last.utcoffset() == timedelta(0)
        assert changed == {}

    def test_the_same_session_read_twice_is_equal(self, tmp_path: Path) -> None:
        self.write_session(tmp_path, turns_of("Sort the words.", "Now backwards."))
        (found,) = self._find(tmp_path)
        assert list(self._find(tmp_path)) == [found]
        assert self.make_source().read(found) == self.make_source().read(found)

    def test_a_resumed_session_keeps_its_id_and_gets_another_revision(self, tmp_path: Path) -> None:
        self.write_session(tmp_path, turns_of("Sort the words."))
        (before,) = self._find(tmp_path)
        turns = turns_of("Sort the words.", "Now backwards.")
        self.write_session(tmp_path, turns)
        (after,) = self._find(tmp_path)
        assert after.id == before.id
        assert after.revision != before.revision
        self._tells(self._session(after), turns)

    def test_sessions_beside_each_other_do_not_mix(self, tmp_path: Path) -> None:
        self.write_session(tmp_path, turns_of("Sort the words."), id=ID)
        self.write_session(tmp_path, turns_of("Count the words."), id=OTHER, project=f"{PROJECT}-other")
        prompts = {turn.prompt for found in self._find(tmp_path) for turn in self._session(found).turns}
        assert prompts == {"Sort the words.", "Count the words."}
        assert all(len(self._session(found).turns) == 1 for found in self._find(tmp_path))

    # --- what a text may hold

    def test_texts_come_back_as_they_were(self, tmp_path: Path) -> None:
        turns = [turn.model_copy(update={"answer": f"Said: {turn.prompt}"}) for turn in turns_of(*TEXTS)]
        self.write_session(tmp_path, turns)
        (found,) = self._find(tmp_path)
        self._tells(self._session(found), turns)

    # --- what may be broken

    def test_broken_records_are_counted_and_the_rest_is_read(self, tmp_path: Path) -> None:
        turns = turns_of("Sort the words.", "Now backwards.")
        path = self.write_session(tmp_path, turns)
        (found,) = self._find(tmp_path)
        before = sum(self._read(found).skipped.values())
        for junk in BROKEN:
            self.spoil(path, ID, junk)
        (found,) = self._find(tmp_path)
        reading = self._read(found)
        assert sum(reading.skipped.values()) == before + len(BROKEN)
        assert reading.session is not None
        self._tells(reading.session, turns)

    @pytest.mark.parametrize("content", [b"", b"\0" * 4096])
    def test_a_file_that_holds_something_else_is_read_as_nothing(self, tmp_path: Path, content: bytes) -> None:
        path = self.write_session(tmp_path, turns_of("Sort the words."))
        (found,) = self._find(tmp_path)
        path.write_bytes(content)
        for each in (found, *self._find(tmp_path)):
            reading = self._read(each)
            assert reading.session is None or reading.session.turns == ()

    def test_a_file_that_is_gone_is_named(self, tmp_path: Path) -> None:
        path = self.write_session(tmp_path, turns_of("Sort the words."))
        (found,) = self._find(tmp_path)
        path.unlink()
        reading = self._read(found)
        assert reading.session is None
        assert reading.problem

    # ---

    def _find(self, home: Path) -> Sequence[UnreadSession]:
        return self.make_source().find(home, self.environ(home))

    def _read(self, found: UnreadSession) -> Reading:
        reading = self.make_source().read(found)
        if reading.session is not None:
            assert not reading.problem
            # What cannot be written as UTF-8 cannot be kept either.
            assert Session.model_validate_json(reading.session.model_dump_json()) == reading.session
        assert all(count > 0 for count in reading.skipped.values())
        return reading

    def _session(self, found: UnreadSession) -> Session:
        reading = self._read(found)
        assert reading.problem == ""
        assert reading.session is not None
        return reading.session

    def _tells(self, session: Session, turns: Sequence[Turn]) -> None:
        assert [turn.prompt for turn in session.turns] == [turn.prompt for turn in turns]
        assert [turn.answer for turn in session.turns] == [turn.answer for turn in turns]
        assert [turn.interrupted for turn in session.turns] == [False for _ in turns]
        if self.has_times:
            assert [turn.at for turn in session.turns] == [turn.at for turn in turns]
        for read, meant in zip(session.turns, turns, strict=True):
            assert [tool.name for tool in read.tools] == [tool.name for tool in meant.tools]
            for use, expected in zip(read.tools, meant.tools, strict=True):
                assert json.loads(use.arguments) == json.loads(expected.arguments)
                if self.has_results:
                    assert use.result == expected.result


def turns_of(*prompts: str, answer: str = "", at: datetime = START) -> list[Turn]:
    """Turns a minute apart, each with a tool call and an answer."""
    tool = ToolUse(name="shell", arguments=json.dumps({"command": "ls -a"}), result="a.txt\nb.txt", failed=False)
    return [
        Turn(prompt=prompt, at=at + timedelta(minutes=number), answer=answer or f"Done: {number}.", tools=(tool,))
        for number, prompt in enumerate(prompts)
    ]


def dated(path: Path, turns: Sequence[Turn]) -> Path:
    """The file, last written to at the time of the last turn."""
    moment = max((turn.at for turn in turns if turn.at is not None), default=START).timestamp()
    os.utime(path, (moment, moment))
    return path
