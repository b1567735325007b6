"""Codex."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import (
    KnownProgram,
    Order,
    Report,
    chat_file,
    put,
    read_files,
    skill_instructions,
    usage_of,
)
from etude.programs.transcripts import codex as transcripts
from etude.programs.transcripts.values import object_of, objects, table, text
from etude.sandbox import Finished

_PROVIDER = "etude"
_TOOLS = (
    "shell_tool",
    "unified_exec",
    "multi_agent",
    "goals",
    "image_generation",
    "view_image",
    "apps",
    "code_mode_host",
)


class Codex(KnownProgram):
    """OpenAI's agent program, over the Responses wire."""

    name: ClassVar[str] = "codex"
    command: ClassVar[str] = "codex"
    install: ClassVar[str] = "npm install -g @openai/codex"
    tested: ClassVar[str] = "0.171.0"
    memory_mb: ClassVar[int] = 384
    login_files: ClassVar[tuple[str, ...]] = (".codex/auth.json",)
    login_variables: ClassVar[tuple[str, ...]] = ("CODEX_API_KEY",)
    folder: ClassVar[str] = ".codex"
    model_option: ClassVar[bool] = False
    has_commands: ClassVar[bool] = False
    last: ClassVar[tuple[str, ...]] = ("-",)

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        put(folder / "config.toml", _settings(order))
        words = ["exec", "--json", "--skip-git-repo-check"]
        # Its own sandbox cannot be made within ours.
        words += ["--dangerously-bypass-approvals-and-sandbox", "-C", str(order.workspace)]
        off = ["plugins", "unbounded_connection_retries", *(_TOOLS if order.chat is not None else ())]
        words += [word for feature in off for word in ("--disable", feature)]
        return words, {"ETUDE_KEY": order.key}

    def read(self, finished: Finished, order: Order) -> Report:
        telling = MessageLog()
        transcripts.tell(telling, objects(read_files(order.home, ".codex/sessions/*/*/*/rollout-*.jsonl")))
        report = telling.report(ended=False)
        for event in objects(finished.stdout):
            kind, item = event.get("type"), table(event.get("item"))
            if kind == "item.completed" and item.get("type") == "agent_message":
                report = replace(report, answer=text(item.get("text")))
            elif kind == "turn.completed":
                used = table(event.get("usage"))
                usage = usage_of(used, ["input_tokens"], ["output_tokens"], "cached_input_tokens")
                report = replace(report, ended=True, error="", usage=usage)
            elif kind == "turn.failed":
                words = _words(text(table(event.get("error")).get("message")))
                report = replace(report, ended=True, error=words or "the turn failed")
        return report


def _settings(order: Order) -> str:
    """The settings file. JSON strings are TOML strings, except the one character only TOML forbids."""

    def quoted(value: str) -> str:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    lines = ["check_for_update_on_startup = false"]
    if order.model:
        lines.append(f"model = {quoted(order.model)}")
    if chat := chat_file(order):
        lines += [f"model_instructions_file = {quoted(str(chat))}", 'web_search = "disabled"']
    instructions = skill_instructions(order)
    if instructions:
        lines.append(f"developer_instructions = {quoted(instructions)}")
    if order.url:
        lines += [
            f"model_provider = {quoted(_PROVIDER)}",
            f"[model_providers.{_PROVIDER}]",
            f"name = {quoted(_PROVIDER)}",
            f"base_url = {quoted(order.url + '/v1')}",
            'env_key = "ETUDE_KEY"',
            'wire_api = "responses"',
            "request_max_retries = 1",
            "stream_max_retries = 1",
            f"stream_idle_timeout_ms = {int(order.seconds * 1000)}",
        ]
    lines += ["[analytics]", "enabled = false", "[skills.bundled]", "enabled = false"]
    return "\n".join(lines) + "\n"


def _words(message: str) -> str:
    """What an error says; it may be the body of a response."""
    body = object_of(message.encode()) or {}
    return text(table(body.get("error")).get("message")) or message
