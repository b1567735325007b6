"""Qwen Code."""

import json
from dataclasses import replace
from typing import Any, ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import (
    Launch,
    Order,
    Program,
    Report,
    environment,
    install_skill,
    put,
    read_files,
    read_lines,
    skill_instructions,
)
from etude.programs.read_only import close
from etude.programs.transcripts import qwen as transcripts
from etude.programs.transcripts.values import objects
from etude.records import Usage
from etude.records.record import Lenient
from etude.sandbox import Finished

_SILENT = "empty response text"


class _Usage(Lenient):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0


class _Error(Lenient):
    message: str = ""


class _Line(Lenient):
    """A line of standard output."""

    type: str = ""
    is_error: bool = False
    result: str = ""
    usage: _Usage = _Usage()
    error: _Error = _Error()


class QwenCode(Program):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "qwen-code"
    command: ClassVar[str] = "qwen"
    install: ClassVar[str] = "npm install -g @qwen-code/qwen-code"
    tested: ClassVar[str] = "0.24.4"
    as_model: ClassVar[bool] = False  # it offers some of its tools whatever it is told
    login_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")

    def launch(self, order: Order) -> Launch:
        folder = order.home / ".qwen"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(_settings(order)), encoding="utf-8")
        argv = [*order.installed.argv, "--auth-type", "openai", "--yolo", "--output-format", "stream-json"]
        if order.model:
            argv += ["--model", order.model]
        env = {**environment(order), "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
        if skill := skill_instructions(order):
            # On the command line it could be no longer than one argument.
            close(put(folder / "QWEN.md", skill))
        if order.delivery == "install":
            install_skill(order.skill, folder / "skills")
        if order.url:
            env |= {"OPENAI_BASE_URL": f"{order.url}/v1", "OPENAI_API_KEY": order.key}
        return Launch((*argv, *order.arguments), env, _literal(order.prompt).encode())

    def read(self, finished: Finished, order: Order) -> Report:
        # On standard output are summaries of what tools did; its session file has what the model saw.
        telling = MessageLog()
        transcripts.tell(telling, objects(read_files(order.home, ".qwen/projects/*/chats/*.jsonl")))
        end = next((line for line in read_lines(finished.stdout, _Line) if line.type == "result"), None)
        report = telling.report(ended=end is not None)
        if end is None:
            return report
        used = end.usage
        usage = Usage(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cache_read_input_tokens,
        )
        # After some tries it takes a model that says nothing for an error.
        if end.is_error and _SILENT not in end.error.message:
            return replace(report, usage=usage, error=end.error.message or "an error")
        return replace(report, usage=usage, answer=end.result)


def _literal(prompt: str) -> str:
    """At the very start a slash is a command to the program, not a task."""
    return f" {prompt}" if prompt.startswith("/") else prompt


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
