"""GitHub Copilot's agent program."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from etude.programs.installed import Installed
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
from etude.programs.transcripts import copilot_cli as transcripts
from etude.programs.transcripts.values import objects
from etude.records import Usage
from etude.records.record import Lenient
from etude.sandbox import Finished

_BROUGHT = ["customize-cloud-agent", "discover-resources", "github-pr-media"]
"""Skills that it brings itself: they would stand next to the skill in every listing."""
_CONTEXT = 200_000
_SILENT = "No response was returned"


class _Usage(Lenient):
    input_tokens: int = Field(default=0, alias="inputTokens")
    output_tokens: int = Field(default=0, alias="outputTokens")
    cached: int = Field(default=0, alias="cacheReadTokens")


class _Data(Lenient):
    """What an event brings; which of these depends on its type."""

    usage: _Usage = _Usage()
    message: str = ""


class _Event(Lenient):
    """A line of a session's file, or of standard output."""

    type: str = ""
    data: _Data = _Data()


class CopilotCli(Program):
    """GitHub Copilot CLI, over the Chat Completions wire."""

    name: ClassVar[str] = "copilot-cli"
    command: ClassVar[str] = "copilot"
    install: ClassVar[str] = "npm install -g @github/copilot"
    tested: ClassVar[str] = "1.0.102"
    login_variables: ClassVar[tuple[str, ...]] = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
    as_model: ClassVar[bool] = False  # its own instructions cannot be taken out

    def find(self, path: str | None = None) -> Installed:
        """At its first start it unpacks itself into the cache of its user, and runs from there."""
        found = super().find(path)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copilot"
        env = (("COPILOT_PKG_CACHE_HOME", str(cache)),)
        return replace(found, readable=(*found.readable, cache), env=env)

    def launch(self, order: Order) -> Launch:
        folder = order.home / ".copilot"
        folder.mkdir(parents=True, exist_ok=True)
        put(folder / "settings.json", json.dumps({"disabledSkills": _BROUGHT}))
        argv = [*order.installed.argv, "--allow-all", "--output-format", "json", "--log-level", "none"]
        argv += ["--no-auto-update", "--no-ask-user", "--no-color"]
        if order.model:
            argv += ["--model", order.model]
        env = environment(order)
        if skill := skill_instructions(order):
            close(put(folder / "copilot-instructions.md", skill))
        if order.delivery == "install":
            install_skill(order.skill, folder / "skills")
        if order.url:
            env |= {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{order.url}/v1",
                "COPILOT_PROVIDER_API_KEY": order.key,
                "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(_CONTEXT),
                "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": str(order.max_output_tokens),
            }
        # At the very start a slash is a command to the program, not a task.
        prompt = f" {order.prompt}" if order.prompt.startswith("/") else order.prompt
        return Launch((*argv, *order.arguments), env, prompt.encode())

    def read(self, finished: Finished, order: Order) -> Report:
        # Standard output repeats what commands print piece by piece; its session file has each result once.
        telling, events = MessageLog(), read_files(order.home, ".copilot/session-state/*/events.jsonl")
        transcripts.tell(telling, objects(events))
        used = [event.data.usage for event in read_lines(events, _Event) if event.type == "session.usage_record"]
        usage = Usage(
            input_tokens=sum(each.input_tokens for each in used),
            output_tokens=sum(each.output_tokens for each in used),
            cached_tokens=sum(each.cached for each in used),
        )
        lines = list(read_lines(finished.stdout, _Event))
        report = replace(telling.report(ended=any(line.type == "result" for line in lines)), usage=usage)
        if not report.ended:
            return report
        words = next((line.data.message for line in lines if line.type == "session.error"), "")
        return replace(report, error="" if _SILENT in words else words, answer="" if words else telling.last_text)
