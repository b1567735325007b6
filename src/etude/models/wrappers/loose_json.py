"""The one JSON object in what a model wrote, in the form that was asked for where only one reading is possible."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from etude.models.wrappers.schema import Schema
from etude.records.said import UNENDED, without_thoughts

_DECODER = json.JSONDecoder(strict=False)
_FENCE = re.compile(r"^[ \t]*```[ \t]*([a-zA-Z0-9]*)[ \t]*$", re.MULTILINE)
_OBJECT_START = re.compile(r'\{\s*["}]')
_BRACE = re.compile(r"[{}]")
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|(?<=[\w"}\]]),(\s*[}\]])', re.DOTALL)
"""Behind the last item of a list or an object, outside of texts."""
_MARK_START = re.compile(r"[<◁]|\[(?=/?(?i:think|begin|end))")
"""How marks of thoughts begin: in JSON only within texts, where an escape stands for the same."""


def find_object(text: str, schema: Schema | None = None) -> dict[str, Any]:
    """The JSON object in `text`: the whole of it, the only fenced block, or the only one in surrounding prose. A list
    of rows is one where `schema` has one list of such rows, and they have none of the other keys.

    Line breaks inside strings and a comma behind a last item are let pass, and what the model thought is left out.
    Nothing is guessed: two objects, or one that is broken, are errors. Raises ValueError: says what is wrong, in
    words a model can act on."""
    whole = _decode(text.strip())
    if whole is not None:
        return whole
    said = without_thoughts(_without_marks(text))
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
        alone = any(_is_list(part, objects) for part in blocks or [text])
        if schema and alone and (made := _listed(objects, schema)):
            return made
        raise ValueError(f"the reply has {len(objects)} JSON objects where one is expected")
    return objects[0]


def _without_marks(text: str) -> str:
    """With marks of thoughts escaped that stand within an object: there they are said, and end no thought."""
    parts: list[str] = []
    done = 0
    for start in _OBJECT_START.finditer(text) if _MARK_START.search(text) else ():
        at = start.start()
        if at < done:
            continue
        try:
            _, end = _DECODER.raw_decode(text, at)
        except ValueError:
            continue
        except RecursionError:
            break
        parts += text[done:at], _MARK_START.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text[at:end])
        done = end
    return "".join((*parts, text[done:]))


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


def _is_list(text: str, objects: list[dict[str, Any]]) -> bool:
    """Whether the text as a whole is the list of these objects."""
    try:
        return json.loads(text, strict=False) == objects
    except (ValueError, RecursionError):
        return False


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
            mended = text[:at] + _LAST_COMMA.sub(lambda found: found[1] or found[2], text[at:])
            if mended != text:
                text = mended
                continue
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


_ARGUMENTS = ("arguments", "parameters", "input", "args", "properties")
"""Where a call of a tool that was written as text, or a schema, has what belongs into the form."""
_OTHERS = re.compile(r"[^a-z0-9]")


def fitted(found: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The object with a wrapper taken off (a call of a tool, a single key, one row without its list), with rows in
    lists, and with keys and choices spelled as in `schema`, a result of `strict_schema`. What does not fit stays as
    it is, for the type to refuse."""
    made = _fit(found, schema)
    for _ in range(3):  # as in {"tool_calls": [{"function": {"arguments": ...}}]}
        inner = None if _known(made, schema) else _inside(made)
        if inner is None:
            break
        made = _fit(inner, schema)
    return _listed([made], schema) or made


def _known(found: Mapping[str, Any], schema: Any) -> int:
    return len(found.keys() & schema.get("properties", {}).keys())


def _inside(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the object wraps: the arguments of a call, else the value of its only key."""
    for name in (*_ARGUMENTS, "function", "tool_calls"):
        if name in found and (inner := _object(found[name])) is not None:
            return inner
    return _object(next(iter(found.values()))) if len(found) == 1 else None


def _object(value: Any) -> Mapping[str, Any] | None:
    """An object, as it is, as JSON text, or alone in a list."""
    value = _decoded(value)
    if isinstance(value, list) and len(cast(list[Any], value)) == 1:
        value = cast(list[Any], value)[0]
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else None


def _decoded(value: Any) -> Any:
    """What a text is as JSON, if that is an object or a list."""
    try:
        found = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return cast(Any, found) if isinstance(found, dict | list) else value


def _listed(rows: list[dict[str, Any]], schema: Any) -> dict[str, Any] | None:
    """Rows that came without their list, where the form has one list of such rows."""
    if any(_known(row, schema) for row in rows):
        return None
    lists = {
        name: made
        for name, node in schema["properties"].items()
        if node.get("type") == "array" and (made := [_fit(row, node["items"]) for row in rows])
        if all(_known(row, node["items"]) > 1 for row in made)
    }
    return lists if len(lists) == 1 else None


def _fit(value: Any, node: Any) -> Any:
    kind, items = node.get("type"), node.get("items", {})
    if len(node.get("anyOf", ())) == 1:
        return _fit(value, node["anyOf"][0])
    value = _decoded(value) if kind in ("array", "object") else value
    if kind == "array" and isinstance(value, list):
        return [_fit(item, items) for item in cast(list[Any], value) if item is not None]
    if kind == "string" and isinstance(value, list) and all(isinstance(line, str) for line in cast(Any, value)):
        return "\n".join(cast(list[str], value))
    if kind == "array" and isinstance(value, Mapping) and items.get("type") == "object":
        return [_fit(cast(Any, value), items)]
    if kind == "object" and isinstance(value, Mapping):
        return _with_keys(cast(Mapping[str, Any], value), node["properties"])
    return _choice(value, node["enum"]) if isinstance(value, str) and "enum" in node else cast(Any, value)


def _with_keys(found: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """With the keys of the form in place of other spellings of them."""
    spelled = {_plain(name): name for name in properties}
    made: dict[str, Any] = {}
    for key, value in found.items():
        name = key if key in properties else spelled.get(_plain(key), key)
        if name == key or name not in found:
            made[name] = _fit(value, properties[name]) if name in properties else value
    return made


def _choice(value: str, choices: list[Any]) -> str:
    spelled = {_plain(choice): choice for choice in choices if isinstance(choice, str)}
    return value if value in choices else spelled.get(_plain(value), value)


def _plain(text: str) -> str:
    return _OTHERS.sub("", text.lower())
