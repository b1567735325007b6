"""What the sources of etude do in addition to the public contract: odd values, pipes and time zones do no harm."""

import json
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from etude.sleep.transcripts.sessions import Session, ToolUse, Turn
from etude.testing.source import START, SourceContract, turns_of

WRONG: tuple[Any, ...] = (None, float("nan"), "\ud800 half", [None, 5, "x", [[]]], {"a": []})
"""Values that a program would not write where it wrote another one."""

_WAIT_SECONDS = 120.0

Result = TypeVar("Result")


class StrictSourceContract(SourceContract):
    """The contract, and what a source of etude must not stumble over."""

    has_surrogates: bool = True
    """Texts are kept as JSON, in which half of a surrogate pair can be written."""

    def test_finding_and_reading_change_nothing(self, tmp_path: Path) -> None:
        self.write_session(tmp_path, turns_of("Sort the words.", "Now backwards."))
        before = snapshot(tmp_path)
        (found,) = self._find(tmp_path)
        self._session(found)
        assert snapshot(tmp_path) == before

    def test_half_a_surrogate_pair_is_no_obstacle(self, tmp_path: Path) -> None:
        if not self.has_surrogates:
            pytest.skip("the program cannot write it")
        self.write_session(tmp_path, turns_of("half \ud83d of it", answer="\udc00"))
        (found,) = self._find(tmp_path)
        session = self._session(found)
        assert session.turns[0].prompt.startswith("half ")
        assert Session.model_validate_json(session.model_dump_json()) == session

    def test_very_long_texts_of_tools_are_cut_in_the_middle(self, tmp_path: Path) -> None:
        long = "start " + "x" * 300_000 + " end"
        tool = ToolUse(name="shell", arguments=json.dumps({"command": long}), result=long, failed=False)
        self.write_session(tmp_path, [Turn(prompt="Do it.", at=START, answer="Done.", tools=(tool,))])
        (found,) = self._find(tmp_path)
        (turn,) = self._session(found).turns
        (used,) = turn.tools
        assert len(used.arguments) + len(used.result) < 100_000
        assert "start " in used.arguments
        if self.has_results:
            assert "start " in used.result
            assert " end" in used.result
        assert turn.answer == "Done."

    def test_times_are_utc_wherever_it_is_read(self, tmp_path: Path) -> None:
        turns = turns_of("Sort the words.", "Now backwards.")
        self.write_session(tmp_path, turns)
        with in_zone("Asia/Kolkata"):
            (found,) = self._find(tmp_path)
            session = self._session(found)
        self._tells(session, turns)
        assert found.changed is not None
        assert abs(found.changed - (turns[-1].at or START)) < timedelta(minutes=1)

    @pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
    def test_only_regular_files_are_opened_and_links_to_them(self, tmp_path: Path, kind: str) -> None:
        home = tmp_path / "home"
        path = self.write_session(home, turns_of("Sort the words."))
        (found,) = self._find(home)
        elsewhere = tmp_path / "elsewhere"
        path.rename(elsewhere)
        make: dict[str, Callable[[], object]] = {
            "folder": path.mkdir,
            "fifo": lambda: os.mkfifo(path),
            "link": lambda: path.symlink_to(elsewhere),
        }
        make[kind]()
        reading = within_seconds(lambda: self._read(found))
        assert (reading.session is None) == bool(reading.problem) == (kind != "link")
        again = within_seconds(lambda: [self._read(each) for each in self._find(home)])
        assert [each.session for each in again if each.session] == [reading.session] * (kind == "link")


class OddRecords(StrictSourceContract):
    """And what it must not stumble over in a file: odd values, and any order. What programs wrote in real runs is
    tried in memory (`test_sources_read`)."""

    def records(self, path: Path) -> list[Any]:
        """The JSON values that the program has written to a file."""
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]

    def put_records(self, path: Path, records: Sequence[Any]) -> None:
        """Write these instead. Values that cannot be written are left as they were."""
        path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def test_wrong_values_anywhere_in_a_record_never_raise(self, tmp_path: Path) -> None:
        path = self.write_session(tmp_path, turns_of("Sort the words."))
        records = self.records(path)
        assert records
        for number, record in enumerate(records):
            for variant in list(variants(record))[number % 3 :: 3]:
                self.put_records(path, [*records[:number], variant, *records[number + 1 :]])
                for found in self._find(tmp_path):
                    self._read(found)

    def test_records_in_any_order_or_missing_never_raise(self, tmp_path: Path) -> None:
        path = self.write_session(tmp_path, turns_of("Sort the words.", "Now backwards."))
        records = self.records(path)
        orders = [records[::-1], [*records, *records], [], *([each] for each in records)]
        orders += [[*records[:number], *records[number + 1 :]] for number in range(len(records))]
        for order in orders:
            self.put_records(path, order)
            for found in self._find(tmp_path):
                self._read(found)


@contextmanager
def in_zone(name: str) -> Generator[None]:
    """Local times are those of another time zone."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TZ", name)
        time.tzset()
        try:
            yield
        finally:
            environment.undo()
            time.tzset()


def variants(value: Any) -> Iterator[Any]:
    """The value with one of its parts, or all of it, replaced by a wrong value or left out."""
    yield from WRONG
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        for key, part in known.items():
            yield {other: known[other] for other in known if other != key}
            yield from ({**known, key: variant} for variant in variants(part))
    elif isinstance(value, list):
        items = cast(list[Any], value)
        for number, part in enumerate(items):
            yield from ([*items[:number], variant, *items[number + 1 :]] for variant in variants(part))


def within_seconds(work: Callable[[], Result], seconds: float = _WAIT_SECONDS) -> Result:
    """What the work gives, or an error when it hangs."""
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"still at work after {seconds:g} s"
    assert results, "it raised"
    return results[0]


def put_lines(path: Path, records: Sequence[Any]) -> Path:
    """Write a file of JSON lines, in a folder that is made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All under a folder: kind and permissions, time of the last change, content."""
    found: dict[str, tuple[int, int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        found[str(path.relative_to(folder))] = (
            state.st_mode,
            state.st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
    return found
