"""Which form a reply must have: a schema, a forced tool, or a JSON skeleton shown in the prompt."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from etude.records import ChatRequest, Reply, ToolCall, Usage, digest
from etude.simulation.schemas import by_example, fill
from etude.simulation.text import tokens


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
_FENCED_DATA = re.compile(
    r"<(?P<tag>(?:attempt|transcript|task|skill|told|table|patch|patches|edits|ledger|memory|guidance|rubric|reference"
    r"|data|conversation|request)(?:-\w+)?)(?:\s[^>]*)?>(?:(?!<(?P=tag)[\s>]).)*?</(?P=tag)(?:\s[^>]*)?>",
    re.DOTALL | re.IGNORECASE,
)


_VALUE = re.compile(r'("(?:[^"\\]|\\.)*")((?:\s*\|\s*"[^"]*")*)|\b(string|integer|number|boolean)\b')
_EXAMPLES = {"string": '""', "integer": "0", "number": "0.5", "boolean": "true"}


@lru_cache(maxsize=256)
def _shown(text: str) -> Mapping[str, Any] | None:
    """The schema of the last skeleton that the text asks to be filled: JSON, in which values may be named by their
    type or as a choice."""
    bare = _FENCED_DATA.sub(" ", text) if "JSON" in text else ""
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
    count = sum(tokens(message.text) for message in request.messages)
    count += sum(tokens(call.arguments) for message in request.messages for call in message.tool_calls)
    count += sum(tokens(json.dumps(tool.parameters)) + tokens(tool.description) for tool in request.tools)
    if request.response_schema is not None:
        count += tokens(json.dumps(request.response_schema.body))
    return Usage(input_tokens=count, output_tokens=tokens(text))
