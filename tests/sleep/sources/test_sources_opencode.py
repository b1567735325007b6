import contextlib
import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from strict_source import OddRecords

from etude.sleep.transcripts.sessions import Session, Turn, UnreadSession
from etude.sleep.transcripts.sources.opencode import OpenCodeTranscripts
from etude.testing.source import ID, OTHER, PROJECT, START

DATABASE = Path(".local", "share", "opencode", "opencode.db")

TABLES = {
    "session": ("id", "parent_id", "directory", "metadata", "revert", "time_created", "time_updated"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "session_id", "time_created", "time_updated", "data"),
}


def ms(at: datetime | None) -> int:
    return round((at or START).timestamp() * 1000)


def messages_of(id: str, turns: Sequence[Turn]) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Identifier, data and parts of each message of a session."""
    shown: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = []
    for number, turn in enumerate(turns):
        at = ms(turn.at)
        asked = {"role": "user", "time": {"created": at}, "agent": "build"}
        shown.append((f"msg_{id}_{number}a", asked, [{"type": "text", "text": turn.prompt}]))
        worked = {"role": "assistant", "time": {"created": at + 1, "completed": at + 5}, "finish": "stop"}
        parts: list[dict[str, Any]] = [{"type": "step-start"}]
        for call, tool in enumerate(turn.tools):
            state = {
                "status": "completed",
                "input": json.loads(tool.arguments),
                "output": tool.result,
                "metadata": {"exit": 0},
            }
            parts.append({"type": "tool", "tool": tool.name, "callID": f"call_{number}_{call}", "state": state})
        parts.append({"type": "text", "text": turn.answer})
        shown.append((f"msg_{id}_{number}b", worked, parts))
    return shown


def insert(database: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    known = [name for name in TABLES[table] if name in row]
    marks = ", ".join("CAST(? AS TEXT)" if name == "data" else "?" for name in known)
    database.execute(f"INSERT INTO {table} ({', '.join(known)}) VALUES ({marks})", [row[name] for name in known])


def write_database(path: Path, id: str, directory: str, shown: Sequence[Any], **session: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for table, names in TABLES.items():
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(names)})")
        for table in TABLES:
            key = "id" if table == "session" else "session_id"
            database.execute(f"DELETE FROM {table} WHERE {key} = ?", [id])
        times = [data["time"]["created"] for _, data, _ in shown] or [ms(START)]
        row = {"id": id, "directory": directory, "time_created": min(times), "time_updated": max(times), **session}
        insert(database, "session", row)
        for name, data, parts in shown:
            at = data["time"]["created"]
            common = {"session_id": id, "time_created": at, "time_updated": at}
            insert(database, "message", {**common, "id": name, "data": json.dumps(data).encode()})
            for number, part in enumerate(parts):
                row = {**common, "id": f"prt_{name}_{number}", "message_id": name, "data": json.dumps(part).encode()}
                insert(database, "part", row)


class TestDatabase(OddRecords):
    def make_source(self) -> OpenCodeTranscripts:
        return OpenCodeTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        path = home / DATABASE
        write_database(path, id, project, messages_of(id, turns), time_updated=ms(turns[-1].at) + 5)
        return path

    def spoil(self, path: Path, id: str, junk: bytes) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            (number,) = database.execute("SELECT count(*) FROM part").fetchone()
            row = {
                "id": f"prt_z{number}",
                "message_id": f"msg_{id}_0b",
                "session_id": id,
                "time_created": 1,
                "data": junk,
            }
            insert(database, "part", row)

    def records(self, path: Path) -> list[Any]:
        shown: list[Any] = []
        with contextlib.closing(sqlite3.connect(path)) as database:
            for table, names in TABLES.items():
                # Two turns are alike: one is enough to spoil.
                for row in database.execute(f"SELECT * FROM {table}").fetchall()[: 1 if table == "session" else 3]:
                    record = dict(zip(names, row, strict=True))
                    shown.append(
                        {"table": table, **record, **({"data": json.loads(row[-1])} if table != "session" else {})}
                    )
        return shown

    def put_records(self, path: Path, records: Sequence[Any]) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            for table in TABLES:
                database.execute(f"DELETE FROM {table}")
            for record in records:
                if not isinstance(record, dict) or record.get("table") not in list(TABLES):
                    continue
                row = {
                    name: json.dumps(value) if name == "data" or isinstance(value, list | dict) else value
                    for name, value in record.items()
                    if value != "\ud800 half"
                }
                insert(database, row.pop("table"), row)


def only(home: Path, environ: dict[str, str] | None = None) -> UnreadSession:
    (found,) = OpenCodeTranscripts().find(home, environ or {})
    return found


def read(home: Path) -> Session:
    session = OpenCodeTranscripts().read(only(home)).session
    assert session is not None
    return session


def asked(at: int, *parts: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    return (f"msg_{at:03}", {"role": "user", "time": {"created": ms(START) + at}, **more}, list(parts))


def worked(at: int, *parts: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    times = {"created": ms(START) + at, "completed": ms(START) + at + 1}
    return (f"msg_{at:03}", {"role": "assistant", "time": times, **more}, list(parts))


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def used(tool: str, status: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "callID": f"call_{tool}", "state": {"status": status, **state}}


def test_sessions_of_sub_agents_are_counted_and_not_found(tmp_path):
    path = tmp_path / DATABASE
    write_database(path, ID, PROJECT, [asked(1, said("Do it.")), worked(2, said("Done."))])
    write_database(path, OTHER, PROJECT, [asked(3, said("You are a sub-agent."))], parent_id=ID)
    found = only(tmp_path)
    assert OpenCodeTranscripts().read(found).skipped == {"subagent": 1}
    child = OpenCodeTranscripts().read(found.model_copy(update={"id": OTHER}))
    assert (child.session, child.skipped) == (None, {"subagent": 1})


def test_what_the_program_said_in_the_users_place_is_left_out_and_counted(tmp_path):
    shown = [
        asked(
            1, said("Do it."), said("The file says ...", synthetic=True), said("no", ignored=True), {"type": "file"}
        ),
        worked(2, said("Working."), said("note", synthetic=True)),
        asked(3, {"type": "compaction", "auto": True}),
        worked(4, said("So far we did this."), summary=True),
        asked(5, said("Continue if you have next steps", synthetic=True)),
        worked(6, said("Done.")),
    ]
    write_database(tmp_path / DATABASE, ID, PROJECT, shown)
    reading = OpenCodeTranscripts().read(only(tmp_path))
    assert reading.skipped == {"compaction": 2, "meta": 1}
    assert reading.session is not None
    assert [(turn.prompt, turn.answer) for turn in reading.session.turns] == [("Do it.", "Done.")]


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ('"Sort the names."', "Sort the names."),
        ('"Say \\"hi\\"\nto all."\n', 'Say "hi"\nto all.'),
        ('"Yes" is not "no"', '"Yes" is not "no"'),
        ("Sort the names.", "Sort the names."),
        ('"', '"'),
    ],
)
def test_quotes_that_the_program_puts_around_an_argument_are_left_out(prompt, shown, tmp_path):
    write_database(tmp_path / DATABASE, ID, PROJECT, [asked(1, said(prompt)), worked(2, said("Done."))])
    assert [turn.prompt for turn in read(tmp_path).turns] == [shown]


def test_tools_and_skills_are_read_with_their_failures(tmp_path):
    parts = [
        used("skill", "completed", input={"name": "notes"}, output="# Notes"),
        used("bash", "completed", input={"command": "false"}, output="", metadata={"exit": 3}),
        used("read", "error", input={"filePath": "/x"}, error="no such file"),
        used("write", "completed", input={"filePath": "/p/a.md", "content": "x"}, output="ok"),
        used("apply_patch", "completed", input={}, output="ok", metadata={"files": [{"filePath": "/p/b.md"}]}),
        used("list", "running", input={}),
    ]
    write_database(tmp_path / DATABASE, ID, PROJECT, [asked(1, said("Do it.")), worked(2, *parts)])
    session = read(tmp_path)
    (turn,) = session.turns
    shown = [(tool.name, tool.failed, tool.result) for tool in turn.tools]
    assert shown == [
        ("skill", False, "# Notes"),
        ("bash", True, ""),
        ("read", True, "no such file"),
        ("write", False, "ok"),
        ("apply_patch", False, "ok"),
        ("list", None, ""),
    ]
    assert session.skills == ("notes",)
    assert turn.interrupted


@pytest.mark.parametrize(
    "end", [{"error": {"name": "MessageAbortedError"}}, {"time": {"created": ms(START) + 2}}], ids=["error", "killed"]
)
def test_a_turn_that_failed_or_was_not_completed_is_interrupted(end, tmp_path):
    shown = [
        asked(1, said("Do it.")),
        worked(2, said("I will"), **end),
        asked(8, said("Again.")),
        worked(9, finish="stop"),
    ]
    write_database(tmp_path / DATABASE, ID, PROJECT, shown)
    assert [turn.interrupted for turn in read(tmp_path).turns] == [True, False]


def test_a_prompt_given_while_the_agent_works_interrupts_nothing(tmp_path):
    shown = [asked(1, said("Do it.")), worked(2, used("bash", "running")), asked(9, said("And that."))]
    shown[1][1]["time"]["completed"] = ms(START) + 20
    shown.append(worked(21, said("Both done.")))
    write_database(tmp_path / DATABASE, ID, PROJECT, shown)
    assert [(turn.prompt, turn.interrupted) for turn in read(tmp_path).turns] == [
        ("Do it.", False),
        ("And that.", False),
    ]


def test_what_the_user_took_back_is_left_out_and_counted(tmp_path):
    shown = [asked(1, said("Do it.")), worked(2, said("Done.")), asked(3, said("No.")), worked(4, said("Undone."))]
    write_database(tmp_path / DATABASE, ID, PROJECT, shown, revert=json.dumps({"messageID": "msg_003"}))
    reading = OpenCodeTranscripts().read(only(tmp_path))
    assert reading.skipped == {"taken back": 1}
    assert reading.session is not None
    assert [turn.answer for turn in reading.session.turns] == ["Done."]


def test_folders_that_are_not_paths_are_left_out(tmp_path):
    shown = [asked(1, said("Do it."))]
    write_database(tmp_path / DATABASE, ID, "relative", shown)
    assert read(tmp_path).project == ""


def test_the_database_is_found_where_the_user_moved_it(tmp_path):
    write_database(tmp_path / "moved" / "opencode" / "my.db", ID, PROJECT, [asked(1, said("Do it."))])
    environ = {"XDG_DATA_HOME": str(tmp_path / "moved"), "OPENCODE_DB": "my.db"}
    assert only(tmp_path, environ).id == ID
    assert only(tmp_path, {"OPENCODE_DB": str(tmp_path / "moved" / "opencode" / "my.db")}).id == ID
    assert list(OpenCodeTranscripts().find(tmp_path, {"OPENCODE_DB": ":memory:"})) == []
