"""Transcripts of Gemini CLI."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strict_source import StrictSourceContract, put_lines, readers, said

from etude.sleep.transcripts.sessions import Turn
from etude.sleep.transcripts.sources.record_files import GeminiCliTranscripts
from etude.testing.source import ID, PROJECT, dated

HASH = hashlib.sha256(PROJECT.encode()).hexdigest()
HEADER = {"sessionId": ID, "projectHash": HASH, "startTime": "2026-05-04T10:00:00.000Z", "kind": "main"}


def folder(home: Path, name: str = "demo") -> Path:
    made = home / ".gemini" / "tmp" / name / "chats"
    made.mkdir(parents=True, exist_ok=True)
    return made


def write(home: Path, records: Sequence[Any], id: str = ID) -> Path:
    path = folder(home) / f"session-2026-05-04T10-00-{id[-8:]}.jsonl"
    return put_lines(path, records)


def messages_of(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []

    def put(turn: Turn, kind: str, content: Any, **more: Any) -> None:
        assert turn.at is not None
        at = turn.at.isoformat().replace("+00:00", "Z")
        messages.append({"id": f"m{len(messages)}", "timestamp": at, "type": kind, "content": content, **more})

    for number, turn in enumerate(turns):
        put(turn, "user", [{"text": turn.prompt}])
        for place, tool in enumerate(turn.tools):
            id = f"call_{number}_{place}"
            response = {"id": id, "name": tool.name, "response": {"output": tool.result}}
            call = {"id": id, "name": tool.name, "args": json.loads(tool.arguments)}
            result = [{"functionResponse": response}]
            status = "error" if tool.failed else "success"
            put(turn, "gemini", "", toolCalls=[{**call, "result": result, "status": status}])
        put(turn, "gemini", turn.answer, thoughts=[{"subject": "hm"}])
    return messages


class TestGeminiCli(StrictSourceContract):
    def make_source(self) -> GeminiCliTranscripts:
        return GeminiCliTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        at = turns[0].at
        assert at is not None
        header = {**HEADER, "sessionId": id, "startTime": at.isoformat()}
        (folder(home).parent / ".project_root").write_text(project)
        lines: list[dict[str, Any]] = [header]
        for message in messages_of(turns):
            # As the program does: first without the calls, then again with them.
            lines += [{key: message[key] for key in message if key != "toolCalls"}, message]
            lines.append({"$set": {"lastUpdated": message["timestamp"]}})
        return dated(write(home, lines, id), turns)


read, session = readers(GeminiCliTranscripts(), lambda home, records: write(home, [HEADER, *records]))


def user(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "user", "content": content, **more}


def agent(id: str, content: Any, *calls: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "gemini", "content": content, **({"toolCalls": list(calls)} if calls else {}), **more}


def call(tool: str, status: str = "success", output: Any = None, **arguments: Any) -> dict[str, Any]:
    result = [] if output is None else [{"functionResponse": {"response": {"output": output}}}]
    return {"id": f"call_{tool}", "name": tool, "args": arguments, "status": status, "result": result}


def test_a_file_that_names_no_session_goes_by_its_own_name(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a", "Hello")])
    (found,) = GeminiCliTranscripts().find(tmp_path, {})
    assert found.id == path.stem


def test_a_session_of_an_old_version_is_counted(tmp_path: Path) -> None:
    (folder(tmp_path) / "session-1.json").write_text(json.dumps({**HEADER, "messages": [user("a", "Hello")]}))
    (found,) = GeminiCliTranscripts().find(tmp_path, {})
    assert GeminiCliTranscripts().read(found).skipped == {"of an old version": 1}


def test_sessions_of_subagents_are_counted(tmp_path: Path) -> None:
    reading = read(tmp_path, [{"$set": {"kind": "subagent"}}, user("a", "Look for it")])
    assert reading.session is None
    assert reading.skipped == {"subagent": 1}


def test_notes_and_compressions_are_no_prompts(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        [
            user("a", [{"text": "<session_context>\nToday is Monday.\n</session_context>"}]),
            user("b", "Hello"),
            agent("c", "Hi"),
            user("d", "<state_snapshot>The story so far</state_snapshot>"),
            agent("e", "Got it."),
            {"id": "f", "type": "info", "content": "Update available"},
        ],
    )
    assert reading.skipped == {"compaction": 1, "meta": 1}
    assert said(reading.session) == [("Hello", "Hi")]


def test_a_prompt_that_the_program_takes_back_after_a_failure_is_an_interrupted_turn(tmp_path: Path) -> None:
    context = user("a", "<session_context>x</session_context>")
    records = [{"$set": {"messages": [context]}}, user("b", "Hello"), {"$set": {"messages": [context]}}]
    shown = session(tmp_path, records)
    assert [(turn.prompt, turn.interrupted) for turn in shown.turns] == [("Hello", True)]


def test_what_the_model_is_reminded_of_does_not_count_twice(tmp_path: Path) -> None:
    full = agent("b", "", call("list", output="a.txt"), timestamp="2026-05-04T10:00:01Z")
    remembered = agent("b", [{"functionCall": {"id": "call_list", "name": "list", "args": {}}}])
    records = [
        user("a", "Hello", timestamp="2026-05-04T10:00:00Z"),
        full,
        agent("c", "Hi"),
        {"$set": {"messages": [user("a", "Hello", timestamp="2026-05-05T10:00:00Z"), remembered, agent("c", "Hi")]}},
        {"$set": {"messages": [user("x", "<state_snapshot>x</state_snapshot>"), agent("y", "Got it.")]}},
        user("d", "More"),
        agent("e", "Yes"),
    ]
    shown = session(tmp_path, records)
    assert said(shown) == [("Hello", "Hi"), ("More", "Yes")]
    assert shown.turns[0].tools[0].result == "a.txt"
    assert shown.turns[0].at is not None
    assert shown.turns[0].at.day == 4


def test_messages_that_are_only_told_by_patches_are_read(tmp_path: Path) -> None:
    first = [user("a", "Hello"), agent("b", "Hi")]
    records = [{"$set": {"messages": first}}, {"$set": {"messages": [*first, user("c", "More"), agent("d", "Yes")]}}]
    assert said(session(tmp_path, records)) == [("Hello", "Hi"), ("More", "Yes")]


def test_turns_that_the_user_took_back_are_counted(tmp_path: Path) -> None:
    records = [
        user("a", "Hello"),
        agent("b", "Hi"),
        user("c", "A wrong way"),
        agent("d", "Wrong"),
        {"$rewindTo": "c"},
        {"$rewindTo": "unknown"},
        user("e", "The right way"),
        agent("f", "Right"),
    ]
    reading = read(tmp_path, records)
    assert reading.skipped == {"taken back": 1}
    assert said(reading.session) == [("Hello", "Hi"), ("The right way", "Right")]


def test_what_the_user_typed_is_preferred_to_what_the_model_was_sent(tmp_path: Path) -> None:
    sent = [{"text": "Sort @a.txt"}, {"text": "\n--- Content from referenced files ---\nlong"}]
    records = [user("a", sent), user("b", sent, displayContent="Sort @a.txt twice")]
    assert [turn.prompt for turn in session(tmp_path, records).turns] == ["Sort @a.txt", "Sort @a.txt twice"]


def test_calls_and_results_in_the_form_of_the_model_are_read(tmp_path: Path) -> None:
    records = [
        user("a", "Hello"),
        agent("b", [{"functionCall": {"id": "1", "name": "list", "args": {"path": "."}}}]),
        user("c", [{"functionResponse": {"id": "1", "response": {"output": "a.txt"}}}]),
        agent("d", [{"text": "Hi"}]),
    ]
    (turn,) = session(tmp_path, records).turns
    assert [(tool.name, tool.arguments, tool.result) for tool in turn.tools] == [("list", '{"path": "."}', "a.txt")]
    assert turn.answer == "Hi"


def test_failed_calls_are_known_by_their_status_and_commands_by_their_exit_code(tmp_path: Path) -> None:
    calls = [
        call("list", "error"),
        call("edit", "cancelled"),
        call("run_shell_command", output="Output: no\nExit Code: 3\n"),
        call("read", "executing"),
    ]
    (turn,) = session(tmp_path, [user("a", "Hello"), agent("b", "", *calls)]).turns
    assert [tool.failed for tool in turn.tools] == [True, True, True, None]


def test_skills_that_were_loaded_are_read_and_not_those_that_were_written(tmp_path: Path) -> None:
    calls = [call("activate_skill", name="sorting"), call("write_file", file_path="/other/SKILL.md")]
    shown = session(tmp_path, [user("a", "Hello"), agent("b", "", *calls)])
    assert shown.skills == ("sorting",)


def test_what_is_rewound_again_and_again_is_counted_and_the_rest_stays(tmp_path: Path) -> None:
    shown = [user(str(number), f"Number {number}.") for number in range(2_000)]
    again = [{"$rewindTo": "1999"}, user("1999", "Once more.")]
    reading = read(tmp_path, [*shown, *again * 2_000, {"$rewindTo": "unknown"}, {"$rewindTo": "1"}])
    assert reading.session is not None
    assert [turn.prompt for turn in reading.session.turns] == ["Number 0."]
    assert reading.skipped["taken back"] == 3_999
