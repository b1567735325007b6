"""Where programs keep the records of their sessions, and that all sources keep the contract with what they write."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest
from strict_source import StrictSourceContract, put_lines
from test_sources_read import (
    ASKED,
    agent,
    answer,
    asked,
    call,
    done,
    entry,
    event,
    happened,
    item,
    message,
    part,
    qwen_call,
    qwen_result,
    result,
    said,
    use,
    user,
)

from etude.sleep.transcripts.harvest import SessionQuery, harvest
from etude.sleep.transcripts.sessions import Reading, Turn
from etude.sleep.transcripts.sources import Source, source_of
from etude.testing.source import ID, OTHER, PROJECT, SourceContract, dated

Record = dict[str, Any]
PLACES = {
    "claude-code": ".claude/projects/-home-user-demo/{}.jsonl",
    "codex": ".codex/sessions/2026/05/04/rollout-2026-05-04T10-00-00-{}.jsonl",
    "gemini-cli": ".gemini/tmp/demo/chats/session-2026-05-04T10-00-{}.jsonl",
    "qwen-code": ".qwen/projects/-home-user-demo/chats/{}.jsonl",
    "pi": ".pi/agent/sessions/--home-user-demo--/2026-05-04T10-00-00-000Z_{}.jsonl",
    "copilot-cli": ".copilot/session-state/{}/events.jsonl",
}


def put(program: str, home: Path, records: Sequence[Any], id: str = ID) -> Path:
    return put_lines(home / PLACES[program].format(id), records)


def claude_code(turn: Turn) -> Iterator[Record]:
    yield said(turn.prompt)
    for at, tool in enumerate(turn.tools):
        id = f"{turn.at}-{at}"
        yield answer({"type": "thinking", "thinking": "hm"})
        yield answer(use(tool.name, id, **json.loads(tool.arguments)))
        yield result(tool.result, id, is_error=tool.failed)
    yield answer(turn.answer, ends="end_turn")


def codex(turn: Turn) -> Iterator[Record]:
    yield event("task_started")
    yield message("user", turn.prompt)
    yield event("user_message", message=turn.prompt)
    for at, tool in enumerate(turn.tools):
        id, code = f"{turn.at}-{at}", int(tool.failed is True)
        yield item("function_call", name=tool.name, arguments=tool.arguments, call_id=id)
        yield event("exec_command_end", call_id=id, exit_code=code)
        output = json.dumps({"output": tool.result, "metadata": {"exit_code": code}})
        yield item("function_call_output", call_id=id, output=output)
    yield item("reasoning", summary=[])
    yield message("assistant", turn.answer)
    yield event("task_complete", last_agent_message=turn.answer)


def gemini_cli(turn: Turn) -> Iterator[Record]:
    yield user(f"{turn.at}", [{"text": turn.prompt}])
    for at, tool in enumerate(turn.tools):
        made = call(tool.name, "error" if tool.failed else "success", tool.result, **json.loads(tool.arguments))
        # As the program does: first without the calls, then again with them.
        yield agent(f"{turn.at}-{at}", "")
        yield agent(f"{turn.at}-{at}", "", {**made, "id": f"{turn.at}-{at}"})
    yield agent(f"{turn.at} done", turn.answer, thoughts=[{"subject": "hm"}])


def qwen_code(turn: Turn) -> Iterator[Record]:
    yield part("user", turn.prompt, provenance="real_user")
    for at, tool in enumerate(turn.tools):
        id = f"{turn.at}-{at}"
        yield part(
            "assistant", {"text": "hm", "thought": True}, qwen_call(id, tool.name, **json.loads(tool.arguments))
        )
        yield qwen_result(id, {"output": tool.result}, "error" if tool.failed else "success", tool.name)
    yield part("assistant", turn.answer)


def pi(turn: Turn) -> Iterator[Record]:
    yield entry("", None, "user", [{"type": "text", "text": turn.prompt}])
    for at, tool in enumerate(turn.tools):
        made = {
            "type": "toolCall",
            "id": f"{turn.at}-{at}",
            "name": tool.name,
            "arguments": json.loads(tool.arguments),
        }
        yield entry("", None, "assistant", [made], stopReason="toolUse")
        given = [{"type": "text", "text": tool.result}]
        yield entry("", None, "toolResult", given, toolCallId=made["id"], isError=tool.failed)
    yield entry("", None, "assistant", [{"type": "text", "text": turn.answer}], stopReason="stop")


def copilot_cli(turn: Turn) -> Iterator[Record]:
    yield asked(content=turn.prompt, transformedContent="...", delivery="idle")
    yield happened("system.message", role="system", content="You are ...")
    for at, tool in enumerate(turn.tools):
        id = f"{turn.at}-{at}"
        request = {"toolCallId": id, "name": tool.name, "arguments": json.loads(tool.arguments)}
        yield happened("assistant.message", content="", toolRequests=[request])
        yield done(id, success=not tool.failed, result={"content": tool.result})
    yield happened("assistant.message", content=turn.answer, toolRequests=[])


class Written:
    """Sessions as a program writes them."""

    program: ClassVar[str]

    def make_source(self) -> Source:
        return source_of(self.program)

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        records = list[Record](self.header(turns[0], id, project))
        for turn in turns:
            assert turn.at is not None
            for record in globals()[self.program.replace("-", "_")](turn):
                parent = records[-1] if records else {}
                tree = {
                    "uuid": f"{id}-{len(records)}",
                    "parentUuid": parent.get("uuid"),
                    "sessionId": id,
                    "cwd": project,
                }
                if self.program == "pi":
                    tree = {"id": f"e{len(records)}", "parentId": parent["id"] if len(records) > 1 else None}
                elif self.program not in ("claude-code", "qwen-code"):
                    tree = {}
                records.append({**record, **tree, "timestamp": turn.at.isoformat().replace("+00:00", "Z")})
        if self.program == "gemini-cli":
            put_lines(home / ".gemini/tmp/demo/.project_root", []).write_text(project)
        return dated(put(self.program, home, records, id), turns)

    def header(self, first: Turn, id: str, project: str) -> list[Record]:
        """Records before the first turn."""
        at = "" if first.at is None else first.at.isoformat()
        heads: dict[str, Record] = {
            "codex": {"type": "session_meta", "payload": {"id": id, "cwd": project, "source": "cli"}},
            "gemini-cli": {"sessionId": id, "projectHash": "x", "startTime": at, "kind": "main"},
            "pi": {"type": "session", "version": 3, "id": id, "cwd": project},
            "copilot-cli": happened("session.start", sessionId=id, context={"cwd": project}),
        }
        return [{**heads[self.program], "timestamp": at}] if self.program in heads else []


class TestClaudeCode(Written, SourceContract):
    program = "claude-code"


class TestCodex(Written, StrictSourceContract):
    program = "codex"


class TestGeminiCli(Written, SourceContract):
    program = "gemini-cli"


class TestQwenCode(Written, SourceContract):
    program = "qwen-code"


class TestPi(Written, SourceContract):
    program = "pi"


class TestCopilotCli(Written, SourceContract):
    program = "copilot-cli"


def found_in(program: str, home: Path, environ: dict[str, str] | None = None) -> list[str]:
    return sorted(each.id for each in source_of(program).find(home, environ or {}))


def reading_of(program: str, home: Path) -> Reading:
    source = source_of(program)
    (found,) = source.find(home, {})
    return source.read(found)


def prompts_in(reading: Reading) -> list[str]:
    return [] if reading.session is None else [turn.prompt for turn in reading.session.turns]


def test_files_that_are_no_sessions_of_a_user_are_not_found(tmp_path: Path) -> None:
    for name in ("agent-7d637958", f"{ID}/subagents/agent-1", "../stray"):
        put("claude-code", tmp_path, [said("Look for it")], name)
    for name in ("../usage", "subagents/a"):
        put("qwen-code", tmp_path, [part("user", "Hello")], name)
    assert (found_in("claude-code", tmp_path), found_in("qwen-code", tmp_path)) == ([], [])


def test_of_two_variables_that_move_a_folder_the_narrower_counts(tmp_path: Path) -> None:
    put("qwen-code", tmp_path, [part("user", "Hello")])
    moved = {"QWEN_RUNTIME_DIR": str(tmp_path / ".qwen"), "QWEN_HOME": "/nowhere"}
    assert found_in("qwen-code", tmp_path / "elsewhere", moved) == [ID]


def test_a_session_of_gemini_goes_by_its_id_or_its_file_and_one_of_an_old_version_is_counted(tmp_path: Path) -> None:
    path = put("gemini-cli", tmp_path, [user("a", "Hello")])
    assert found_in("gemini-cli", tmp_path) == [path.stem]
    old = {"sessionId": ID, "kind": "main", "messages": [user("a", "Hello")]}
    path.rename(path.with_name("session-1.json")).write_text(json.dumps(old))
    assert reading_of("gemini-cli", tmp_path).skipped == {"of an old version": 1}


TYPED = {
    "gemini-cli": ".gemini/tmp/demo/logs.json",
    "qwen-code": f".qwen/tmp/{sha256(PROJECT.encode()).hexdigest()}/logs.json",
}


@pytest.mark.parametrize(
    ("typed", "scripted"),
    [
        (None, False),
        ([], True),
        ([{"sessionId": OTHER, "type": "user", "message": f'x "sessionId": "{ID}"'}], True),
        ([{"sessionId": OTHER, "message": "x"}, {"sessionId": ID, "message": "Hello"}], False),
        ("broken", False),
    ],
)
@pytest.mark.parametrize("program", TYPED)
def test_a_session_of_which_nothing_was_typed_at_the_terminal_was_told_by_a_script(
    tmp_path: Path, program: str, typed: object, scripted: bool
) -> None:
    begins = {"sessionId": ID, "projectHash": "x", "kind": "main"}
    records = [begins, user("a", "Hello")] if program == "gemini-cli" else [part("user", "Hello", cwd=PROJECT)]
    put(program, tmp_path, records)
    if typed is not None:
        file = tmp_path / TYPED[program]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("[{" if typed == "broken" else json.dumps(typed, indent=2))
    session = reading_of(program, tmp_path).session
    assert session is not None
    assert [turn.scripted for turn in session.turns] == [scripted]


META = {"type": "session_meta", "payload": {"id": ID, "cwd": PROJECT, "git": {"branch": "topic"}}}


def test_archived_sessions_are_found_and_none_twice(tmp_path: Path) -> None:
    archive = tmp_path / ".codex" / "archived_sessions"
    path = put("codex", tmp_path, [META])
    put_lines(archive / path.name, [META, ASKED])
    put_lines(archive / path.name.replace(ID, OTHER), [META])
    put_lines(archive / "old.jsonl", [])
    assert found_in("codex", tmp_path) == [ID, OTHER, "old"]


def test_a_session_that_is_packed_is_named_and_read_once_it_is_unpacked_beside(tmp_path: Path) -> None:
    path = put("codex", tmp_path, [META, ASKED])
    packed = path.rename(f"{path}.zst")
    reading = reading_of("codex", tmp_path)
    assert reading.session is None
    assert "`unzstd --keep`" in reading.problem
    found = harvest([source_of("codex")], None, SessionQuery(now=datetime.now(UTC)), home=tmp_path, environ={})
    assert found.skipped == {"unreadable": 1}  # once
    put("codex", tmp_path, [META, ASKED])
    os.utime(path, ns=(packed.stat().st_mtime_ns, packed.stat().st_mtime_ns))
    assert prompts_in(reading_of("codex", tmp_path)) == ["Hello"]


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
        put("codex", tmp_path, [meta, *said], name)
    source = source_of("codex")
    found = {each.id: each for each in source.find(tmp_path, {})}
    reading = source.read(found[files[-1][0][:36]])
    assert "".join(prompts_in(reading)) == prompts
    assert (reading.copied, reading.skipped.get("taken back", 0)) == (copied, back)
