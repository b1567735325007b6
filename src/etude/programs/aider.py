"""Aider."""

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import (
    SKILL_FOLDER,
    Launch,
    Order,
    Program,
    Report,
    environment,
    last_words,
    put,
    read_files,
    skill_file,
)
from etude.sandbox import Finished

_RECORD = "llm.log"
_REPLY = re.compile(r"^LLM RESPONSE .*\n((?:ASSISTANT .*\n?)*)", re.MULTILINE)
_SILENT = "Empty response received from LLM"
_OPTIONS = (
    *("--yes-always", "--no-git", "--no-pretty", "--no-stream", "--no-check-update", "--analytics-disable"),
    *("--no-show-model-warnings", "--no-show-release-notes", "--no-detect-urls", "--no-suggest-shell-commands"),
)


class Aider(Program):
    """Aider, over the Chat Completions wire. It has no tools: it edits files from what a reply says."""

    name: ClassVar[str] = "aider"
    command: ClassVar[str] = "aider"
    install: ClassVar[str] = "pipx install aider-chat"
    tested: ClassVar[str] = "0.86.2"
    login_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_BASE")
    as_model: ClassVar[bool] = False  # its own instructions cannot be taken out
    reads_skills: ClassVar[bool] = False

    def launch(self, order: Order) -> Launch:
        # At the very start these are commands to the program, not a task.
        prompt = f" {order.prompt}" if order.prompt.startswith(("/", "!")) else order.prompt
        argv = [*order.installed.argv, *_OPTIONS, "--message-file", str(put(order.home / "prompt.md", prompt))]
        for option, name in (("input", "input"), ("chat", "chat.md"), ("llm", _RECORD)):
            argv += [f"--{option}-history-file", str(order.home / name)]
        if order.model:
            argv += ["--model", f"openai/{order.model}" if order.url else order.model]
        if skill := skill_file(order):
            shown = [skill, *(order.workspace / SKILL_FOLDER / name for name in sorted(order.skill.files))]
            argv += [word for path in shown for word in ("--read", str(path))]
        env = environment(order) | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        if order.url:
            env |= {"OPENAI_API_BASE": f"{order.url}/v1", "OPENAI_API_KEY": order.key}
        return Launch((*argv, *order.arguments, *_files(order.workspace)), env)

    def read(self, finished: Finished, order: Order) -> Report:
        record = read_files(order.home, _RECORD).decode(errors="replace")
        replies = [re.sub("^ASSISTANT ", "", reply, flags=re.MULTILINE).strip() for reply in _REPLY.findall(record)]
        telling = MessageLog()
        for reply in replies:
            telling.say(reply)
        answer, words = replies[-1] if replies else "", last_words(finished)
        report = replace(telling.report(ended=finished.code == 0), answer=answer if finished.code == 0 else "")
        # It ends well whatever happens: a failure shows as a request without a reply.
        failed = report.ended and not answer and _SILENT not in words
        return replace(report, error=(words or "no reply") if failed else "")


def _files(workspace: Path) -> list[str]:
    """The files it may edit: all that are there. Those of the skill lie behind a link."""
    found = (path for path in workspace.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(str(path) for path in found)
