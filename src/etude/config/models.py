"""The settings of a model in one of the roles."""

from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator

from etude.config.section_base import Section
from etude.secret_values import names_secret

COLD = "at temperature 0"
"""Where a model answers alike, with or without a seed."""


class Price(Section):
    """What a model costs, in USD per million tokens."""

    input: float = Field(ge=0)
    """Price of input tokens."""
    output: float = Field(ge=0)
    """Price of output tokens."""
    cached: float | None = Field(default=None, ge=0)
    """Price of input tokens read from the provider's cache; the input price when not given."""
    written: float | None = Field(default=None, ge=0)
    """Price of input tokens written to the provider's cache for 5 minutes; 1.25 times the input price when not given.
    What is kept for an hour costs 1.6 times as much."""


class ModelSection(Section):
    """A model in one of the roles."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "api_key_command", "renew_login", "stream", "timeout", "max_concurrency", "price"}
    )

    model: str
    """Provider and model name, as in `openai:gpt-5.5`, `anthropic:claude-opus-5` or `simulated:target`."""
    base_url: str | None = None
    """Address of the server, as in `http://127.0.0.1:8000/v1`; the provider's own when not given."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key. The key itself is never written down. Left as it is,
    `anthropic:` reads ANTHROPIC_API_KEY."""
    api_key_command: str | None = None
    """Command that prints the key, for keys that expire; asked again every four minutes. No shell is involved."""
    renew_login: bool = False
    """Of `agent:` models without `base_url`: as `agent.renew_login`."""
    api: Literal["chat", "responses"] = "chat"
    """Interface of `openai:` models: Chat Completions, which compatible servers have, or Responses."""
    temperature: float | None = Field(default=None, ge=0)
    """Sampling temperature; the provider's default when not given."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; the provider's default when not given."""
    max_output_tokens: int = Field(default=4096, ge=1)
    """Most tokens one reply may have."""
    reasoning_effort: str | None = None
    """How much a reasoning model may think, in the provider's words."""
    thinking: Literal["on", "off"] | None = None
    """Switch thinking on or off where the model has a switch; the provider's default when not given."""
    send_seed: bool = True
    """Send a `seed` made from the task and the trial. At temperature 0 a further trial tells nothing new, with or
    without it."""
    structured: Literal["json_schema", "tool", "prompt"] = "json_schema"
    """First rung of the structured-output ladder: native schema, forced tool or schema shown in the prompt."""
    extra_body: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Further fields of the request body."""
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    """Further request headers, in ASCII. Those whose name has a word such as `key` or `token` in it may change when a
    run is resumed. Put no secrets here: use `api_key_env`."""
    stream: bool = False
    """Have answers streamed, for servers and proxies that drop long silent connections. The result is the same."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds until a request without a whole answer is given up and tried again."""
    max_concurrency: int | None = Field(default=None, ge=1)
    """Most requests in flight; by default as many as `limits.concurrency`, and at least 64. Fewer are used when the
    server answers 429 and that helps, 8 at least."""
    price: Price | None = None
    """What the model costs; without one the table `prices` counts, and without that money is shown as unknown."""

    @property
    def one_answer(self) -> str:
        """Where a question that is asked again gets the same answer: how it is asked. Else empty."""
        return "by handoff" if self.model.startswith("handoff:") else COLD * (self.temperature == 0)

    def identity(self) -> dict[str, JsonValue]:
        """Without headers that carry credentials: keys may be renewed."""
        identity = super().identity()
        headers: dict[str, JsonValue] = {
            name.lower(): value for name, value in self.headers.items() if not names_secret(name)
        }
        del identity["headers"]
        return {**identity, "headers": headers} if headers else identity

    @field_validator("thinking", mode="before")
    @classmethod
    def _word(cls, value: object) -> object:
        """YAML reads the bare words as truth values."""
        return ("on" if value else "off") if isinstance(value, bool) else value


class OptimizerSection(ModelSection):
    """The model that proposes edits."""

    max_output_tokens: int = Field(default=16384, ge=1)
    """Most tokens one reply may have."""
