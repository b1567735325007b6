"""The ledger of sleep: what was used, by which night, and what waits."""

import stat

import pytest

from etude.errors import DataError, LockedError, StopRun
from etude.sleep.transcripts.ledger import Entry, Ledger, under_way, used_turns
from etude.sleep.transcripts.sessions import Session, Turn


def session(*prompts: str, answer: str = "done") -> Session:
    return Session(source="plain", id="s1", turns=tuple(Turn(prompt=each, answer=answer) for each in prompts))


def entry(status="used", revision="r1", id="s1", **more) -> Entry:
    return Entry(source="plain", id=id, status=status, revision=revision, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def test_only_what_is_used_waits_for_success(path):
    entries = [entry(status, id=status) for status in ("own", "empty", "used", "queued", "outside")]
    with Ledger(path) as ledger:
        ledger.take(entries)
        assert ledger.counts() == {"empty": 1, "outside": 1, "own": 1, "queued": 2}
        ledger.commit(7, entries)
        assert ledger.counts() == {"empty": 1, "outside": 1, "own": 1, "queued": 1, "used": 1}


def test_a_turn_that_the_agent_went_on_with_is_new_again():
    known = entry().used(session("one", "two", answer="half"))
    assert used_turns(known, session("one", "two", "three", answer="whole")) == 1


def test_a_second_night_at_the_same_time_is_refused(path):
    with Ledger(path), pytest.raises(LockedError, match=r"another night is under way\nhint: wait until it has ended"):
        Ledger(path)
    Ledger(path).close()


def test_reading_needs_no_lock_and_writes_nothing(path):
    with Ledger(path) as ledger:
        ledger.take([entry()])
        with Ledger(path, read_only=True) as reader:
            assert reader.counts() == {"queued": 1}
            with pytest.raises(ValueError, match="opened to be read only"):
                reader.commit(1, [])


def test_a_missing_ledger_reads_as_an_empty_one_and_is_not_made(path):
    with Ledger(path, read_only=True) as reader:
        assert reader.counts() == {}
        assert reader.once_more(1) == set()
        with pytest.raises(ValueError, match="opened to be read only"):
            reader.take([])
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 9}'])
def test_a_damaged_ledger_is_an_error_and_stays_as_it_is(path, content):
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(DataError, match=r"ledger.json' cannot be read: .*\nhint: move the file away"):
            Ledger(path, read_only=read_only)
    assert path.read_bytes() == content


def test_a_damaged_entry_is_an_error(path):
    with Ledger(path) as ledger:
        ledger.take([entry()])
    path.write_text(path.read_text().replace("queued", "odd"))
    with pytest.raises(DataError, match="status: Input should be 'queued'"):
        Ledger(path)


def test_the_files_are_for_their_owner_only(path):
    with Ledger(path) as ledger:
        ledger.take([entry()])
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == {"ledger.json": 0o600, "ledger.json.lock": 0o600}


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StopRun, match="cannot be written"):
        Ledger(tmp_path / "file" / "ledger.json")


def test_what_a_night_leaves_waiting_is_reported_from_what_was_never_tried(path):
    one, two = entry(id="a\ud800").used(session("one")), entry(id="b").used(session("two"))
    entries = [one, two, entry("queued", id="c")]
    with Ledger(path) as ledger:
        ledger.take(entries)
        for _ in range(2):  # the night is killed after its commit, and commits again
            assert ledger.once_more(1) == set()
            ledger.commit(1, entries, [("plain", "a\ud800"), ("plain", "z")])
            assert ledger.counts() == {"queued": 2, "used": 1}
        for _ in range(2):  # the second night is killed, and begins once more
            ledger.take([one])
            assert ledger.once_more(2) == {("plain", "a\\ud800")}
        ledger.commit(2, [one])
        assert ledger.once_more(3) == set()
        assert ledger.counts() == {"queued": 1, "used": 2}


def test_a_ledger_that_is_held_means_that_a_night_is_under_way(path):
    assert not under_way(path)
    with Ledger(path):
        assert under_way(path)
    assert not under_way(path)
