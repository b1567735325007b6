"""Tokens as servers count them: with thoughts apart, with the cache in other places, with mistakes."""

import json
from typing import Any

from etude.formats import CHAT, MESSAGES, RESPONSES
from etude.formats.bills import later, usage_of_anthropic, usage_of_openai
from etude.records import Usage
from rows import rows

THOUGHTS = {"reasoning_tokens": 500}
PASSES = [
    {"type": "compaction", "input_tokens": 180, "output_tokens": 35},
    {"type": "message", "input_tokens": 23, "outputTokens": 10},
]
SHORTENED = Usage(input_tokens=203, output_tokens=45)


def counted(bill: Any) -> tuple[int, int, int]:
    usage = usage_of_openai(bill)
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens


@rows(
    ("bill", "tokens"),
    [
        # thoughts that the output leaves out
        ({"prompt_tokens": 80, "completion_tokens": 9, "total_tokens": 589}, (80, 509, 0)),
        ({"prompt_tokens": 80, "completion_tokens": 9, "completion_tokens_details": THOUGHTS}, (80, 509, 0)),
        ({"prompt_tokens": 80, "completion_tokens": 0, "total_tokens": 580}, (80, 500, 0)),
        ({"input_tokens": 80, "output_tokens": 9, "total_tokens": 589}, (80, 509, 0)),
        ({"prompt_tokens": 80, "completion_tokens": 9, "reasoning_tokens": 500, "total_tokens": 89}, (80, 509, 0)),
        ({"prompt_tokens": 80, "completion_tokens": 9, "thinking_tokens": 500}, (80, 509, 0)),
        # and those that it has in it
        (
            {
                "prompt_tokens": 80,
                "completion_tokens": 509,
                "total_tokens": 589,
                "completion_tokens_details": THOUGHTS,
            },
            (80, 509, 0),
        ),
        # the cache, in the words of each
        ({"prompt_tokens": 90, "completion_tokens": 9, "prompt_cache_hit_tokens": 70}, (90, 9, 70)),
        ({"prompt_cache_hit_tokens": 70, "prompt_cache_miss_tokens": 20, "completion_tokens": 9}, (90, 9, 70)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 70}}, (90, 9, 70)),
        ({"input_tokens": 90, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 70}}, (90, 9, 70)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "cached_tokens": 70}, (90, 9, 70)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "num_cached_tokens": 70}, (90, 9, 70)),
        ({"prompt_tokens": 20, "completion_tokens": 9, "cache_read_input_tokens": 70}, (90, 9, 70)),
        ({"inputTokens": 20, "outputTokens": 9, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 5}, (95, 9, 70)),
        ({"promptTokenCount": 90, "candidatesTokenCount": 9, "cachedContentTokenCount": 70}, (90, 9, 70)),
        (
            {"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": {"cacheReadTokens": 70}},
            (90, 9, 70),
        ),
        # and what the cache did not have
        ({"prompt_tokens": 90, "completion_tokens": 9, "uncached_prompt_tokens": 90}, (90, 9, 0)),
        ({"promptTokens": 90, "completionTokens": 9, "uncachedPromptTokens": 20, "cachedTokens": 70}, (90, 9, 70)),
        ({"uncached_prompt_tokens": 20, "cached_prompt_tokens": 70, "completion_tokens": 9}, (90, 9, 70)),
        ({"prompt_tokens": 90, "prompt_tokens_details": {"non_cached_tokens": 90}}, (90, 0, 0)),
        ({"prompt_tokens": 90, "prompt_tokens_details": {"noncached_tokens": 20, "cached_tokens": 70}}, (90, 0, 70)),
        ({"prompt_tokens": 90, "not_cached_tokens": 30, "num_cached_tokens": 60}, (90, 0, 60)),
        ({"prompt_tokens": 90, "no_cache_tokens": 90, "cache_read_tokens": 0}, (90, 0, 0)),
        (
            {"prompt_tokens": 90, "prompt_tokens_details": {"cache_miss_tokens": 20, "cache_hit_tokens": 70}},
            (90, 0, 70),
        ),
        ({"prompt_tokens": 90, "completion_tokens": 9, "cache_type": "x", "cache_discount": 0.5}, (90, 9, 0)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "reasoning_output_tokens": 40}, (90, 49, 0)),
        # a total that is too small, or all there is
        ({"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 9}, (90, 9, 0)),
        ({"completion_tokens": 9, "total_tokens": 99}, (90, 9, 0)),
        ({"prompt_tokens": 90, "total_tokens": 99}, (90, 9, 0)),
        ({"total_tokens": 99}, (0, 99, 0)),
        ({"total_tokens": 99, "completion_tokens_details": {"reasoning_tokens": 40}}, (0, 99, 0)),
        ({"total_tokens": 599, "completion_tokens": 9, "completion_tokens_details": THOUGHTS}, (90, 509, 0)),
        # in other words
        (
            {"promptTokenCount": 90, "candidatesTokenCount": 9, "thoughtsTokenCount": 40, "totalTokenCount": 139},
            (90, 49, 0),
        ),
        ({"inputTokens": 90, "outputTokens": 9, "totalTokens": 139}, (90, 49, 0)),
        ({"promptTokens": 90, "completionTokens": 9, "reasoningTokens": 40}, (90, 49, 0)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "thoughts_token_count": 40}, (90, 49, 0)),
        ({"prompt_tokens": 90, "promptTokens": 0, "completionTokens": 9, "completion_tokens": 0}, (90, 9, 0)),
        (
            {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 70}, "promptTokensDetails": None},
            (90, 0, 70),
        ),
        ({"prompt_eval_count": 90, "eval_count": 9}, (90, 9, 0)),
        ({"tokens_evaluated": 90, "tokens_predicted": 9}, (90, 9, 0)),
        ({"input_tokens": 90, "generated_tokens": 9}, (90, 9, 0)),
        # mistakes
        ({"prompt_tokens": -5, "completion_tokens": 9}, (0, 9, 0)),
        ({"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": 99}, (0, 99, 0)),
        ({"prompt_tokens": None, "completion_tokens": 9, "total_tokens": None}, (0, 9, 0)),
        ({"prompt_tokens": "90", "completion_tokens": "9"}, (90, 9, 0)),
        ({"prompt_tokens": "many", "completion_tokens": 8.5}, (0, 9, 0)),
        ({"prompt_tokens": True, "completion_tokens": float("nan")}, (0, 0, 0)),
        ({"prompt_tokens": 10**30, "completion_tokens": float("inf")}, (0, 0, 0)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": None}, (90, 9, 0)),
        ({"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": [1]}, (90, 9, 0)),
        (None, (0, 0, 0)),
        ("none", (0, 0, 0)),
        ([], (0, 0, 0)),
    ],
)
def test_bills_in_the_words_of_openai(bill: Any, tokens: tuple[int, int, int]) -> None:
    assert counted(bill) == tokens


@rows(
    "bill",
    [
        {"prompt_tokens": 90, "prompt_tokens_details": {"cache_write_tokens": 40}},
        {"prompt_tokens": 90, "prompt_tokens_details": {"cache_creation_tokens": 40}},
        {"prompt_tokens": 90, "prompt_tokens_details": {"cache_creation_input_tokens": 40}},
        {"prompt_tokens": 90, "cache_creation_input_tokens": 40},
    ],
)
def test_what_proxies_wrote_to_the_cache_is_known(bill: Any) -> None:
    assert usage_of_openai(bill) == Usage(input_tokens=90, written_tokens=40)


@rows(
    ("bill", "usage"),
    [
        (
            {"input_tokens": 10, "cache_creation_input_tokens": 40, "output_tokens": 3},
            Usage(input_tokens=50, output_tokens=3, written_tokens=40),
        ),
        (
            {
                "input_tokens": 10,
                "cache_creation_input_tokens": 40,
                "cache_creation": {"ephemeral_5m_input_tokens": 15, "ephemeral_1h_input_tokens": 25},
            },
            Usage(input_tokens=50, written_tokens=40, hour_tokens=25),
        ),
        (
            {"cache_read_input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 25}},
            Usage(input_tokens=32, cached_tokens=7, written_tokens=25, hour_tokens=25),
        ),
        ({"input_tokens": 10, "output_tokens": 3, "total_tokens": 513}, Usage(input_tokens=10, output_tokens=503)),
        ({"prompt_tokens": 10, "outputTokens": 3}, Usage(input_tokens=10, output_tokens=3)),
        (
            {"input_tokens": 100, "prompt_tokens": 1000, "cache_read_input_tokens": 900},
            Usage(input_tokens=1000, cached_tokens=900),
        ),
        (
            {"input_tokens": 0, "prompt_tokens": 900, "cache_read_input_tokens": 900},
            Usage(input_tokens=900, cached_tokens=900),
        ),
        ({"input_tokens": 0, "prompt_tokens": 10}, Usage(input_tokens=10)),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 900}, Usage(input_tokens=1000, cached_tokens=900)),
        ({"total_tokens": 13}, Usage(output_tokens=13)),
        (
            {"inputTokens": 10, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 5},
            Usage(input_tokens=85, cached_tokens=70, written_tokens=5),
        ),
        (
            {"input_tokens": 10, "output_tokens": 3, "output_tokens_details": {"thinking_tokens": 500}},
            Usage(input_tokens=10, output_tokens=503),
        ),
        # passes: the total has the last one only, all but what shortened the context, all of them, or is alone
        ({"input_tokens": 10, "output_tokens": 3, "iterations": PASSES}, SHORTENED),
        ({"input_tokens": 23, "output_tokens": 10, "iterations": PASSES}, SHORTENED),
        ({"input_tokens": 900, "output_tokens": 90, "iterations": PASSES}, Usage(input_tokens=900, output_tokens=90)),
        ({"inputTokens": 10, "outputTokens": 3, "iterations": []}, Usage(input_tokens=10, output_tokens=3)),
        ({"iterations": PASSES}, SHORTENED),
        ({"input_tokens": 10, "iterations": [None, "odd", 7]}, Usage(input_tokens=10)),
        ({"input_tokens": 10, "iterations": "odd"}, Usage(input_tokens=10)),
        (
            {"input_tokens": 10, "iterations": [{"input_tokens": 9, "cache_read_input_tokens": 70}] * 2},
            Usage(input_tokens=158, cached_tokens=140),
        ),
        ({"input_tokens": -1, "cache_creation": None, "output_tokens": "3"}, Usage(output_tokens=3)),
        (None, Usage()),
    ],
)
def test_bills_in_the_words_of_anthropic(bill: Any, usage: Usage) -> None:
    assert usage_of_anthropic(bill) == usage


def test_the_bill_of_a_stream_never_shrinks() -> None:
    bill: Any = {}
    for more in (
        {"input_tokens": 9, "a": {"b": 4}, "iterations": [{"input_tokens": 7}]},
        None,
        {"input_tokens": 0, "a": {"b": None}, "iterations": None},
        {"a": None, "iterations": PASSES},
        {"output_tokens": 3, "iterations": []},
    ):
        bill = later(bill, more)
    assert bill.pop("iterations") == {"0": PASSES[0], "1": PASSES[1]}
    assert bill == {"input_tokens": 9, "a": {"b": 4}, "output_tokens": 3}


def test_a_stream_may_have_the_bill_in_its_choice() -> None:
    last = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop", "usage": {"prompt_tokens": "7"}}
    for usage in ({}, {"usage": None}):
        body = b"data: " + json.dumps({"choices": [last], **usage}).encode() + b"\n\n"
        assert CHAT.read_reply(body).usage.input_tokens == 7


def test_an_odd_bill_spoils_no_answer() -> None:
    choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    for odd in ("?", 3, ["x"], {"prompt_tokens": {"a": 1}, "input_tokens": [2]}):
        for form, body in (
            (CHAT, {"choices": [choice]}),
            (MESSAGES, {"content": [{"type": "text", "text": "Hi"}]}),
            (RESPONSES, {"output": [item]}),
        ):
            reply = form.read_reply(json.dumps({**body, "usage": odd}).encode())
            assert (reply.text, reply.usage.total) == ("Hi", 0)
