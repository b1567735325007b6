"""Transcripts of Pi."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strict_source import StrictSourceContract, put_lines, readers, said

from etude.sleep.transcripts.sessions import Turn
from etude.sleep.transcripts.sources.record_files import PiTranscripts
from etude.testing.source import ID, PROJECT, dated

HEADER = {"type": "session", "version": 3, "id": ID, "timestamp": "2026-05-04T10:00:00.000Z", "cwd": PROJECT}


def write(home: Path, records: Sequence[Any], id: str = ID) -> Path:
    path = home / ".pi" / "agent" / "sessions" / "--home-user-demo--" / f"2026-05-04T10-00-00-000Z_{id}.jsonl"
    return put_lines(path, records)


def written(turns: Sequence[Turn], id: str, project: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []

    def put(turn: Turn, role: str, content: Any, **more: Any) -> None:
        assert turn.at is not None
        parent = records[-1]["id"] if records else None
        at = turn.at.isoformat().replace("+00:00", "Z")
        message = {"role": role, "content": content, "timestamp": int(turn.at.timestamp() * 1000), **more}
        records.append(
            {"type": "message", "id": f"e{len(records)}", "parentId": parent, "timestamp": at, "message": message}
        )

    for number, turn in enumerate(turns):
        put(turn, "user", [{"type": "text", "text": turn.prompt}])
        for place, tool in enumerate(turn.tools):
            call = f"call_{number}_{place}"
            arguments = json.loads(tool.arguments)
            block = {"type": "toolCall", "id": call, "name": tool.name, "arguments": arguments}
            put(turn, "assistant", [{"type": "thinking", "thinking": "hm"}, block], stopReason="toolUse")
            shown = [{"type": "text", "text": tool.result}]
            put(turn, "toolResult", shown, toolCallId=call, toolName=tool.name, isError=tool.failed)
        put(turn, "assistant", [{"type": "text", "text": turn.answer}], stopReason="stop")
    at = turns[0].at.isoformat() if turns and turns[0].at else ""
    return [{**HEADER, "id": id, "cwd": project, "timestamp": at}, *records]


class TestPi(StrictSourceContract):
    def make_source(self) -> PiTranscripts:
        return PiTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        return dated(write(home, written(turns, id, project), id), turns)


def entry(id: str, parent: str | None, role: str, said: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": id, "parentId": parent, "message": {"role": role, "content": said, **more}}


read, session = readers(PiTranscripts(), lambda home, records: write(home, [HEADER, *records]))


def test_the_conversation_is_the_last_entry_with_its_ancestors(tmp_path: Path) -> None:
    records = [
        entry("a", None, "user", "Hello"),
        entry("b", "a", "assistant", "Hi"),
        entry("c", "b", "user", "A wrong way"),
        entry("d", "c", "assistant", "Wrong"),
        entry("e", "b", "user", "The right way"),
        entry("f", "e", "assistant", "Right"),
    ]
    reading = read(tmp_path, records)
    assert said(reading.session) == [("Hello", "Hi"), ("The right way", "Right")]
    assert reading.skipped == {"taken back": 1}


def test_a_conversation_that_begins_anew_leaves_out_what_was_before(tmp_path: Path) -> None:
    records = [entry("a", None, "user", "Hello"), entry("b", None, "user", "Anew"), entry("c", "b", "assistant", "A")]
    assert [turn.prompt for turn in session(tmp_path, records).turns] == ["Anew"]


def test_an_entry_whose_parent_cannot_be_read_follows_the_one_before_it(tmp_path: Path) -> None:
    records = [
        entry("a", None, "user", "Hello"),
        entry("b", "a", "assistant", "Hi"),
        entry("d", "lost", "user", "More"),
        entry("e", "d", "assistant", "Yes"),
    ]
    assert [turn.prompt for turn in session(tmp_path, records).turns] == ["Hello", "More"]


def test_a_circle_of_parents_comes_to_an_end(tmp_path: Path) -> None:
    records = [entry("a", "c", "user", "Hello"), entry("b", "b", "assistant", "Hi"), entry("c", "a", "user", "More")]
    assert [turn.prompt for turn in session(tmp_path, records).turns] == ["Hello", "More"]


def test_entries_of_the_first_version_are_in_order(tmp_path: Path) -> None:
    records = [
        {"type": "message", "timestamp": "2026-05-04T10:00:00Z", "message": {"role": "user", "content": "Hello"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}},
    ]
    reported = session(tmp_path, records)
    assert said(reported) == [("Hello", "Hi")]


def test_what_is_no_part_of_the_conversation_is_counted(tmp_path: Path) -> None:
    records = [
        entry("a", None, "system", "You are an agent."),
        entry("b", "a", "user", "Hello"),
        {"type": "compaction", "id": "c", "parentId": "b", "summary": "The story so far"},
        entry("d", "c", "compactionSummary", "The story so far"),
        {"type": "branch_summary", "id": "e", "parentId": "d", "summary": "A wrong way"},
        {"type": "custom_message", "id": "f", "parentId": "e", "content": "An extension"},
        entry("g", "f", "bashExecution", "", command="ls"),
        {"type": "label", "id": "h", "parentId": "g"},
        entry("i", "h", "assistant", "Hi"),
    ]
    reading = read(tmp_path, records)
    assert reading.skipped == {"compaction": 2, "meta": 4}
    assert said(reading.session) == [("Hello", "Hi")]


def test_a_skill_before_a_prompt_is_a_skill_that_was_loaded(tmp_path: Path) -> None:
    block = '<skill name="sorting" location="/home/user/sorting/SKILL.md">\nSort well.\n</skill>'
    records = [
        entry("a", None, "user", f"{block}\n\nSort a.txt"),
        entry("b", "a", "assistant", "Sorted"),
        entry("c", "b", "user", block.replace("sorting", "counting")),
        entry("d", "c", "assistant", "Ready"),
    ]
    reported = session(tmp_path, records)
    assert reported.skills == ("sorting", "counting")
    assert said(reported) == [("Sort a.txt", "Sorted")]


def test_errors_and_stops_interrupt_the_turn(tmp_path: Path) -> None:
    records = [
        entry("a", None, "user", "Hello"),
        entry("b", "a", "assistant", "Well", stopReason="aborted"),
        entry("c", "b", "user", "Again"),
        entry("d", "c", "assistant", [], stopReason="error"),
    ]
    assert [turn.interrupted for turn in session(tmp_path, records).turns] == [True, True]


def test_the_time_inside_a_message_is_reported_where_the_entry_has_none(tmp_path: Path) -> None:
    records = [entry("a", None, "user", "Hello", timestamp=1777888800000)]
    at = session(tmp_path, records).turns[0].at
    assert at is not None
    assert at.isoformat() == "2026-05-04T10:00:00+00:00"
