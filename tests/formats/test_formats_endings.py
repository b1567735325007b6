"""How replies end: what is known as a good end, in the words of many servers, and what is a broken reply."""

import json
from typing import Any

import pytest

from etude.errors import TransientError
from etude.formats import CHAT, MESSAGES, RESPONSES, Format
from etude.formats.endings import ending_of, has_ended
from etude.formats.errors import ServerError
from etude.records import Reply, Usage
from rows import rows

STOP: list[object] = [None, "", "null", "stop", "STOP", "eos", "eos_token", "eosFound", "stop_sequence", "end_turn"]
STOP += ["COMPLETE", "FinishReason.STOP", "FINISH_REASON_STOP", "REASON_STOP", "function_call", "tool_use", "normal"]
STOP += [
    "end",
    "EOT",
    "malformed_model_output",
    "malformed_response",
    "TOOL_CALL",
    "end-of-text",
    "pause_turn",
    "MALFORMED_FUNCTION_CALL",
    {"type": "stop", "matched": 7},
    "stopStringFound",
    "STOP_REASON_END_TURN",
    "finished_by_eos",
    "eos_token_found",
    "stop_str",
    "stop_ids",
    "toolCalls",
    "function_calls",
    "matched_stop",
]
LENGTH: list[object] = ["length", "max_tokens", "MAX_TOKENS", "maxTokens", "model_length", "max_output_tokens"]
LENGTH += ["model_context_window_exceeded", "ERROR_LIMIT", "context", {"type": "length", "length": 9}]
LENGTH += ["MAX_OUTPUT_REACHED", "token_limit_reached", "length_capped", "lengthLimit", "repetition_truncation"]
REFUSAL = ["content_filter", "SAFETY", "refusal", "sensitive", "content_filter: RECITATION", "OTHER", "blacklist"]
REFUSAL += ["content_policy_violation", "prompt_blocked", "moderation", "guardrail", "IMAGE_OTHER", "image_safety"]
GOOD = {"stop": STOP, "length": LENGTH, "refusal": REFUSAL}
BROKEN: list[object] = [
    "error",
    "network_error",
    "insufficient_system_resource",
    "abort",
    "cancelled",
    "timeout",
    "ERROR",
    "load",
]
BROKEN += [
    "time_limit",
    "unknown_of_tomorrow",
    "model_error",
    {"type": "abort", "message": "gone"},
    {"reason": "gone"},
    500,
    "error: stop",
    "function_error",
    "unexpected_end",
    "context_deadline_exceeded",
    "rate_limit",
    "token",
    "content",
    "userStopped",
    "model_unloaded",
]


@rows(("reason", "meant"), [(word, meant) for meant, words in GOOD.items() for word in words])
def test_good_ends_are_known_however_they_are_spelt(reason: object, meant: str) -> None:
    assert ending_of(reason, Usage()) == meant


@rows("reason", BROKEN)
def test_any_other_end_is_a_temporary_failure_that_is_billed(reason: object) -> None:
    billed = Usage(input_tokens=7)
    with pytest.raises(TransientError, match="broke the reply off") as caught:
        ending_of(reason, billed)
    assert caught.value.usage == billed


@rows(("reason", "ended"), [(None, False), ("", False), ("null", False), ("stop", True)])
def test_in_a_stream_some_servers_write_that_there_is_no_end_yet(reason: object, ended: bool) -> None:
    assert has_ended(reason) is ended


def chat(reason: object, **fields: Any) -> Any:
    choice = {"index": 0, "message": {"role": "assistant", "content": "half a"}, "finish_reason": reason}
    return {"choices": [choice | fields], "usage": {"prompt_tokens": 20, "completion_tokens": 2}}


def streamed(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def chunk(text: str, reason: object = None, **fields: Any) -> Any:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}], **fields}


def message(stop: object) -> Any:
    return {"type": "message", "content": [{"type": "text", "text": "half a"}], "stop_reason": stop, "usage": {}}


def response(status: object, **fields: Any) -> Any:
    part = {"type": "output_text", "text": "half a"}
    return {"status": status, "output": [{"type": "message", "role": "assistant", "content": [part]}], **fields}


def read(form: Format, body: Any) -> Reply:
    return form.read_reply(body if isinstance(body, bytes) else json.dumps(body).encode())


BROKEN_BODIES = [
    (CHAT, chat("network_error")),
    (CHAT, streamed(chunk("half"), chunk(" a", "error"))),
    (CHAT, streamed(chunk("half", "error"), chunk(" a", "stop"))),
    (CHAT, streamed(chunk("half"), chunk("", "insufficient_system_resource", usage={"prompt_tokens": 5}))),
    (MESSAGES, message("error")),
    (
        MESSAGES,
        streamed(
            {"type": "message_start", "message": message(None) | {"content": []}},
            {"type": "message_delta", "delta": {"stop_reason": "server_fault"}},
            {"type": "message_stop"},
        ),
    ),
    (RESPONSES, response("failed")),
    (RESPONSES, response("failed", error=None, usage=None)),
    (RESPONSES, response("cancelled")),
    (RESPONSES, response("in_progress")),
    (RESPONSES, response("queued")),
    (RESPONSES, response("incomplete", incomplete_details={"reason": "server_shutdown"})),
    (RESPONSES, streamed({"type": "response.failed", "response": response("failed")})),
    (RESPONSES, streamed({"type": "response.cancelled", "response": response("cancelled")})),
    (RESPONSES, streamed({"type": "response.failed", "response": response(None)})),
]


@rows(("form", "body"), BROKEN_BODIES)
def test_a_reply_that_broke_off_is_no_answer_in_any_format(form: Format, body: Any) -> None:
    with pytest.raises(TransientError, match="broke the reply off"):
        read(form, body)


def test_what_a_broken_reply_cost_is_told() -> None:
    with pytest.raises(TransientError) as caught:
        read(CHAT, chat("error"))
    assert caught.value.usage == Usage(input_tokens=20, output_tokens=2)


@rows(
    ("form", "body"),
    [
        (CHAT, {"error": {"message": "upstream is gone", "code": 502}}),
        (CHAT, {"choices": None, "error": "upstream is gone"}),
        (CHAT, chat("error", error={"message": "upstream is gone"})),
        (CHAT, chat("stop", error={"message": "upstream is gone", "code": 502})),
        (CHAT, b'event: error\ndata: {"message": "upstream is gone"}\n\n' + streamed(chunk("half a", "stop"))),
        (CHAT, streamed(chunk("half", error=None), {"choices": [{"error": {"message": "upstream is gone"}}]})),
        (MESSAGES, {"type": "error", "error": {"type": "api_error", "message": "upstream is gone"}}),
        (RESPONSES, response("failed", error={"message": "upstream is gone"})),
    ],
)
def test_an_error_within_a_body_is_told_in_its_words(form: Format, body: Any) -> None:
    with pytest.raises(ServerError, match="upstream is gone") as caught:
        read(form, body)
    assert caught.value.status >= 500


@rows(
    ("form", "body", "finish"),
    [
        (CHAT, chat(None), "stop"),
        (CHAT, chat("stop", error=None), "stop"),
        (CHAT, chat("eos_token") | {"error": {}}, "stop"),
        (CHAT, {"choices": [{"finish_reason": "content_filter"}]}, "refusal"),
        (CHAT, {"choices": [{"finish_reason": "length", "index": 0}]}, "length"),
        (CHAT, streamed(chunk("a", "null"), chunk("b", "MAX_TOKENS")), "length"),
        (CHAT, streamed(chunk("a", "length"), chunk("b", "stop")), "length"),
        (CHAT, streamed(chunk("a", "stop"), chunk("b", "length")), "length"),
        (RESPONSES, streamed({"type": "response.incomplete", "response": response(None)}), "length"),
        (MESSAGES, message(None), "stop"),
        (MESSAGES, message("model_context_window_exceeded"), "length"),
        (RESPONSES, response(None), "stop"),
        (RESPONSES, response("incomplete"), "length"),
        (RESPONSES, response("incomplete", incomplete_details={"reason": "max_tokens"}), "length"),
        (RESPONSES, response("completed", error={}), "stop"),
    ],
)
def test_a_whole_reply_is_an_answer(form: Format, body: Any, finish: str) -> None:
    assert read(form, body).finish == finish


@rows("before", [[], [chunk("half"), chunk(" a")], [chunk("half a", "stop")]])
def test_a_stream_may_end_with_the_message_in_whole(before: list[Any]) -> None:
    assert read(CHAT, streamed(*before, chat("stop"))).text == "half a"


@rows("kind", ["reasoning", "thought", "thinking", "reasoning_text"])
def test_parts_of_a_content_that_are_thoughts_are_not_said(kind: str) -> None:
    parts = [{"type": kind, "text": "or b"}, {"type": "text", "text": "half a"}]
    assert read(CHAT, chat("stop", message={"content": parts})).text == "half a"
    assert read(CHAT, streamed(chunk(parts[:1]), chunk(parts[1:], "stop"))).text == "half a"  # type: ignore[arg-type]
    assert read(RESPONSES, {"output": [{"type": "message", "content": parts}]}).text == "half a"


def test_what_is_said_on_the_way_is_no_part_of_the_answer() -> None:
    def phase(name: str, text: str) -> Any:
        return {"type": "message", "phase": name, "content": text}

    on_the_way = phase("commentary", "I look first.")
    assert read(RESPONSES, {"output": [on_the_way, phase("final_answer", "half a")]}).text == "half a"
    assert read(RESPONSES, {"output": [on_the_way]}).text == "I look first."


def test_a_stream_whose_last_event_leaves_the_items_out_has_those_it_sent_before() -> None:
    (item,) = response("completed")["output"]
    done = {"type": "response.output_item.done", "item": item}
    stream = streamed(done, {"type": "response.completed", "response": {"status": "completed", "output": []}})
    assert read(RESPONSES, stream).text == "half a"
