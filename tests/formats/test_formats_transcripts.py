"""What real programs sent, as their transcripts hold it, in bodies of the formats they speak."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from etude.formats import MESSAGES, RESPONSES
from etude.records import Message
from rows import rows

TRANSCRIPTS = Path(__file__).resolve().parents[2].parent / "shared" / "transcripts"


def records(program: str, pattern: str) -> Iterator[list[dict[str, Any]]]:
    """The records of each session of a program."""
    found = sorted(path for path in (TRANSCRIPTS / program).rglob(pattern) if "agent-" not in path.name)
    if not found:
        pytest.skip(f"the transcripts of {program} are not on this machine")
    for path in found:
        yield [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def kept(messages: tuple[Message, ...]) -> tuple[list[str], list[str | None], str]:
    """Ids of calls and of results, and all text."""
    calls = [call.id for message in messages for call in message.tool_calls]
    results = [message.tool_call_id for message in messages if message.role == "tool"]
    return calls, results, "\n".join(message.text for message in messages)


@rows("program", ["codex", "codex-0.80.0", "codex-0.53.0"])
def test_items_of_codex_sessions(program: str) -> None:
    for session in records(program, "rollout-*.jsonl"):
        items = [record["payload"] for record in session if record["type"] == "response_item"]
        body = json.dumps({"model": "m", "input": items}).encode()
        calls, results, text = kept(RESPONSES.read_request(body, None).request.messages)
        assert calls == [item["call_id"] for item in items if item["type"] == "function_call"]
        assert results == [item["call_id"] for item in items if item["type"] == "function_call_output"]
        shown = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
        assert shown
        assert all(part in text for part in shown)


@pytest.mark.parametrize("program", ["claude", "claude-2.0.37"])
def test_messages_of_claude_sessions(program: str) -> None:
    for session in records(program, "*.jsonl"):
        turns = [record["message"] for record in session if record["type"] in ("user", "assistant")]
        shown = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": shown}).encode()
        calls, results, text = kept(MESSAGES.read_request(body, None).request.messages)
        blocks = [block for turn in turns if isinstance(turn["content"], list) for block in turn["content"]]
        assert calls == [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert results == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        said = [turn["content"] for turn in turns if isinstance(turn["content"], str)]
        said += [block["text"] for block in blocks if block["type"] == "text"]
        assert said
        assert all(part in text for part in said)
