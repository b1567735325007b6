"""OpenCode."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, put, skill_file, usage_of
from etude.programs.transcripts.opencode import tell_part
from etude.programs.transcripts.values import objects, table, text
from etude.records import Usage
from etude.sandbox import Finished

_PROVIDER = "etude"
_AGENT = "answers"
_CONTEXT = 200_000


class OpenCode(KnownProgram):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "opencode"
    command: ClassVar[str] = "opencode"
    install: ClassVar[str] = "npm install -g opencode-ai"
    tested: ClassVar[str] = "1.18.33"
    memory_mb: ClassVar[int] = 896
    login_files: ClassVar[tuple[str, ...]] = (".local/share/opencode/auth.json",)
    folder: ClassVar[str] = ".config/opencode"
    model_option: ClassVar[bool] = False
    has_commands: ClassVar[bool] = False

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        put(folder / "opencode.json", json.dumps(_settings(order)))
        env = {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        if order.url:
            # Its catalogue of all providers is not needed, and takes a third of its start-up.
            env["OPENCODE_MODELS_PATH"] = str(put(folder / "models.json", "{}"))
        # With a title it need not ask the model for one.
        words = ["run", "--format", "json", "--title", "task"]
        return words + (["--agent", _AGENT] if order.chat is not None else []), env

    def read(self, finished: Finished, order: Order) -> Report:
        telling, usage, ended, error = MessageLog(), Usage(), False, ""
        for line in objects(finished.stdout):
            part, tokens = table(line.get("part")), table(table(line.get("part")).get("tokens"))
            tell_part(telling, part)
            if line.get("type") == "step_finish":
                # Its input tokens are those that no cache had.
                used = {**tokens, **table(tokens.get("cache"))}
                usage += usage_of(used, ("input", "read", "write"), ("output", "reasoning"), "read")
                ended = part.get("reason") != "tool-calls"
            elif line.get("type") == "error":
                error = _words(table(line.get("error")))
        return replace(telling.report(ended=ended or bool(error)), answer=telling.last_text, usage=usage, error=error)


def _words(error: dict[str, Any]) -> str:
    data = table(error.get("data"))
    words, status = text(data.get("message")) or text(error.get("name")) or "an error", data.get("statusCode")
    return words if status is None else f"{status} {words}"


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
