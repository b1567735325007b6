import sqlite3

import pytest

from etude.errors import DataError, IdentityError, StopRun
from etude.store import SqliteJournal
from etude.store.database import Database


def open_and_close(path, **options):
    Database(path, **options).close()


def test_a_local_file_uses_the_write_ahead_log(tmp_path):
    database = Database(tmp_path / "journal.db")
    assert database.rows("PRAGMA journal_mode") == [("wal",)]
    assert database.rows("PRAGMA synchronous") == [(1,)]
    database.close()


def test_without_shared_memory_it_falls_back_to_a_rollback_journal(tmp_path, monkeypatch):
    # SQLite's dot-file locking is what it has for file systems without shared memory, as a network one.
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda place, **more: connect(f"{place}&vfs=unix-dotfile", **more))
    database = Database(tmp_path / "journal.db")
    assert database.rows("PRAGMA journal_mode") == [("delete",)]
    assert database.rows("PRAGMA synchronous") == [(2,)]
    with database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('a', 'b', '')")
    database.close()
    assert not list(tmp_path.glob("*-wal"))


def test_paths_with_special_characters_are_plain_paths(tmp_path):
    path = tmp_path / "a b?mode=memory#c%20é.db"
    open_and_close(path)
    assert path.exists()


def test_a_write_that_raises_is_rolled_back(tmp_path):
    database = Database(tmp_path / "journal.db")
    with pytest.raises(StopRun, match="UNIQUE constraint failed"), database.write() as connection:
        connection.executemany("INSERT INTO meta VALUES ('a', ?, '')", ["b", "c"])
    assert database.rows("SELECT name FROM meta") == [("format",)]
    with database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('a', 'c', '')")
    assert database.rows("SELECT value FROM meta WHERE name = 'a'") == [("c",)]
    database.close()


def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path):
    database = Database(tmp_path / "journal.db")
    pages = database.rows("PRAGMA page_count")[0][0]
    database.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StopRun, match="database or disk is full") as caught, database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('a', ?, '')", ("x" * 100_000,))
    assert caught.value.hint == "free some space or fix the permissions, then run the same command again"
    assert database.rows("SELECT name FROM meta") == [("format",)]
    database.close()


@pytest.mark.parametrize("version", ["1", "2", "0", ""])
def test_an_unknown_format_is_refused(tmp_path, version):
    path = tmp_path / "journal.db"
    open_and_close(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ?", (version,))
    connection.close()
    with pytest.raises(IdentityError) as caught:
        Database(path)
    assert caught.value.message == f"journal {str(path)!r} has format {version!r}, this version of etude reads '3'"
    assert caught.value.hint == "use the version of etude that made it, or another `run.name`"


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "journal.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(IdentityError, match="has format 'none'"):
        Database(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    connection.close()


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "journal.db"
    path.write_text("not a database, but long enough to be looked at as one\n" * 100)
    with pytest.raises(DataError, match="file is not a database"):
        Database(path)


def test_a_missing_file_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="there is no journal"):
        Database(tmp_path / "journal.db", read_only=True)
    assert not list(tmp_path.iterdir())


def test_a_path_in_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(DataError, match="unable to open database file"):
        SqliteJournal(tmp_path / "absent" / "journal.db")


def test_closing_twice_does_no_harm(tmp_path):
    database = Database(tmp_path / "journal.db")
    database.close()
    database.close()
