"""The one JSON object in what a model wrote."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from etude.records.said import UNENDED, without_thoughts

_DECODER = json.JSONDecoder(strict=False)
_FENCE = re.compile(r"^[ \t]*```[ \t]*([a-zA-Z0-9]*)[ \t]*$", re.MULTILINE)
_OBJECT_START = re.compile(r'\{\s*["}]')
_BRACE = re.compile(r"[{}]")


def find_object(text: str) -> dict[str, Any]:
    """The JSON object in `text`: the whole of it, the only fenced block, or the only one in surrounding prose.

    Line breaks inside strings are let pass, and what the model thought is left out. Nothing is guessed: two objects,
    or one that is broken, are errors. Raises ValueError: says what is wrong, in words a model can act on."""
    whole = _decode(text.strip())
    if whole is not None:
        return whole
    said = without_thoughts(text)
    if said is None:
        raise ValueError(UNENDED)
    text = said
    whole = _decode(text)
    if whole is not None:
        return whole
    blocks = [block for block in _blocks(text) if _OBJECT_START.search(block)]
    objects = [found for block in blocks for found in _top_level_objects(block)] or _top_level_objects(text)
    if not objects:
        raise ValueError("the reply has no JSON object")
    if any(other != objects[0] for other in objects[1:]):
        raise ValueError(f"the reply has {len(objects)} JSON objects where one is expected")
    return objects[0]


def _blocks(text: str) -> Iterator[str]:
    """What stands between a fence and the next one without a language."""
    opened: int | None = None
    for fence in _FENCE.finditer(text):
        if opened is None or fence[1]:
            opened = fence.end() + 1
        else:
            yield text[opened : fence.start()]
            opened = None


def _decode(text: str) -> dict[str, Any] | None:
    """The object that `text` is as a whole, plain or encoded once more as a string."""
    try:
        found = json.loads(text, strict=False)
        if isinstance(found, str):
            found = json.loads(found, strict=False)
    except (ValueError, RecursionError):
        return None
    return _without_lone_surrogates(cast(dict[str, Any], found)) if isinstance(found, dict) else None


def _top_level_objects(text: str) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        if not _OBJECT_START.match(text, at):
            at = text.find("{", _closing_brace(text, at))
            continue
        try:
            found, end = _DECODER.raw_decode(text, at)
            objects.append(_without_lone_surrogates(found))
        except RecursionError:
            raise ValueError("the JSON object in the reply is nested too deeply") from None
        except json.JSONDecodeError as error:
            # An object inside a broken one is not what was asked for, so a broken one ends the search.
            problem = f"{error.msg} at character {error.pos}"
            raise ValueError(f"the JSON object in the reply is broken: {problem}") from None
        at = text.find("{", end)
    return objects


def _closing_brace(text: str, opening: int) -> int:
    """Where the braces opened at `opening` are closed again; the end of the text when they are not."""
    depth = 0
    for brace in _BRACE.finditer(text, opening):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def _without_lone_surrogates(found: dict[str, Any]) -> dict[str, Any]:
    """Half of a surrogate pair, which JSON can spell and UTF-8 cannot, becomes a question mark."""
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
