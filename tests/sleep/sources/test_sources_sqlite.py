"""DatabaseCopy that other programs keep transcripts in: read from a private copy, whatever happens to them."""

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path, PosixPath

import pytest
import test_sources_opencode as opencode
from strict_source import snapshot
from test_sources_opencode import DATABASE

from etude.sleep.transcripts.sources.opencode import OpenCodeTranscripts
from etude.sleep.transcripts.sources.sqlite import MOST_BYTES, DatabaseCopy
from etude.testing.source import ID, PROJECT, turns_of


def test_what_is_only_in_the_log_beside_the_database_is_read_and_nothing_is_written(tmp_path):
    path = tmp_path / "first" / DATABASE
    opencode.write_database(path, ID, PROJECT, [opencode.asked(1, opencode.said("Old."))])
    home = tmp_path / "home"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        opencode.insert(
            database, "message", {"id": "m", "session_id": ID, "time_created": 9, "data": b'{"role": "user"}'}
        )
        part = {"id": "p", "message_id": "m", "session_id": ID, "data": b'{"type": "text", "text": "New."}'}
        opencode.insert(database, "part", part)
        database.commit()
        shutil.copytree(path.parent, (home / DATABASE).parent, ignore=shutil.ignore_patterns("*-shm"))
    before = snapshot(home)
    assert sorted(name.rpartition("/")[2] for name in before if "opencode.db" in name) == [
        "opencode.db",
        "opencode.db-wal",
    ]
    assert {turn.prompt for turn in opencode.read(home).turns} == {"Old.", "New."}
    assert snapshot(home) == before


def test_one_source_reads_what_was_added_since_it_looked(tmp_path):
    source = OpenCodeTranscripts()
    opencode.TestDatabase().write_session(tmp_path, turns_of("One."))
    (found,) = source.find(tmp_path, {})
    opencode.TestDatabase().write_session(tmp_path, turns_of("One.", "Two."))
    session = source.read(found).session
    assert session is not None
    assert len(session.turns) == 2
    assert [source.read(found).session for _ in range(2)] == [session, session]


def test_copies_are_private_and_gone_with_who_made_them(tmp_path):
    path = opencode.TestDatabase().write_session(tmp_path, turns_of("One."))
    copied = DatabaseCopy()
    with copied.opened(path) as database:
        copy = Path(database.execute("PRAGMA database_list").fetchone()[2])
    assert copy.parent.stat().st_mode & 0o077 == 0
    del copied
    assert not copy.parent.exists()


class Busy(PosixPath):
    """A database that is written to whenever somebody looks at it."""

    def __str__(self) -> str:
        with open(super().__str__(), "ab") as file:
            file.write(b" ")
        return super().__str__()


def test_a_database_that_is_written_to_all_the_time_or_too_large_is_left_for_another_night(tmp_path):
    path = opencode.TestDatabase().write_session(tmp_path, turns_of("One."))
    with pytest.raises(OSError, match="it is being written to"), DatabaseCopy().opened(Busy(path)):
        pass
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(OSError, match="it is larger than 2 GiB"), DatabaseCopy().opened(path):
        pass


def test_a_query_that_never_ends_is_ended(tmp_path):
    path = tmp_path / "endless.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE session (id)")
        database.executemany("INSERT INTO session VALUES (?)", [(number,) for number in range(1_000)])
    with pytest.raises(OSError, match="interrupted"), DatabaseCopy(steps=10).opened(path) as database:
        database.execute("SELECT sum(a.id * b.id * c.id) FROM session a, session b, session c").fetchone()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


COLUMNS = "NULL AS parent_id, 1 AS time_updated, 1 AS time_created"


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("session", f"{ENDLESS} SELECT 's' || x AS id, {COLUMNS} FROM n"),
        ("session", f"SELECT '{ID}' AS id, {COLUMNS}, hex(zeroblob(450000000)) AS directory"),
        (
            "part",
            f"{ENDLESS} SELECT '{ID}' AS session_id, 'm' AS message_id, x AS id, '{{}}' AS data, {COLUMNS} FROM n",
        ),
    ],
)
def test_a_view_in_the_place_of_a_table_is_not_read(name, view, tmp_path):
    path = tmp_path / DATABASE
    opencode.write_database(path, ID, PROJECT, [opencode.asked(1, opencode.said("Do it."))])
    (real,) = OpenCodeTranscripts().find(tmp_path, {})
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"DROP TABLE {name}")
        database.execute(f"CREATE VIEW {name} AS {view}")
    source = OpenCodeTranscripts()
    (found,) = source.find(tmp_path, {})
    assert "cannot be read as a database" in source.read(found).problem
    assert "cannot be read as a database" in source.read(real).problem


def test_a_session_that_is_gone_a_forged_table_and_a_huge_part_are_no_obstacle(tmp_path):
    path = tmp_path / DATABASE
    opencode.write_database(path, ID, PROJECT, [opencode.asked(1, opencode.said("Do it."))])
    found = opencode.only(tmp_path)
    assert OpenCodeTranscripts().read(found.model_copy(update={"id": "other"})).problem == "the session is gone"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        row = {"id": "prt_z", "message_id": "msg_001", "session_id": ID, "data": b" " * (8 * 2**20 + 1)}
        opencode.insert(database, "part", row)
    assert OpenCodeTranscripts().read(found).skipped == {"long line": 1}
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE part")
    assert (
        OpenCodeTranscripts().read(found).problem
        == "cannot be read: it cannot be read as a database: no such table: part"
    )
    source = OpenCodeTranscripts()
    (broken,) = source.find(tmp_path, {})
    assert source.read(broken).problem == "cannot be read: it cannot be read as a database: no such table: part"
