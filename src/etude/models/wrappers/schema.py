"""A reply type as JSON schema for servers and as a skeleton for prompts."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from pydantic import BaseModel, JsonValue

Schema = dict[str, JsonValue]

_KEY = re.compile(r'"(\w+)": ')
_DROPPED = frozenset({"title", "default", "discriminator", "minLength", "maxLength", "uniqueItems", "examples"})
"""Keywords that strict servers refuse or that only cost tokens. The reply is validated with the type anyway."""


def strict_schema(reply_type: type[BaseModel]) -> Schema:
    """JSON schema of `reply_type` as strict servers take it: every property required, no others allowed, no defaults,
    references in place of which stands what they refer to.
    Raises TypeError: the type has a free-form mapping or refers to itself, which a strict schema cannot say."""
    schema = reply_type.model_json_schema()
    definitions = cast(dict[str, Any], schema.pop("$defs", {}))
    return cast(Schema, _strict(schema, definitions, (reply_type.__name__,)))


def skeleton(schema: Schema) -> str:
    """An indented JSON text of the form that `schema`, a result of `strict_schema`, asks for."""
    return json.dumps(_example(schema), indent=2, ensure_ascii=False)


def is_shown(schema: Schema, texts: Iterable[str]) -> bool:
    """A line of the texts asks for JSON and names every property: it shows the form already."""
    names = set(_names(schema))
    lines = (line for text in texts for line in text.splitlines() if "JSON" in line)
    return bool(names) and any(names <= set(_KEY.findall(line)) for line in lines)


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in cast(list[Any], node):
            yield from _names(item)
    elif isinstance(node, dict):
        given = cast(dict[str, Any], node)
        properties = given.get("properties")
        yield from cast(dict[str, Any], properties) if isinstance(properties, dict) else ()
        for value in given.values():
            yield from _names(value)


def _strict(node: Any, definitions: dict[str, Any], path: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_strict(item, definitions, path) for item in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    given = cast(dict[str, Any], node)
    if "$ref" in given:
        name = str(given["$ref"]).removeprefix("#/$defs/")
        if name in path:
            raise TypeError(f"{path[0]}: {name} refers to itself; a reply type must have a fixed depth")
        siblings = {key: value for key, value in given.items() if key != "$ref"}
        return _strict({**definitions[name], **siblings}, definitions, (*path, name))
    result = {key: value for key, value in given.items() if key not in _DROPPED and key != "properties"}
    result = {key: _strict(value, definitions, path) for key, value in result.items()}
    if "oneOf" in result:
        result["anyOf"] = result.pop("oneOf")
    if result.get("type") == "object":
        properties = cast(dict[str, Any], given.get("properties", {}))
        if not properties:
            raise TypeError(f"{path[0]}: {path[-1]} has a free-form mapping; a reply type must name its fields")
        result["properties"] = {name: _strict(value, definitions, path) for name, value in properties.items()}
        result["required"] = list(properties)
        result["additionalProperties"] = False
    return result


def _example(node: Any) -> Any:
    if options := node.get("anyOf"):
        return _example(next((option for option in options if option.get("type") != "null"), options[0]))
    if choices := node.get("enum"):
        return " | ".join(str(choice) for choice in choices)
    if "const" in node:
        return node["const"]
    kind = node.get("type")
    if kind == "object":
        return {name: _example(value) for name, value in node["properties"].items()}
    if kind == "array":
        return [_example(node.get("items", {}))]
    return {"integer": 0, "number": 0.0, "boolean": True, "null": None}.get(kind, node.get("description", "string"))
