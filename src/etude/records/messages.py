"""Messages to models and their answers."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from etude.records.record import Record

Finish = Literal["stop", "length", "tool_calls", "refusal"]


class TextPart(Record):
    """A piece of text in a message."""

    type: Literal["text"] = "text"
    text: str


class ImagePart(Record):
    """A picture in a message. `url` is an http(s) or a data URL, or a reference as in `Task.images`."""

    type: Literal["image"] = "image"
    url: str

    @property
    def shown(self) -> str:
        """What stands for the picture in a text."""
        name = "image" if self.url.startswith("data:") else self.url.partition("#sha256=")[0]
        return f"[image: {name}]"


class ToolCall(Record):
    """A model's wish to call a tool. `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class Opaque(Record):
    """What a server wants back with a turn of its model, unread: thoughts, signatures, encrypted items. Only the
    `format` that made it knows what is in `data`, and only that writes it into a request."""

    format: str
    data: JsonValue


def _empty(value: Any) -> bool:
    return not value


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: tuple[TextPart | ImagePart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: Opaque | None = Field(default=None, exclude_if=_empty)
    """Of turns of a model, where its server wants something back."""

    @property
    def text(self) -> str:
        """All text parts, joined by new lines."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def shown(self) -> "Message":
        """What others than the model's server see of the turn."""
        return self if self.opaque is None else self.model_copy(update={"opaque": None})


def system(text: str) -> Message:
    """A system message of one text."""
    return Message(role="system", content=(TextPart(text=text),))


def user(text: str) -> Message:
    """A user message of one text."""
    return Message(role="user", content=(TextPart(text=text),))


def assistant(text: str) -> Message:
    """An assistant message of one text."""
    return Message(role="assistant", content=(TextPart(text=text),))


class Tool(Record):
    """A tool a model may call. `parameters` is a JSON schema of type object."""

    name: str
    description: str = ""
    parameters: dict[str, JsonValue]


class ResponseSchema(Record):
    """The JSON schema a reply must follow."""

    name: str
    body: dict[str, JsonValue]


class ChatRequest(Record):
    """Everything one model request depends on, except the model and its settings."""

    messages: tuple[Message, ...]
    response_schema: ResponseSchema | None = None
    tools: tuple[Tool, ...] = ()
    forced_tool: str | None = None
    """The name of the tool the model must call."""
    seed: int | None = None
    """Made from the task and the trial (`Task.seed`). Providers that take a seed are sent it; others draw as they
    like."""


class Usage(Record):
    """Tokens of one or more requests, as the provider billed them."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """The part of `input_tokens` that was read from the provider's cache."""
    written_tokens: int = Field(default=0, ge=0, exclude_if=_empty)
    """The part of `input_tokens` that was written to the provider's cache."""
    hour_tokens: int = Field(default=0, ge=0, exclude_if=_empty)
    """The part of `written_tokens` that is kept there for an hour, which costs more."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    @property
    def total(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


class Reply(Record):
    """One answer of a model."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    text_in: str = Field(default="", exclude_if=lambda name: not name)
    """Where `text` is empty: the field of the body that held what the model wrote, as in `reasoning_content`."""
    usage: Usage = Usage()
    simulated: bool = False
    """The answer comes from the simulated world, not from a model."""
    opaque: Opaque | None = Field(default=None, exclude_if=_empty)
    """What the server wants back with this turn."""

    @property
    def turn(self) -> Message:
        """The reply as a turn of the conversation that goes on."""
        content = (TextPart(text=self.text),) if self.text else ()
        return Message(role="assistant", content=content, tool_calls=self.tool_calls, opaque=self.opaque)
