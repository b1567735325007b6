"""Goose."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field, JsonValue, ValidationError

from etude.programs.message_log import MessageLog
from etude.programs.program import Launch, Order, Program, Report, environment, install_skill, put, skill_instructions
from etude.programs.read_only import close
from etude.programs.transcripts.values import shown
from etude.records.record import Lenient
from etude.sandbox import Finished


class _Structured(Lenient):
    exit_code: int | None = None


class _Value(Lenient):
    """What a tool was called with, or came to."""

    name: str = ""
    arguments: JsonValue = None
    content: JsonValue = None
    structured: _Structured = Field(default=_Structured(), alias="structuredContent")


class _Outcome(Lenient):
    value: _Value = _Value()
    error: str = ""


class _Block(Lenient):
    type: str = ""
    id: str = ""
    text: str = ""
    call: _Outcome = Field(default=_Outcome(), alias="toolCall")
    result: _Outcome = Field(default=_Outcome(), alias="toolResult")


class _Message(Lenient):
    role: str = ""
    content: list[_Block] = Field(default_factory=list[_Block])


class _Account(Lenient):
    """What it prints in the end. Its counts of tokens are those of the last request, and left out."""

    messages: list[_Message] = Field(default_factory=list[_Message])


class Goose(Program):
    """Goose, over the Chat Completions wire."""

    name: ClassVar[str] = "goose"
    command: ClassVar[str] = "goose"
    install: ClassVar[str] = "npm install -g @aaif/goose-binary-linux-x64, or the package of your platform"
    tested: ClassVar[str] = "1.34.0"
    login_variables: ClassVar[tuple[str, ...]] = (
        *("GOOSE_PROVIDER", "GOOSE_MODEL", "ANTHROPIC_API_KEY"),
        *("OPENAI_API_KEY", "OPENAI_HOST"),
    )
    as_model: ClassVar[bool] = False

    def launch(self, order: Order) -> Launch:
        argv = [
            *order.installed.argv,
            "run",
            "--instructions",
            "-",
            "--output-format",
            "json",
            "--quiet",
            "--name",
            "etude",
        ]
        # A session without a name would have the model asked for one.
        argv += ["--no-profile", "--with-builtin", "developer,skills"]
        if order.model:
            argv += ["--model", order.model]
        if skill := skill_instructions(order):
            folder = order.home / ".config" / "goose"
            folder.mkdir(parents=True)
            close(put(folder / ".goosehints", skill))
        if order.delivery == "install":
            install_skill(order.skill, order.home / ".agents" / "skills")
        env = environment(order) | {
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
            "GOOSE_MAX_TOKENS": str(order.max_output_tokens),
        }
        if order.url:
            env |= {"GOOSE_PROVIDER": "openai", "OPENAI_HOST": order.url, "OPENAI_API_KEY": order.key}
        return Launch((*argv, *order.arguments), env, order.prompt.encode())

    def read(self, finished: Finished, order: Order) -> Report:
        try:
            account = _Account.model_validate_json(finished.stdout[finished.stdout.find(b"{") :])
        except ValidationError:
            return Report(ended=False)
        telling = MessageLog()
        for message in account.messages:
            for block in message.content:
                _tell(telling, message.role, block)
        return replace(telling.report(ended=True), answer=telling.last_text)


def _tell(telling: MessageLog, role: str, block: _Block) -> None:
    if block.type == "text" and role == "assistant":
        telling.say(block.text)
    elif block.type == "toolRequest":
        value = block.call.value
        telling.call(block.id, value.name, value.arguments)
    elif block.type == "toolResponse":
        value = block.result.value
        telling.result(block.id, shown(value.content) or block.result.error, exit_code=value.structured.exit_code)
