"""Transcripts of Qwen Code."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strict_source import StrictSourceContract, put_lines, readers, said

from etude.sleep.transcripts.sessions import Turn
from etude.sleep.transcripts.sources.record_files import QwenCodeTranscripts
from etude.testing.source import ID, PROJECT, dated

FOLDER = Path(".qwen") / "projects" / "-home-user-demo" / "chats"


def write(home: Path, records: Sequence[Any], name: str = f"{ID}.jsonl") -> Path:
    path = home / FOLDER / name
    return put_lines(path, records)


def written(turns: Sequence[Turn], id: str, project: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []

    def put(turn: Turn, kind: str, role: str, parts: Any, **more: Any) -> None:
        assert turn.at is not None
        records.append(
            {
                "uuid": f"{id}-{len(records)}",
                "parentUuid": records[-1]["uuid"] if records else None,
                "sessionId": id,
                "timestamp": turn.at.isoformat().replace("+00:00", "Z"),
                "type": kind,
                "cwd": project,
                "message": {"role": role, "parts": parts},
                **more,
            }
        )

    for number, turn in enumerate(turns):
        put(turn, "user", "user", [{"text": turn.prompt}], provenance="real_user")
        for place, tool in enumerate(turn.tools):
            call = {"id": f"call_{number}_{place}", "name": tool.name}
            given = {**call, "args": json.loads(tool.arguments)}
            put(turn, "assistant", "model", [{"text": "hm", "thought": True}, {"functionCall": given}])
            response = {**call, "response": {"output": tool.result}}
            status = {"status": "error" if tool.failed else "success"}
            put(turn, "tool_result", "user", [{"functionResponse": response}], toolCallResult=status)
        put(turn, "assistant", "model", [{"text": turn.answer}])
    return records


class TestQwenCode(StrictSourceContract):
    def make_source(self) -> QwenCodeTranscripts:
        return QwenCodeTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        return dated(write(home, written(turns, id, project), f"{id}.jsonl"), turns)


def record(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    said = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"type": kind, "message": {"parts": said}, **more}


read, session = readers(QwenCodeTranscripts(), lambda home, records: write(home, records))


def test_the_folder_can_be_moved_by_environment_variables(tmp_path: Path) -> None:
    write(tmp_path, [record("user", "Hello")])
    folder = str(tmp_path / ".qwen")
    for moved in ({"QWEN_HOME": folder}, {"QWEN_RUNTIME_DIR": folder, "QWEN_HOME": "/nowhere"}):
        assert len(QwenCodeTranscripts().find(tmp_path / "elsewhere", moved)) == 1


def test_only_files_among_the_chats_are_sessions(tmp_path: Path) -> None:
    write(tmp_path, [record("user", "Hello")], "../usage.jsonl")
    write(tmp_path, [record("user", "Hello")], "subagents/a.jsonl")
    assert QwenCodeTranscripts().find(tmp_path, {}) == ()


def test_what_is_no_part_of_the_conversation_is_counted(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        [
            record("user", "Hello"),
            record("user", "<system-reminder>Mind the time.</system-reminder>"),
            record("user", "A hook speaks", provenance="hook"),
            record("user", "Look for it", isSidechain=True),
            record("system", subtype="chat_compression"),
            record("system", subtype="ui_telemetry"),
            record("assistant", "Hi"),
        ],
    )
    assert reading.skipped == {"compaction": 1, "meta": 2, "sidechain": 1}
    assert said(reading.session) == [("Hello", "Hi")]


def test_a_way_that_the_user_went_back_from_is_counted(tmp_path: Path) -> None:
    rows = [("a", None, "Tea."), ("b", "a", "French."), ("c", "a", "Spanish.")]
    reading = read(tmp_path, [record("user", text, uuid=id, parentUuid=parent) for id, parent, text in rows])
    assert ([prompt for prompt, _ in said(reading.session)], reading.skipped) == (
        ["Tea.", "Spanish."],
        {"taken back": 1},
    )


def test_files_that_a_prompt_refers_to_are_no_part_of_it(tmp_path: Path) -> None:
    behind = "\n--- Content from referenced files ---\nContent from @a.txt:\nlong text"
    assert session(tmp_path, [record("user", "Sort @a.txt", behind)]).turns[0].prompt == "Sort @a.txt"


SUCCESS = {"toolCallResult": {"status": "success"}}


def test_calls_that_were_cancelled_or_failed_are_reported_as_such(tmp_path: Path) -> None:
    calls = [{"functionCall": {"id": str(number), "name": "edit", "args": {}}} for number in range(4)]
    failure = {"functionResponse": {"id": "0", "response": {"error": "no"}}}
    cancelled = {"functionResponse": {"id": "1", "response": {"error": "stopped"}}}
    other = {"functionResponse": {"id": "2", "response": {"files": 3}}}
    records = [
        record("user", "Hello"),
        record("assistant", *calls),
        record("tool_result", failure, toolCallResult={"status": "error"}),
        record("tool_result", cancelled, toolCallResult={"status": "cancelled"}),
        record("tool_result", other),
    ]
    (turn,) = session(tmp_path, records).turns
    assert [tool.result for tool in turn.tools] == ["no", "stopped", '{"files": 3}', ""]
    assert [tool.failed for tool in turn.tools] == [True, True, None, None]
    assert turn.interrupted


def test_a_command_that_ended_with_an_error_failed_whatever_its_status_says(tmp_path: Path) -> None:
    shown = {
        "0": "Output: no\nExit Code: 3\nSignal: (none)",
        "1": "Output:\nExit Code: 1\nExit Code: 0\nSignal: (none)",
    }
    call = {"name": "run_shell_command", "args": {}}
    records = [
        record("user", "Hello"),
        record("assistant", *({"functionCall": {**call, "id": id}} for id in shown)),
        *(
            record("tool_result", {"functionResponse": {**call, "id": id, "response": {"output": text}}}, **SUCCESS)
            for id, text in shown.items()
        ),
    ]
    (turn,) = session(tmp_path, records).turns
    assert [tool.failed for tool in turn.tools] == [True, False]


def test_skills_that_were_loaded_are_read_and_not_those_that_were_written(tmp_path: Path) -> None:
    records = [
        record("user", "Hello"),
        record("assistant", {"functionCall": {"id": "1", "name": "skill", "args": {"skill": "sorting"}}}),
        record(
            "assistant", {"functionCall": {"id": "2", "name": "write_file", "args": {"file_path": "/b/SKILL.md"}}}
        ),
    ]
    said = session(tmp_path, records)
    assert said.skills == ("sorting",)
