"""Copilot CLI: the events of each session."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from etude.sleep.transcripts.sessions import Found, Reading
from etude.sleep.transcripts.sources.lines import files_under, found_in, items, program_folder, table, text
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from etude.sleep.transcripts.sources.source import Source

_EVENTS = "events.jsonl"


class CopilotCliTranscripts(Source):
    """`session-state/*/events.jsonl`, below `$COPILOT_HOME` or `~/.copilot`."""

    name: ClassVar[str] = "copilot-cli"

    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[Found]:
        folder = program_folder(home, environ, "COPILOT_HOME", ".copilot")
        return found_in(
            self.name,
            (
                (path.parent.name, path, state)
                for path, state in files_under(folder / "session-state", _EVENTS, 1)
                if path.name == _EVENTS and path.parent.name != "session-state"
            ),
        )

    def _read(self, found: Found) -> Reading:
        conversation = SessionBuilder(found)
        for event in conversation.records():
            _tell(event, conversation)
        return conversation.reading()


def _tell(event: dict[str, Any], conversation: SessionBuilder) -> None:
    data = table(event.get("data"))
    kind = event.get("type")
    at = event.get("timestamp")
    conversation.seen(at, table(data.get("context")).get("cwd"))
    if data.get("parentToolCallId") is not None or event.get("agentId") is not None:
        conversation.skipped["subagent"] += 1
    elif kind == "user.message":
        if data.get("source") not in (None, "", "user"):
            conversation.skipped["meta"] += 1
        elif text(data.get("content")):
            meanwhile = data.get("delivery") not in (None, "idle")
            conversation.ask(text(data.get("content")), at, meanwhile=meanwhile)
        else:
            conversation.skipped["empty"] += 1
    elif kind == "assistant.message":
        conversation.say(data.get("content"))
        for request in map(table, items(data.get("toolRequests"))):
            conversation.call(request.get("toolCallId"), request.get("name"), request.get("arguments"))
    elif kind == "tool.execution_complete":
        _used(data, conversation)
    elif kind == "skill.invoked":
        conversation.skill(data.get("name"))
    elif kind in ("abort", "session.error"):
        conversation.stop()
    elif kind == "session.compaction_complete":
        conversation.skipped["compaction"] += 1


def _used(data: dict[str, Any], conversation: SessionBuilder) -> None:
    succeeded = data.get("success")
    code = table(data.get("shellExecution")).get("exitCode")
    failed = succeeded is False or (isinstance(code, int) and code != 0)
    result = table(data.get("result")).get("content")
    if result is None:
        result = table(data.get("error")).get("message")
    conversation.result(data.get("toolCallId"), result, failed if isinstance(succeeded, bool) else None)
