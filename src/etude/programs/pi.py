"""Pi."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, chat_file, put, read_files, skill_file, usage_of
from etude.programs.transcripts import pi as transcripts
from etude.programs.transcripts.values import objects, table, text
from etude.records import Usage
from etude.sandbox import Finished

_PROVIDER = "etude"
_CONTEXT = 200_000


class Pi(KnownProgram):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "pi"
    command: ClassVar[str] = "pi"
    install: ClassVar[str] = "npm install -g @earendil-works/pi-coding-agent"
    tested: ClassVar[str] = "0.73.1"
    login_files: ClassVar[tuple[str, ...]] = (".pi/agent/auth.json",)
    folder: ClassVar[str] = ".pi/agent"
    has_commands: ClassVar[bool] = False

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        # Its events grow with the square of an answer's length; its session file tells the same.
        words = ["--print", "--offline"]
        if order.url:
            put(folder / "models.json", _models(order))
            put(folder / "settings.json", _settings(order))
            words += ["--provider", _PROVIDER]
        if chat := chat_file(order):
            words += ["--no-tools", "--no-context-files", "--no-skills", "--system-prompt", str(chat)]
        if skill := skill_file(order):
            words += ["--append-system-prompt", str(skill)]
        return words, {"PI_TELEMETRY": "0", "PI_OFFLINE": "1"}

    def read(self, finished: Finished, order: Order) -> Report:
        telling, usage, ended, error = MessageLog(), Usage(), False, ""
        records = list(objects(read_files(order.home, ".pi/agent/sessions/*/*.jsonl")))
        transcripts.tell(telling, records)
        for message in (table(one.get("message")) for one in records if one.get("type") == "message"):
            if message.get("role") == "assistant":
                reason = message.get("stopReason")
                error = text(message.get("errorMessage")) or "an error" if reason in ("error", "aborted") else ""
                ended = bool(error) or reason in ("stop", "length")
                # Its input tokens are those that no cache had.
                read = ("input", "cacheRead", "cacheWrite")
                usage += usage_of(table(message.get("usage")), read, ["output"], "cacheRead")
        return replace(telling.report(ended=ended), answer=telling.last_text, usage=usage, error=error)


def _models(order: Order) -> str:
    model = {
        "id": order.model,
        "name": order.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": _CONTEXT,
        "maxTokens": order.max_output_tokens,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    address = f"{order.url}/v1"
    provider = {"baseUrl": address, "api": "openai-completions", "apiKey": order.key, "models": [model]}
    return json.dumps({"providers": {_PROVIDER: provider}})


def _settings(order: Order) -> str:
    """Temporary errors were tried again behind the gateway already."""
    return json.dumps({"retry": {"enabled": False, "provider": {"timeoutMs": int(order.seconds * 1000)}}})
