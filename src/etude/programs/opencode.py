"""OpenCode."""

import json
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from etude.programs.message_log import MessageLog
from etude.programs.program import Launch, Order, Program, Report, environment, install_skill, read_lines, skill_file
from etude.programs.transcripts.opencode import tell_part
from etude.programs.transcripts.values import objects, table
from etude.records import Usage
from etude.records.record import Lenient
from etude.sandbox import Finished

_PROVIDER = "etude"
_AGENT = "answers"
_CONTEXT = 200_000


class _Cache(Lenient):
    read: int = 0
    write: int = 0


class _Tokens(Lenient):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()


class _Part(Lenient):
    reason: str = ""
    tokens: _Tokens = _Tokens()


class _Data(Lenient):
    message: str = ""
    status: int | None = Field(default=None, alias="statusCode")


class _Error(Lenient):
    name: str = ""
    data: _Data = _Data()


class _Line(Lenient):
    type: str = ""
    part: _Part = _Part()
    error: _Error = _Error()


class OpenCode(Program):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "opencode"
    command: ClassVar[str] = "opencode"
    install: ClassVar[str] = "npm install -g opencode-ai"
    tested: ClassVar[str] = "1.18.33"
    memory_mb: ClassVar[int] = 896
    login_files: ClassVar[tuple[str, ...]] = (".local/share/opencode/auth.json",)

    def launch(self, order: Order) -> Launch:
        folder = order.home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "opencode.json").write_text(json.dumps(_settings(order)), encoding="utf-8")
        if order.delivery == "install":
            install_skill(order.skill, folder / "skills")
        env = {
            **environment(order),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        if order.url:
            # Its catalogue of all providers is not needed, and takes a third of its start-up.
            catalogue = folder / "models.json"
            catalogue.write_text("{}", encoding="utf-8")
            env["OPENCODE_MODELS_PATH"] = str(catalogue)
        # With a title it need not ask the model for one.
        argv = [*order.installed.argv, "run", "--format", "json", "--title", "task"]
        if order.chat is not None:
            argv += ["--agent", _AGENT]
        return Launch((*argv, *order.arguments), env, order.prompt.encode())

    def read(self, finished: Finished, order: Order) -> Report:
        telling, usage, ended, error = MessageLog(), Usage(), False, ""
        for record in objects(finished.stdout):
            tell_part(telling, table(record.get("part")))
        for line in read_lines(finished.stdout, _Line):
            part = line.part
            if line.type == "step_finish":
                usage, ended = usage + _usage(part.tokens), part.reason != "tool-calls"
            elif line.type == "error":
                error = _words(line.error)
        return replace(telling.report(ended=ended or bool(error)), answer=telling.last_text, usage=usage, error=error)


def _words(error: _Error) -> str:
    words = error.data.message or error.name or "an error"
    return words if error.data.status is None else f"{error.data.status} {words}"


def _usage(tokens: _Tokens) -> Usage:
    """Its input tokens are those that no cache had."""
    return Usage(
        input_tokens=tokens.input + tokens.cache.read + tokens.cache.write,
        output_tokens=tokens.output + tokens.reasoning,
        cached_tokens=tokens.cache.read,
    )


def _settings(order: Order) -> dict[str, Any]:
    settings: dict[str, Any] = {"autoupdate": False, "share": "disabled", "permission": {"*": "allow"}}
    if skill := skill_file(order):
        settings["instructions"] = [str(skill)]
    if order.chat is not None:
        # Its own agent, without tools: the program's own ones look for a project first.
        settings["agent"] = {_AGENT: {"mode": "primary", "prompt": order.chat, "tools": {"*": False}}}
    if not order.url:
        return settings | ({"model": order.model} if order.model else {})
    options = {"baseURL": f"{order.url}/v1", "apiKey": order.key, "timeout": int(order.seconds * 1000)}
    limit = {"context": _CONTEXT, "output": order.max_output_tokens}
    models = {order.model: {"name": order.model, "limit": limit}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": _PROVIDER, "options": options, "models": models}
    name = f"{_PROVIDER}/{order.model}"
    return settings | {"model": name, "small_model": name, "provider": {_PROVIDER: provider}}
