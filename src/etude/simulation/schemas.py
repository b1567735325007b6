"""Which form a reply must have (a schema, a forced tool, or a JSON skeleton shown in the prompt), and filling it.

Names decide where things go: `reasoning`, `rationale` and `thinking` are one concept. Required properties that
nothing is known for get an empty value of their type, so that the reply is valid.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from pydantic import JsonValue

from etude.readable import token_count
from etude.records import ChatRequest, Reply, ToolCall, Usage, digest
from etude.simulation.text import element

Json = Mapping[str, Any]

SYNONYMS: dict[str, tuple[str, ...]] = {
    concept: tuple(names.split())
    for concept, names in (
        line.split(": ")
        for line in """\
reasoning: reasoning rationale thinking thought thoughts analysis explanation work steps
answer: answer final_answer final output result solution response prediction
edits: edits operations changes suggestions proposals patches merged_edits
op: op operation type action kind
target: target anchor location old old_text find old_string search
content: content text new new_text instruction replacement new_string replace
reason: reason rationale why motivation justification explanation reasoning
cites: cites citations cited evidence attempts attempt_ids cited_attempts ids sources
support: support support_count count
order: order ranking ranked indices selected selected_indices ranked_indices
anchors: anchors repairs repaired fixes
index: index edit_index number
guidance: guidance slow_update slow_update_content epoch_guidance
memory: memory meta_skill meta_skill_content meta notes lessons
score: score rating grade points
skill: skill new_skill skill_content document new_document rewritten_skill prompt
batch_size: batch_size attempts_seen
budget: edit_budget number_of_edits edit_count learning_rate
routes: routes routing failure_causes
attempt: attempt attempt_id failure
cause: cause route label
reminders: reminders appendix_notes appendix""".splitlines()
    )
}
"""Names of properties, by what they stand for."""

_OPERATIONS: dict[str, tuple[str, ...]] = {
    "append": ("append", "add", "add_line", "new"),
    "insert_after": ("insert_after", "insert", "add_after", "append", "add"),
    "replace": ("replace", "modify", "update", "edit", "change", "revise", "clarify"),
    "delete": ("delete", "remove", "drop"),
}

HONEST = "Simulated model: nothing to say about this."


def concept(name: str, among: Mapping[str, Any]) -> str | None:
    """The key of `among` that a property name stands for, None when nothing fits."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    if plain in among:
        return plain
    return next((key for key in among if plain in SYNONYMS.get(key, ())), None)


def fill(schema: Json, values: Mapping[str, Any]) -> JsonValue:
    """A value that follows the schema and says what `values` (by concept) has to say."""
    return _fill(schema, None, values, schema)


def _fill(schema: Json, value: Any, values: Mapping[str, Any], root: Json) -> JsonValue:
    shape = _resolve(schema, value, root)
    if "const" in shape:
        return shape["const"]
    if "enum" in shape:
        return _nearest(cast(Sequence[Any], shape["enum"]), value)
    kind = _type_of(shape)
    if kind == "object":
        inner: Mapping[str, Any] = cast(Mapping[str, Any], value) if isinstance(value, Mapping) else values
        return _fill_object(shape, inner, root)
    if kind == "array":
        items = cast(Json, shape.get("items", {}))
        return [_fill(items, one, {}, root) for one in _as_list(value)]
    return _scalar(kind, value, shape)


def _fill_object(shape: Json, values: Mapping[str, Any], root: Json) -> JsonValue:
    properties = cast(Mapping[str, Json], shape.get("properties", {}))
    if not properties:
        return dict(values) if shape.get("additionalProperties", True) else {}
    required = cast(Sequence[str], shape.get("required", list(properties)))
    filled: dict[str, JsonValue] = {}
    for name, inner in properties.items():
        key = concept(name, values)
        if key is not None:
            filled[name] = _fill(inner, values[key], {}, root)
        elif name in required:
            filled[name] = _fill(inner, None, values, root)
    return filled


def _resolve(schema: Json, value: Any, root: Json) -> Json:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found: Any = root
        for part in reference.removeprefix("#/").split("/"):
            found = cast(Json, found).get(part, {}) if isinstance(found, Mapping) else {}
        return _resolve(cast(Json, found), value, root)
    for choice in ("anyOf", "oneOf", "allOf"):
        options = cast(Sequence[Json], schema.get(choice, ()))
        resolved = [_resolve(option, value, root) for option in options]
        fitting = [option for option in resolved if _fits(_type_of(option), value)]
        chosen = fitting or [option for option in resolved if _type_of(option) != "null"]
        if chosen:
            return chosen[0]
    return schema


def _fits(kind: str, value: Any) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": Mapping,
        "array": (list, tuple),
        "string": str,
        "number": (int, float),
        "integer": int,
        "null": type(None),
    }
    return kind in kinds and isinstance(value, kinds[kind])


def _type_of(shape: Json) -> str:
    kind: Any = shape.get("type")
    if isinstance(kind, list):
        return str(next((one for one in cast(list[Any], kind) if one != "null"), "null"))
    if kind is None:
        return "object" if "properties" in shape else "array" if "items" in shape else "string"
    return str(kind)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        return list(value.split())
    return list(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else [value]


def _nearest(options: Sequence[Any], value: Any) -> JsonValue:
    if value in options:
        return value
    wanted = _OPERATIONS.get(value, ()) if isinstance(value, str) else ()
    return next((option for name in wanted for option in options if str(option).lower() == name), options[0])


def _scalar(kind: str, value: Any, shape: Json) -> JsonValue:
    if kind == "null":
        return None
    if kind == "boolean":
        return bool(value)
    if kind in ("number", "integer"):
        number = _number(value, cast(float, shape.get("minimum", 0)))
        return round(number) if kind == "integer" else number
    if value is None:
        return HONEST
    return value if isinstance(value, str) else "\n".join(str(one) for one in _as_list(value))


def _number(value: Any, otherwise: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return otherwise


def by_example(example: Any) -> dict[str, Any]:
    """The schema of a JSON skeleton: every key is required, and `"a | b"` lists what is allowed."""
    if isinstance(example, Mapping):
        keys = cast(Mapping[str, Any], example)
        shapes = {key: by_example(value) for key, value in keys.items()}
        return {"type": "object", "properties": shapes, "required": list(keys)}
    if isinstance(example, list):
        entries = cast(list[Any], example)
        return {"type": "array", "items": by_example(entries[0]) if entries else {}}
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number")):
        if isinstance(example, kind):
            return {"type": name}
    options = [part.strip() for part in str(example).split("|")]
    if len(options) > 1 and all(option.replace("_", "").isalpha() for option in options):
        return {"type": "string", "enum": options}
    return {"type": "string"}


@dataclass(frozen=True)
class WantedForm:
    """A JSON schema and how the reply carries it."""

    schema: Mapping[str, Any]
    tool: str | None = None

    @property
    def top(self) -> tuple[str, ...]:
        """The property names of the outermost object, in order."""
        properties: Any = self.schema.get("properties")
        return tuple(cast(Mapping[str, Any], properties)) if isinstance(properties, Mapping) else ()

    @property
    def names(self) -> frozenset[str]:
        """All property names in it, however deep."""
        return frozenset(_names(self.schema))


def _names(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for part in cast(list[Any], schema) for name in _names(part)]
    if not isinstance(schema, Mapping):
        return []
    known = cast(Mapping[str, Any], schema)
    properties: Any = known.get("properties")
    own = list(cast(Mapping[str, Any], properties)) if isinstance(properties, Mapping) else []
    return own + [name for part in known.values() for name in _names(part)]


def wanted_form(request: ChatRequest) -> WantedForm | None:
    """The form a request asks for, None when plain text will do."""
    if request.response_schema is not None:
        return WantedForm(request.response_schema.body)
    if request.forced_tool is not None:
        for tool in request.tools:
            if tool.name == request.forced_tool:
                return WantedForm(tool.parameters, tool.name)
    prompt = "\n\n".join(message.text for message in request.messages if message.role != "assistant")
    schema = _shown(prompt)
    return WantedForm(schema) if schema is not None else None


_ASKED = re.compile(r"\bJSON\b[^{}\n]*:\s*(?=\{)")
FENCED_DATA = element(
    r"(?:attempt|transcript|task|skill|told|table|patch|patches|edits|ledger|memory|guidance|rubric|reference|data"
    r"|conversation|request)(?:-\w+)?"
)
_VALUE = re.compile(r'("(?:[^"\\]|\\.)*")((?:\s*\|\s*"[^"]*")*)|\b(string|integer|number|boolean)\b')
_EXAMPLES = {"string": '""', "integer": "0", "number": "0.5", "boolean": "true"}


@lru_cache(maxsize=256)
def _shown(text: str) -> Mapping[str, Any] | None:
    """The schema of the last skeleton that the text asks to be filled: JSON, in which values may be named by their
    type or as a choice."""
    bare = FENCED_DATA.sub(" ", text) if "JSON" in text else ""
    found: Mapping[str, Any] | None = None
    for asked in _ASKED.finditer(bare):
        try:
            example, _ = json.JSONDecoder().raw_decode(_VALUE.sub(_example, bare[asked.end() :]))
        except ValueError:
            continue
        found = by_example(example) if example else found
    return found


def _example(value: re.Match[str]) -> str:
    if value[3]:
        return _EXAMPLES[value[3]]
    return json.dumps(value[0].replace('"', "")) if value[2] else value[1]


def reply_in_form(request: ChatRequest, form: WantedForm, values: Mapping[str, Any]) -> Reply:
    """The values, filled into the form."""
    text = json.dumps(fill(form.schema, values), ensure_ascii=False)
    if form.tool is None:
        return reply_with(request, text)
    return reply_calling(request, ToolCall(id=f"call_{digest(text)[:12]}", name=form.tool, arguments=text))


def reply_calling(request: ChatRequest, call: ToolCall) -> Reply:
    """A reply that calls a tool."""
    usage = usage_of(request, call.arguments)
    return Reply(tool_calls=(call,), finish="tool_calls", usage=usage, simulated=True)


def reply_with(request: ChatRequest, text: str) -> Reply:
    """A plain reply."""
    return Reply(text=text, usage=usage_of(request, text), simulated=True)


def usage_of(request: ChatRequest, text: str) -> Usage:
    """Estimated tokens: characters / 4 of all messages, tools and the schema, and of the reply."""
    count = sum(token_count(message.text) for message in request.messages)
    count += sum(token_count(call.arguments) for message in request.messages for call in message.tool_calls)
    count += sum(token_count(json.dumps(tool.parameters)) + token_count(tool.description) for tool in request.tools)
    if request.response_schema is not None:
        count += token_count(json.dumps(request.response_schema.body))
    return Usage(input_tokens=count, output_tokens=token_count(text))
