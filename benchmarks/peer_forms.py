"""The forms that the prompts of the compared systems show: JSON skeletons as people write them."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from etude.records import ChatRequest
from etude.simulation import schemas
from etude.simulation.schemas import FENCED_DATA, WantedForm, wanted_form


def shown_form(request: ChatRequest) -> WantedForm | None:
    """The form a request asks for, None when plain text will do."""
    if request.response_schema is not None or request.forced_tool is not None:
        return wanted_form(request)
    prompt = "\n\n".join(message.text for message in request.messages if message.role != "assistant")
    schema = _shown(prompt)
    return WantedForm(schema) if schema is not None else None


_ASKS_JSON = re.compile(r"\bJSON\b")
_ASKS = re.compile(
    r"\b(?:reply|respond|answer|return|output|produce|format|schema|skeleton|form|shape|exactly)\b", re.I
)
_PLACEHOLDER = re.compile(
    r"\.\.\.|…|<[a-z][^<>\n]*>|\"(?:string|number|integer|int|float|str)\"|\w\s?\|\s?\w|:\s*\"\""
    r"|[:\[]\s*(?:string|number|integer|boolean)\b"
)
_SENTENCE = re.compile(r"\"(?![<.])[^\"<>|{}]{40,}\"")
"""A value that says something: what holds it is data, whatever gaps it has."""


@lru_cache(maxsize=256)
def _shown(text: str) -> Mapping[str, Any] | None:
    """The last JSON skeleton or JSON schema that the text asks to be filled."""
    if "{" not in text or not _ASKS_JSON.search(text):
        return None
    bare = FENCED_DATA.sub(" ", text)
    best: tuple[int, Mapping[str, Any]] | None = None
    for start, block in _blocks(bare):
        example = _loads(block)
        if not isinstance(example, dict) or not example:
            continue
        found = cast(dict[str, Any], example)
        is_schema = isinstance(found.get("properties"), dict)
        asked = bool(_ASKS.search(bare[max(0, start - 160) : start]))
        has_gaps = bool(_PLACEHOLDER.search(block)) and not _SENTENCE.search(block)
        score = 2 * is_schema + 2 * has_gaps + asked
        if score >= 1 and (best is None or score >= best[0]):
            best = score, found if is_schema else by_example(found)
    return None if best is None else best[1]


def _blocks(text: str) -> list[tuple[int, str]]:
    """The outermost balanced braces of a text."""
    blocks: list[tuple[int, str]] = []
    depth = start = 0
    for place, char in enumerate(text):
        if char == "{":
            start = place if depth == 0 else start
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                blocks.append((start, text[start : place + 1]))
    return blocks


_COMMENT = re.compile(r"//[^\n\"]*$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
_ELLIPSIS = re.compile(r",?\s*(?:\.\.\.|…)(?=\s*[\]}])")
_CHOICE = re.compile(r'"[\w -]+"(?:\s*\|\s*"[\w -]+")+')
_BARE = re.compile(
    r"(?<=[:\[,])(\s*)(<[^<>\n]*>|[A-Za-z][\w .|-]*|\.\.\.|…|-?[\d.]+\s*(?:-|to|–)\s*[\d.]+)(?=\s*[,\]}])"
)


def _loads(block: str) -> Any:
    """JSON, or a skeleton that is nearly JSON: comments, ellipses, choices and bare words are put right."""
    try:
        return json.loads(block)
    except ValueError:
        pass
    repaired = _ELLIPSIS.sub("", _COMMENT.sub("", block))
    repaired = _CHOICE.sub(lambda choice: json.dumps(choice[0].replace('"', "")), repaired)
    repaired = _BARE.sub(lambda bare: bare[1] + json.dumps(_bare_value(bare[2])), repaired)
    repaired = re.sub(r",(\s*[\]}])", r"\1", repaired)
    try:
        return json.loads(repaired)
    except ValueError:
        return None


def _bare_value(word: str) -> Any:
    if word in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[word]
    if word in ("int", "integer"):
        return 0
    return 0.5 if word in ("float", "number") or word[0] in "-0123456789" else word


_KINDS = {"int": "integer", "integer": "integer", "number": "number", "float": "number"}
_KIND = re.compile(rf"<({'|'.join(_KINDS)})\b[^<>]*>$", re.IGNORECASE)


def by_example(example: Any) -> dict[str, Any]:
    """The schema of a JSON skeleton: every key is required, `"a|b"` and `"a | b"` list what is allowed, and of
    several entries of a list each shows a kind of entry."""
    if isinstance(example, Mapping):
        keys = cast(Mapping[str, Any], example)
        return {
            "type": "object",
            "properties": {key: by_example(value) for key, value in keys.items()},
            "required": list(keys),
        }
    if isinstance(example, list):
        entries = cast(list[Any], example)
        return {"type": "array", "items": _by_examples(entries) if entries else {}}
    kind = _KIND.match(str(example))
    return {"type": _KINDS[kind[1].lower()]} if kind else schemas.by_example(example)


def _by_examples(entries: Sequence[Any]) -> dict[str, Any]:
    """The schema of one entry: objects are united, and what all of them have is required."""
    if not all(isinstance(entry, Mapping) for entry in entries):
        return by_example(entries[0])
    objects = cast(Sequence[Mapping[str, Any]], entries)
    values: dict[str, list[Any]] = {}
    for entry in objects:
        for key, value in entry.items():
            values.setdefault(key, []).append(value)
    return {
        "type": "object",
        "properties": {key: by_example(_united(shown)) for key, shown in values.items()},
        "required": [key for key, shown in values.items() if len(shown) == len(objects)],
    }


def _united(shown: Sequence[Any]) -> Any:
    """Different plain words are what a property may be; else the first value stands for all."""
    words = list(dict.fromkeys(str(one) for one in shown))
    plain = len(words) > 1 and all(word.replace("_", "").isalpha() for word in words)
    return "|".join(words) if plain else shown[0]
