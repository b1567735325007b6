"""Tokens of a reply, from the bills of many servers: counts are missing or odd, or leave thoughts out."""

import math
import re
from collections.abc import Mapping
from typing import Any, cast

from etude.records import Usage

Bill = Mapping[str, Any]

MOST = 10**9
"""No reply has more tokens: a larger number is a mistake, as are negative ones and text."""

_PROMPT = ("prompt_tokens", "input_tokens", "prompt_eval_count", "tokens_evaluated")
_SAID = (
    "completion_tokens",
    "output_tokens",
    "candidates_tokens",
    "generated_tokens",
    "eval_count",
    "tokens_predicted",
)
"""In the words of OpenAI, Anthropic, Gemini, TGI, Ollama and llama.cpp."""
_THOUGHT = re.compile(r"(?!prompt|input).*(?:reasoning|thinking|thoughts).*tokens")
_READ = re.compile(r"(?!.*(?:un|no[nt]?_?)cache).*cache(?!.*(?:writ|creat|miss)).*tokens")
_MISSED = re.compile(r".*(?:cache.*miss|(?:un|no[nt]?_?)cache).*tokens")
_WRITTEN = re.compile(r".*cache.*(?:writ|creat).*tokens")
"""What servers call tokens that they thought, and those that they read from the cache, did not find there and wrote
to it: in the bill, or in details of it, as `completion_tokens_details.reasoning_tokens`."""


def usage_of_openai(bill: object) -> Usage:
    """The tokens of a bill in the words of Chat Completions or Responses. The output is the larger of what it says
    and of what is left of the total: some servers have thoughts in the total only. A total alone is output, which is
    the dearer part. Counts of the cache that exceed the input were not counted in it."""
    bill = _named(bill)
    read, written = _most(bill, _READ), _most(bill, _WRITTEN)
    asked, said, total = _count(bill, *_PROMPT), _said(bill), _count(bill, "total_tokens")
    if _count(bill, *_SAID):
        asked = asked or max(0, total - said)
    if missed := _most(bill, _MISSED):
        asked = max(asked, read + missed)
    if read + written > asked:
        asked += read + written
    said = max(said, total - asked)
    return Usage(input_tokens=asked, output_tokens=said, cached_tokens=read, written_tokens=written)


def usage_of_anthropic(bill: object) -> Usage:
    """The tokens of a bill in the words of Messages, whose `input_tokens` are what the cache had no part in. Where a
    request took several passes, as when the server shortens the context first, the total may leave some of them out:
    the larger counts."""
    bill = _named(bill)
    kept = as_bill(bill.get("cache_creation"))
    hour = _count(kept, "ephemeral_1h_input_tokens")
    read = _count(bill, "cache_read_input_tokens")
    parts = hour + _count(kept, "ephemeral_5m_input_tokens")
    written = max(_most(bill, _WRITTEN), parts)
    asked, cache = _count(bill, *_PROMPT), read + written
    # A count of the prompt beside `input_tokens` has the cache in it.
    asked = max(asked, _count(bill, "input_tokens") + cache) if "input_tokens" in bill else asked + cache
    total = Usage(
        input_tokens=asked,
        output_tokens=max(_said(bill), _count(bill, "total_tokens") - asked),
        cached_tokens=read,
        written_tokens=written,
        hour_tokens=hour,
    )
    passes = sum(map(usage_of_anthropic, as_bill(bill.get("iterations")).values()), Usage())
    return Usage(**{name: max(getattr(total, name), getattr(passes, name)) for name in Usage.model_fields})


def _said(bill: Bill) -> int:
    """The output, with thoughts that only the details have."""
    said, thought = _count(bill, *_SAID), _most(bill, _THOUGHT)
    return said + thought if thought > said else said


def _named(found: object) -> Bill:
    """The bill with its names spelled in one way: as `prompt_tokens` for `promptTokens` and `promptTokenCount`. Of
    several spellings, the larger count is meant."""
    bill: Bill = {}
    for name, value in as_bill(found).items():
        bill = later(bill, {_plain(name): _named(value) if as_bill(value) else value})
    return bill


def _plain(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("_token_count", "_tokens")


def as_bill(found: object) -> Bill:
    """What is there in place of a bill; the items of a list by their numbers."""
    if isinstance(found, list):
        return {str(number): item for number, item in enumerate(cast(list[object], found))}
    return cast(Bill, found) if isinstance(found, dict) else {}


def later(before: Bill, bill: object) -> Bill:
    """The bill of a stream after one more: counts grow, and what an event leaves out or sets to 0 stays."""
    found = dict(before)
    for name, value in as_bill(bill).items():
        known = found.get(name)
        if as_bill(value):
            found[name] = later(as_bill(known), value)
        elif known is None or (not as_bill(known) and (_tokens(value) or 0) >= (_tokens(known) or 0)):
            found[name] = value
    return found


def _count(bill: Bill, *names: str) -> int:
    """The largest count of these names; 0 where there is none."""
    return max(_tokens(bill.get(name)) or 0 for name in names)


def _most(bill: Bill, names: re.Pattern[str], place: str = "") -> int:
    """The largest count at places of these names; 0 where there is none."""
    counts = [0]
    for name, value in bill.items():
        inner = as_bill(value)
        here = 0 if inner or not names.fullmatch(place + name) else _tokens(value) or 0
        counts.append(max(here, _most(inner, names, f"{place}{name}.")))
    return max(counts)


def _tokens(value: object) -> int | None:
    """A number of tokens, None for what can be none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        return None
    return math.ceil(value)
