"""Transcripts of Codex CLI."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from strict_source import StrictSourceContract, put_lines, readers, said

from etude.sleep.transcripts.sessions import Turn
from etude.sleep.transcripts.sources.record_files import CodexTranscripts
from etude.testing.source import ID, OTHER, PROJECT, dated

META = {
    "type": "session_meta",
    "payload": {"id": ID, "cwd": PROJECT, "git": {"branch": "topic", "commit_hash": "1f0e9d8c"}},
}


def write(home: Path, records: Sequence[Any], id: str = ID, folder: str = "sessions/2026/05/04") -> Path:
    path = home / ".codex" / folder / f"rollout-2026-05-04T10-00-00-{id}.jsonl"
    return put_lines(path, records)


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **payload}}


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **payload}}


def message(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts], **more)


class TestCodex(StrictSourceContract):
    def make_source(self) -> CodexTranscripts:
        return CodexTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        records: list[dict[str, Any]] = []

        def put(turn: Turn, *shown: dict[str, Any]) -> None:
            assert turn.at is not None
            at = turn.at.isoformat().replace("+00:00", "Z")
            records.extend({"timestamp": at, "ordinal": len(records), **each} for each in shown)

        put(turns[0], {"type": "session_meta", "payload": {"id": id, "cwd": project, "source": "cli"}})
        put(turns[0], message("developer", "<permissions instructions>x</permissions instructions>"))
        put(turns[0], message("user", f"<environment_context>\n<cwd>{project}</cwd>\n</environment_context>"))
        for number, turn in enumerate(turns):
            put(turn, event("task_started"), {"type": "turn_context", "payload": {"cwd": project}})
            put(turn, message("user", turn.prompt), event("user_message", message=turn.prompt))
            for place, tool in enumerate(turn.tools):
                call = f"call_{number}_{place}"
                output = json.dumps({"output": tool.result, "metadata": {"exit_code": int(tool.failed is True)}})
                put(turn, item("function_call", name=tool.name, arguments=tool.arguments, call_id=call))
                put(turn, event("exec_command_end", call_id=call, exit_code=int(tool.failed is True)))
                put(turn, item("function_call_output", call_id=call, output=output))
            put(turn, event("agent_reasoning", text="hm"), item("reasoning", summary=[]))
            put(turn, event("agent_message", message=turn.answer), message("assistant", turn.answer))
            put(turn, event("task_complete", last_agent_message=turn.answer))
        return dated(write(home, records, id), turns)


read, session = readers(CodexTranscripts(), lambda home, records: write(home, [META, *records]))


def test_archived_sessions_are_found_and_none_twice(tmp_path: Path) -> None:
    write(tmp_path, [META])
    write(tmp_path, [META, message("user", "Hello")], folder="archived_sessions")
    write(tmp_path, [META], id=OTHER, folder="archived_sessions")
    (tmp_path / ".codex" / "archived_sessions" / "old.jsonl").write_text("")
    assert sorted(found.id for found in CodexTranscripts().find(tmp_path, {})) == [ID, OTHER, "old"]


def test_a_session_that_is_packed_is_named_and_read_once_it_is_unpacked_beside(tmp_path: Path) -> None:
    path = write(tmp_path, [META, message("user", "Hello")])
    packed = path.rename(f"{path}.zst")
    source = CodexTranscripts()
    (found,) = source.find(tmp_path, {})
    reading = source.read(found)
    assert (reading.session, reading.skipped) == (None, {"packed": 1})
    assert "`unzstd --keep`" in reading.problem
    write(tmp_path, [META, message("user", "Hello")])
    os.utime(path, ns=(packed.stat().st_mtime_ns, packed.stat().st_mtime_ns))
    (found,) = source.find(tmp_path, {})
    reading = source.read(found)
    assert reading.session is not None
    assert [turn.prompt for turn in reading.session.turns] == ["Hello"]


LATER = ["01a227aa-2559-71d2-9d30-6e4872940531", "01a227ab-2559-71d2-9d30-6e4872940531"]
FIRST, FORK = "01a227aa-191c-7de3-b0d1-18d25dab85bd", "01a227aa-2366-7622-8c40-ea7dc9f5b9c5"


@pytest.mark.parametrize(
    ("files", "prompts", "copied", "back"),
    [
        # of each file its name, the session that it goes on from, how many turns of that, and its own
        ([(FIRST, "", 0, "abc"), (f"{FIRST}_{LATER[0]}", FIRST, 2, "d")], "abd", 0, 1),
        ([(FIRST, "", 0, "ab"), (FORK, FIRST, 2, "c"), (f"{FORK}_{LATER[0]}", FORK, 2, "d")], "abd", 2, 1),
        ([(FIRST, "", 0, "ab"), (FORK, FIRST, 1, "c"), (f"{FORK}_{LATER[0]}", FORK, 2, "d")], "acd", 1, 0),
        (
            [(FIRST, "", 0, "abc"), (f"{FIRST}_{LATER[0]}", FIRST, 2, "de"), (f"{FIRST}_{LATER[1]}", FIRST, 1, "f")],
            "af",
            0,
            4,
        ),
        ([(FIRST, "", 0, "ab"), (f"{FIRST}_{LATER[0]}", "gone", 1, "c")], "c", 0, 0),
    ],
)
def test_a_file_that_goes_on_from_an_earlier_turn_takes_back_what_stands_behind_it(
    tmp_path: Path, files: Sequence[tuple[str, str, int, str]], prompts: str, copied: int, back: int
) -> None:
    for name, base, turns, own in files:
        begun = {"thread_id": base, "end_ordinal_exclusive": 1 + turns} if base else None
        meta = {"type": "session_meta", "payload": {**META["payload"], "id": name[:36], "history_base": begun}}
        start = 1 + (turns if base else 0)
        said = [{**message("user", prompt), "ordinal": start + at} for at, prompt in enumerate(own)]
        write(tmp_path, [meta, *said], id=name)
    source = CodexTranscripts()
    found = {each.id: each for each in source.find(tmp_path, {})}
    last = files[-1][0]
    reading = source.read(found[last[:36]])
    assert reading.session is not None
    assert "".join(turn.prompt for turn in reading.session.turns) == prompts
    assert (reading.copied, reading.skipped.get("taken back", 0)) == (copied, back)


@pytest.mark.parametrize(
    "note",
    [
        "<environment_context>\n<cwd>/a</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>",
        "<user_instructions>Be kind.</user_instructions>",
        "<skill>\n<name>sorting</name>\nSort well.\n</skill>",
        "<turn_aborted>The user interrupted.</turn_aborted>",
        "<permissions instructions>x</permissions instructions>",
    ],
)
def test_notes_of_the_program_are_no_prompts(tmp_path: Path, note: str) -> None:
    reading = read(tmp_path, [message("user", note), message("user", "Hello"), message("assistant", "Hi")])
    assert reading.skipped == {"meta": 1}
    assert said(reading.session) == [("Hello", "Hi")]


def test_a_prompt_behind_notes_is_kept(tmp_path: Path) -> None:
    records = [
        message("user", "# AGENTS.md instructions\n<INSTRUCTIONS>x</INSTRUCTIONS>\nSort a.txt"),
        message("user", "<environment_context>x</environment_context>", "Sort b.txt"),
        message("user", "# Context from my IDE setup:\n\n## Open tabs:\n\n## My request for Codex:\nSort c.txt\n"),
    ]
    assert [turn.prompt for turn in session(tmp_path, records).turns] == ["Sort a.txt", "Sort b.txt", "Sort c.txt"]


def test_parts_that_the_program_marks_as_its_own_are_left_out(tmp_path: Path) -> None:
    kinds = {"content_item_kinds": ["environments.environment_context", "user.text"]}
    marked = message("user", "Anything", "Hello", internal_chat_message_metadata_passthrough=kinds)
    assert [turn.prompt for turn in session(tmp_path, [marked]).turns] == ["Hello"]


def test_turns_that_are_reported_twice_count_once(tmp_path: Path) -> None:
    records = [
        message("user", "Hello"),
        event("user_message", message="Hello"),
        event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "Hello"}]}),
        event("agent_message", message="Hi"),
        message("assistant", "Hi"),
    ]
    assert said(session(tmp_path, records)) == [("Hello", "Hi")]


def test_items_without_an_envelope_are_read(tmp_path: Path) -> None:
    records = [{"id": ID, "instructions": None}, message("user", "Hello")["payload"]]
    assert said(session(tmp_path, records)) == [("Hello", "")]


@pytest.mark.parametrize("meta", [{"source": {"subagent": "review"}}, {"thread_source": "subagent"}])
def test_sessions_of_subagents_are_counted(tmp_path: Path, meta: dict[str, Any]) -> None:
    write(tmp_path, [{"type": "session_meta", "payload": meta}, message("user", "Look for it")])
    (found,) = CodexTranscripts().find(tmp_path, {})
    reading = CodexTranscripts().read(found)
    assert reading.session is None
    assert reading.skipped == {"subagent": 1}


def test_compactions_are_counted_and_turns_taken_back_are_left_out(tmp_path: Path) -> None:
    records = [
        message("user", "Hello"),
        message("assistant", "Hi"),
        {"type": "compacted", "payload": {"message": "The story so far"}},
        message("user", "A wrong way"),
        event("thread_rolled_back", num_turns=1),
        message("assistant", "Never mind"),
        event("thread_rolled_back", num_turns="all"),
    ]
    reading = read(tmp_path, records)
    assert reading.skipped == {"compaction": 1, "taken back": 1}
    assert said(reading.session) == [("Hello", "Hi")]


def test_turns_that_were_aborted_or_failed_are_interrupted(tmp_path: Path) -> None:
    records = [
        message("user", "Hello"),
        message("assistant", "Well"),
        event("turn_aborted", reason="interrupted"),
        message("user", "Again"),
        message("assistant", "Well"),
        event("task_complete", last_agent_message=None, error={"message": "400"}),
        message("user", "Once more"),
        item("function_call", name="shell", arguments="{}", call_id="1"),
        event("task_complete", last_agent_message=""),
    ]
    assert [turn.interrupted for turn in session(tmp_path, records).turns] == [True, True, False]


@pytest.mark.parametrize(
    ("output", "result", "failed"),
    [
        ('{"output": "a.txt", "metadata": {"exit_code": 0}}', "a.txt", False),
        ('{"output": "no", "metadata": {"exit_code": 2}}', "no", True),
        ('{"output": "no"}', "no", None),
        ('{"files": 3}', '{"files": 3}', None),
        ("Chunk ID: 1\nWall time: 0 seconds\nProcess exited with code 1\nOutput:\nno\n", "no\n", True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\na.txt", "a.txt", False),
        ("Process running with session ID 7\nOutput:\nso far", "so far", None),
        ("plain text", "plain text", None),
        ({"content": "no", "success": False}, "no", True),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", None),
    ],
)
def test_results_are_what_the_tool_gave_back(tmp_path: Path, output: Any, result: str, failed: bool | None) -> None:
    records = [
        message("user", "Hello"),
        item("function_call", name="shell", arguments="{}", call_id="1"),
        item("function_call_output", call_id="1", output=output),
    ]
    (tool,) = session(tmp_path, records).turns[0].tools
    assert (tool.result, tool.failed) == (result, failed)


def test_calls_of_all_kinds_are_reported(tmp_path: Path) -> None:
    records = [
        message("user", "Hello"),
        item("local_shell_call", call_id="1", action={"type": "exec", "command": ["ls"]}),
        item("web_search_call", id="2", action={"query": "colours"}),
        item("custom_tool_call", call_id="3", name="apply_patch", input="*** Begin Patch\n*** End Patch"),
        item("function_call", call_id="4", name="shell", arguments="no JSON"),
        event("item_completed", item={"type": "CommandExecution", "id": "1", "exit_code": 3}),
    ]
    (turn,) = session(tmp_path, records).turns
    assert [tool.name for tool in turn.tools] == ["local_shell", "web_search", "apply_patch", "shell"]
    assert turn.tools[0].failed is True
    assert turn.tools[3].arguments == "no JSON"


def test_skills_are_reported_when_their_file_is_read_or_their_text_is_put_in(tmp_path: Path) -> None:
    read_it = json.dumps({"cmd": "cat /home/user/.codex/skills/sorting/SKILL.md"})
    records = [
        message("user", "<skill>\n<name>counting</name>\nCount well.\n</skill>"),
        message("user", "Hello"),
        item("function_call", call_id="1", name="exec_command", arguments=read_it),
    ]
    assert session(tmp_path, records).skills == ("counting", "sorting")
