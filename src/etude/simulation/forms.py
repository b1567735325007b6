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
class Form:
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


def wanted_form(request: ChatRequest) -> Form | None:
    """The form a request asks for, None when plain text will do."""
    if request.response_schema is not None:
        return Form(request.response_schema.body)
    if request.forced_tool is not None:
        for tool in request.tools:
            if tool.name == request.forced_tool:
                return Form(tool.parameters, tool.name)
    prompt = "\n\n".join(message.text for message in request.messages if message.role != "assistant")
    schema = _shown(prompt)
    return Form(schema) if schema is not None else None


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
_FENCED_DATA = re.compile(
    r"<(?P<tag>(?:attempt|transcript|task|skill|told|table|patch|patches|edits|ledger|memory|guidance|rubric|reference"
    r"|data|conversation|request)(?:-\w+)?)(?:\s[^>]*)?>(?:(?!<(?P=tag)[\s>]).)*?</(?P=tag)(?:\s[^>]*)?>",
    re.DOTALL | re.IGNORECASE,
)


@lru_cache(maxsize=256)
def _shown(text: str) -> Mapping[str, Any] | None:
    """The last JSON skeleton or JSON schema that the text asks to be filled."""
    if "{" not in text or not _ASKS_JSON.search(text):
        return None
    bare = _FENCED_DATA.sub(" ", text)
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


def reply_in_form(request: ChatRequest, form: Form, values: Mapping[str, Any]) -> Reply:
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
