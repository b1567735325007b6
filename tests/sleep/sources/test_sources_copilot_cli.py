import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from strict_source import StrictSourceContract

from etude.sleep.transcripts.sessions import Reading, Session, Turn
from etude.sleep.transcripts.sources.record_files import CopilotCliTranscripts
from etude.testing.source import ID, PROJECT, START, dated


def stamp(at: datetime | None) -> str:
    return (at or START).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event(kind: str, at: datetime | None = None, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "e", "timestamp": stamp(at), "parentId": None}


def write(home: Path, *events: dict[str, Any], id: str = ID) -> Path:
    path = home / ".copilot" / "session-state" / id / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    return path


class TestEvents(StrictSourceContract):
    def make_source(self) -> CopilotCliTranscripts:
        return CopilotCliTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        events = [event("session.start", turns[0].at, sessionId=id, context={"cwd": project})]
        for number, turn in enumerate(turns):
            events += [
                event("user.message", turn.at, content=turn.prompt, transformedContent="...", delivery="idle"),
                event("system.message", turn.at, role="system", content="You are ..."),
                event("assistant.turn_start", turn.at, turnId="0"),
            ]
            for call, tool in enumerate(turn.tools):
                asked = {"toolCallId": f"{number}-{call}", "name": tool.name, "arguments": json.loads(tool.arguments)}
                came = {"success": not tool.failed, "result": {"content": tool.result}}
                events += [
                    event("assistant.message", turn.at, content="", toolRequests=[asked]),
                    event("tool.execution_complete", turn.at, toolCallId=f"{number}-{call}", **came),
                ]
            events.append(event("assistant.message", turn.at, content=turn.answer, toolRequests=[]))
        return dated(write(home, *events, id=id), turns)


def read(home: Path) -> Reading:
    (found,) = CopilotCliTranscripts().find(home, {})
    return CopilotCliTranscripts().read(found)


def session_of(home: Path) -> Session:
    session = read(home).session
    assert session is not None
    return session


def asked(**more: Any) -> dict[str, Any]:
    return event("user.message", **{"content": "Do it.", **more})


def test_tools_and_skills_are_read_with_their_failures(tmp_path):
    requests = [
        {"toolCallId": name, "name": name, "arguments": {}} for name in ("bash", "create", "view", "fetch", "ask")
    ]
    edits = [{"path": "/p/a.md", "kind": "create"}]
    write(
        tmp_path,
        event("session.start", context={"cwd": PROJECT, "branch": "main"}),
        asked(),
        event("skill.invoked", name="notes", content="# Notes"),
        event("assistant.message", content="I will.", toolRequests=requests),
        event("tool.execution_complete", toolCallId="bash", success=True, shellExecution={"exitCode": 3}, result={}),
        event(
            "tool.execution_complete", toolCallId="create", success=True, fileEdits=edits, result={"content": "ok"}
        ),
        event("tool.execution_complete", toolCallId="view", success=False, error={"message": "no such file"}),
        event("tool.execution_complete", toolCallId="fetch", result={"content": "?"}),
    )
    session = session_of(tmp_path)
    (turn,) = session.turns
    assert [(tool.name, tool.failed, tool.result) for tool in turn.tools] == [
        ("bash", True, ""),
        ("create", False, "ok"),
        ("view", True, "no such file"),
        ("fetch", None, "?"),
        ("ask", None, ""),
    ]
    assert (turn.answer, turn.interrupted) == ("I will.", True)
    assert session.skills == ("notes",)


def test_sub_agents_notes_and_compactions_are_left_out_and_counted(tmp_path):
    write(
        tmp_path,
        asked(),
        event("assistant.message", content="A sub-agent says.", parentToolCallId="call"),
        {**event("assistant.message", content="It too."), "agentId": "x"},
        asked(source="skill-notes", content="<skill-context>"),
        asked(content=""),
        event("session.compaction_complete", summaryContent="So far ..."),
        event("assistant.message", content="Done."),
    )
    reading = read(tmp_path)
    assert reading.skipped == {"compaction": 1, "empty": 1, "meta": 1, "subagent": 2}
    assert reading.session is not None
    assert [(turn.prompt, turn.answer) for turn in reading.session.turns] == [("Do it.", "Done.")]


@pytest.mark.parametrize("kind", ["abort", "session.error"])
def test_a_turn_that_was_stopped_or_failed_is_interrupted(kind, tmp_path):
    write(tmp_path, asked(), event("assistant.message", content="I will"), event(kind), asked(content="Again."))
    assert [turn.interrupted for turn in session_of(tmp_path).turns] == [True, True]


def test_a_prompt_given_while_the_agent_works_interrupts_nothing(tmp_path):
    write(
        tmp_path, asked(), asked(content="And that.", delivery="queued"), event("assistant.message", content="Both.")
    )
    assert [turn.interrupted for turn in session_of(tmp_path).turns] == [False, False]
