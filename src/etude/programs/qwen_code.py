"""Qwen Code."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, put, read_files, usage_of
from etude.programs.transcripts import qwen as transcripts
from etude.programs.transcripts.values import objects, table, text
from etude.sandbox import Finished

_SILENT = "empty response text"


class QwenCode(KnownProgram):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "qwen-code"
    command: ClassVar[str] = "qwen"
    install: ClassVar[str] = "npm install -g @qwen-code/qwen-code"
    tested: ClassVar[str] = "0.24.4"
    as_model: ClassVar[bool] = False  # it offers some of its tools whatever it is told
    login_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    folder: ClassVar[str] = ".qwen"
    memory: ClassVar[str] = "QWEN.md"  # on the command line a skill could be no longer than one argument

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        put(folder / "settings.json", json.dumps(_settings(order)))
        env = {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
        if order.url:
            env |= {"OPENAI_BASE_URL": f"{order.url}/v1", "OPENAI_API_KEY": order.key}
        return ["--auth-type", "openai", "--yolo", "--output-format", "stream-json"], env

    def read(self, finished: Finished, order: Order) -> Report:
        # On standard output are summaries of what tools did; its session file has what the model saw.
        telling = MessageLog()
        transcripts.tell(telling, objects(read_files(order.home, ".qwen/projects/*/chats/*.jsonl")))
        end = next((line for line in objects(finished.stdout) if line.get("type") == "result"), None)
        report = telling.report(ended=end is not None)
        if end is None:
            return report
        usage = usage_of(table(end.get("usage")), ["input_tokens"], ["output_tokens"], "cache_read_input_tokens")
        words = text(table(end.get("error")).get("message"))
        # After some tries it takes a model that says nothing for an error.
        if end.get("is_error") is True and _SILENT not in words:
            return replace(report, usage=usage, error=words or "an error")
        return replace(report, usage=usage, answer=text(end.get("result")))


def _settings(order: Order) -> dict[str, Any]:
    generation: dict[str, Any] = {
        # Temporary errors were tried again behind the gateway already.
        "timeout": int(order.seconds * 1000),
        "maxRetries": 0,
        "samplingParams": {"max_tokens": order.max_output_tokens},
    }
    return {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        # Both ask the model on their own.
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        # What it brings itself stands next to the skill in every listing.
        "skills": {"disabledLevels": ["bundled"]},
        # The other form replaces words with an @ in a skill by what files hold.
        "context": {"importFormat": "flat"},
        "model": {"generationConfig": generation},
    }
