"""Replies of a given type from models that may or may not support it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError

from etude.errors import RejectedRequest, UnusableReply
from etude.models.provider_model import shorten
from etude.models.wrappers.fitted import LONGEST_REASON
from etude.models.wrappers.loose_json import find_object, fitted
from etude.models.wrappers.schema import Schema, is_shown, skeleton, strict_schema
from etude.protocols import ChatModel, Journal, Wrapper
from etude.records import ChatRequest, Message, Reply, ResponseSchema, TextPart, Tool, assistant, user
from etude.records.said import SERVER

T = TypeVar("T", bound=BaseModel)

Rung = Literal["json_schema", "tool", "prompt"]
_RUNGS: tuple[Rung, ...] = ("json_schema", "tool", "prompt")

_MOST_CUTS = 2
"""Replies that are cut off at the token limit: a third one would be, too."""
LONGEST_ECHO = 16_000
"""Characters of an unusable answer that are sent back."""
LONGEST_PROBLEM = 1_000
"""Characters of what is wrong with it."""


def advice(model: ChatModel, rung: Rung = "prompt", cut_off: bool = False) -> str:
    """What to do where no answer of a model has the form that was asked for on a rung."""
    if model.answered_by_hand:
        answers = str(Path(model.endpoint) / "answers")
        return f"fix these answers in {answers!r}, or delete them to be asked again; then run the same command again"
    if cut_off:
        return f"raise max_output_tokens, which is {model.max_output_tokens:,}, or switch thinking off"
    other = "" if rung == "prompt" else f"set structured: {_RUNGS[_RUNGS.index(rung) + 1]}, or "
    return f"{other}take a model that follows the form"


@dataclass(frozen=True)
class ReplyShape:
    """The shape of a reply type."""

    name: str
    schema: Schema
    skeleton: str


class Structured(Wrapper):
    """Asks for replies of a pydantic type: by JSON schema, by forced tool or by showing a skeleton, at most
    `attempts` times.

    The ladder is entered at `rung`. A rung that the server rejects is left for the next one, which `notice` is told
    and `journal` remembers, and not tried again once a lower one was taken. An answer that does not validate is shown
    to the model with what is wrong, for another one."""

    def __init__(
        self,
        model: ChatModel,
        rung: Rung = "json_schema",
        attempts: int = 3,
        notice: Callable[[str], None] = lambda text: None,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(model)
        self._rung: Rung = rung
        self._journal = journal
        self._taken: set[Rung] = set()
        self._attempts = attempts
        self._notice = notice
        self._forms: dict[type[BaseModel], ReplyShape] = {}

    @property
    def rung(self) -> Rung:
        """Where the next question enters the ladder."""
        return self._rung

    async def ask(self, messages: Sequence[Message], reply_type: type[T], *, seed: int | None = None) -> T:
        """The model's answer to `messages` as a `reply_type`. Keys that the type does not know are ignored. Raises
        UnusableReply: no answer validated; names the last problem; RejectedRequest: the server accepts the question
        on no rung; whatever else the model inside raises."""
        form = self._form(reply_type)
        corrections: list[Message] = []
        problem, cut_off, cuts, sent, reply = "", False, 0, 0, None
        while sent < self._attempts and cuts < _MOST_CUTS:
            reply = await self.send(messages, corrections, form, seed)
            sent += 1
            try:
                return _read(reply, reply_type, form)
            except ValueError as error:
                problem = shorten(_describe(error), LONGEST_PROBLEM)
            cut_off = reply.finish == "length"
            cuts += cut_off
            if cut_off:
                problem = f"the reply was cut off at the limit of {self.max_output_tokens} tokens ({problem})"
            corrections += _correction(reply, problem, form)
        raise UnusableReply(
            f"{self.name}: no usable answer in {sent} replies; the last problem: {problem}",
            hint=SERVER if reply is not None and reply.text_in and not cut_off else advice(self, self._rung, cut_off),
        )

    async def send(
        self, messages: Sequence[Message], corrections: Sequence[Message], form: ReplyShape, seed: int | None
    ) -> Reply:
        """One reply, on the highest rung that is taken. `corrections` follow the messages: unusable replies, and what
        is wrong with each."""
        entered = self._rung = self._known_rung()
        said = ""
        for rung in _RUNGS[_RUNGS.index(entered) : -1]:
            try:
                reply = await self._model.complete(_request(rung, messages, corrections, form, seed))
            except RejectedRequest as error:
                if rung in self._taken or error.parameters:  # it says nothing about the form
                    raise
                said = said or error.message
                continue
            await self._remember(rung, entered, said)
            return reply
        reply = await self._model.complete(_request("prompt", messages, corrections, form, seed))
        await self._remember("prompt", entered, said)
        return reply

    async def _remember(self, rung: Rung, entered: Rung, said: str) -> None:
        self._taken.add(rung)
        if _RUNGS.index(rung) <= _RUNGS.index(self._rung):
            return
        self._rung = rung
        why = " ".join(said.split())[:LONGEST_REASON]
        self._notice(f"{self.name} does not take structured = {entered!r}; continuing with {rung!r} ({why})")
        if self._journal is not None:

            async def lower() -> str:
                return rung

            await self._journal.once("decision", self._key(entered), str, lower)

    def _known_rung(self) -> Rung:
        rung = self._rung
        while self._journal is not None and not self._taken:
            lower = self._journal.get("decision", self._key(rung), str)
            if lower is None:
                break
            rung = cast(Rung, lower)
        return rung

    def _key(self, entered: Rung) -> list[str]:
        return ["structured", self.fingerprint(), entered]

    def _form(self, reply_type: type[BaseModel]) -> ReplyShape:
        if reply_type not in self._forms:
            schema = strict_schema(reply_type)
            name = re.sub(r"[^A-Za-z0-9_-]", "_", reply_type.__name__)[:64]
            self._forms[reply_type] = ReplyShape(name, schema, skeleton(schema))
        return self._forms[reply_type]


def _request(
    rung: Rung, messages: Sequence[Message], corrections: Sequence[Message], form: ReplyShape, seed: int | None
) -> ChatRequest:
    if rung == "json_schema":
        schema = ResponseSchema(name=form.name, body=form.schema)
        return ChatRequest(messages=(*messages, *corrections), response_schema=schema, seed=seed)
    if rung == "tool":
        tool = Tool(name=form.name, description="Takes the reply.", parameters=form.schema)
        return ChatRequest(messages=(*messages, *corrections), tools=(tool,), forced_tool=form.name, seed=seed)
    return ChatRequest(messages=(*_with_skeleton(messages, form), *corrections), seed=seed)


def _with_skeleton(messages: Sequence[Message], form: ReplyShape) -> list[Message]:
    shown = f"Reply with one JSON object of this form and nothing else:\n{form.skeleton}"
    if is_shown(form.schema, (message.text for message in messages if message.role == "system")):
        shown = "Reply with one JSON object of the form that the instructions show, and nothing else."
    result = list(messages)
    for at in reversed(range(len(result))):
        if result[at].role == "user":
            content = (*result[at].content, TextPart(text=shown))
            result[at] = result[at].model_copy(update={"content": content})
            return result
    return [*result, user(shown)]


def _correction(reply: Reply, problem: str, form: ReplyShape) -> tuple[Message, Message]:
    """The unusable answer as plain text, so that it needs no tool result, and what is wrong with it."""
    wanted = f"Reply again, in whole and with nothing around it, as one JSON object of this form:\n{form.skeleton}"
    echo = shorten(_written(reply, form), LONGEST_ECHO) or "(nothing)"
    return assistant(echo), user(f"That reply cannot be used: {problem}.\n{wanted}")


def _read(reply: Reply, reply_type: type[T], form: ReplyShape) -> T:
    """The reply as a `reply_type`; ValueError says why it is none."""
    if reply.finish == "refusal":
        raise ValueError(f"the model refused: {reply.text.strip() or 'it gave no reason'}")
    written = _written(reply, form)
    if reply.text_in and not written.strip():
        raise ValueError(f"the reply has no `content`, its text stood in `{reply.text_in}`")
    found = fitted(find_object(written, form.schema), form.schema)
    keys = cast(dict[str, JsonValue], form.schema["properties"]).keys()
    if not keys & found.keys():
        # Where every field has a default this would pass as an empty reply.
        raise ValueError(f"the reply has none of the keys {', '.join(keys)}")
    return reply_type.model_validate(found)


def _written(reply: Reply, form: ReplyShape) -> str:
    calls = sorted(reply.tool_calls, key=lambda call: call.name != form.name)
    return calls[0].arguments if calls else reply.text


def _describe(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc'])) or 'the reply'}: {problem['msg']}" for problem in problems)
