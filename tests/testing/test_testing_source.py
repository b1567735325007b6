"""The contract of sources notices what it is there to notice."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from strict_source import OddRecords, within_seconds

from etude.sleep.transcripts.sessions import Reading, Session, Turn, UnreadSession
from etude.sleep.transcripts.sources.plain import PlainTranscripts
from etude.sleep.transcripts.sources.source import Source
from etude.testing.source import ID, PROJECT, START, dated

Change = Callable[[UnreadSession, Reading], Reading]


class Careless(Source):
    """Reads the own format, and does one thing wrong."""

    name = "jsonl"

    def __init__(self, change: Change) -> None:
        self._change = change

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        return PlainTranscripts(home).find(home, environ) if home.is_dir() else ()

    def _read(self, found: UnreadSession) -> Reading:
        return self._change(found, PlainTranscripts(Path(found.path)).read(found))


class CarelessContract(OddRecords):
    def __init__(self, change: Change) -> None:
        self._change = change

    def make_source(self) -> Source:
        return Careless(self._change)

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        path = home / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        session = Session(source="jsonl", id=id, project=project, turns=tuple(turns))
        path.write_text(session.model_dump_json() + "\n")
        return dated(path, turns)


def changed(reading: Reading, **fields: object) -> Reading:
    session = reading.session
    return reading if session is None else Reading(session=session.model_copy(update=fields), skipped=reading.skipped)


def touches(found: UnreadSession, reading: Reading) -> Reading:
    os.utime(found.path)
    return reading


def in_local_time(found: UnreadSession, reading: Reading) -> Reading:
    turns = reading.session.turns if reading.session is not None else ()
    hours = [turn.at.hour for turn in turns if turn.at is not None]
    naive = datetime(START.year, START.month, START.day, hours[0]).astimezone() if hours else None
    shift = naive.utcoffset() if naive is not None else None
    if shift is None:
        return reading
    moved = tuple(turn.model_copy(update={"at": turn.at and turn.at - shift}) for turn in turns)
    return changed(reading, turns=moved)


def forgets(found: UnreadSession, reading: Reading) -> Reading:
    return Reading(session=reading.session, problem=reading.problem)


@pytest.mark.parametrize(
    ("careless", "promise"),
    [
        (touches, "test_finding_and_reading_change_nothing"),
        (in_local_time, "test_times_are_utc_wherever_it_is_read"),
        (forgets, "test_broken_records_are_counted_and_the_rest_is_read"),
    ],
)
def test_a_source_that_does_not_keep_a_promise_is_noticed(tmp_path: Path, careless: Change, promise: str) -> None:
    getattr(CarelessContract(lambda found, reading: reading), promise)(tmp_path / "a")
    with pytest.raises(AssertionError):
        getattr(CarelessContract(careless), promise)(tmp_path / "b")


def test_a_source_that_raises_for_a_wrong_value_is_noticed(tmp_path: Path) -> None:
    def raises(found: UnreadSession, reading: Reading) -> Reading:
        if reading.session is not None and reading.session.project == "":
            raise TypeError(found.id)
        return reading

    with pytest.raises(TypeError):
        CarelessContract(raises).test_wrong_values_anywhere_in_a_record_never_raise(tmp_path)


def test_work_that_hangs_is_an_error() -> None:
    release = threading.Event()
    assert within_seconds(lambda: 17) == 17
    with pytest.raises(AssertionError, match="still at work"):
        within_seconds(release.wait, seconds=0.01)
    release.set()
