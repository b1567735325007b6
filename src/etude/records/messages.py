"""Messages to models and their answers."""

from typing import Literal

from pydantic import Field, JsonValue

from etude.records.base import Record


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


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: tuple[TextPart | ImagePart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """All text parts, joined by new lines."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


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

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )

    @property
    def total(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


class Reply(Record):
    """One answer of a model."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Literal["stop", "length", "tool_calls", "refusal"] = "stop"
    usage: Usage = Usage()
    simulated: bool = False
    """The answer comes from the simulated world, not from a model."""
