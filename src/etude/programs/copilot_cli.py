"""GitHub Copilot's agent program."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from etude.programs.installed import Installed
from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, put, read_files, usage_of
from etude.programs.transcripts import copilot_cli as transcripts
from etude.programs.transcripts.values import objects, table, text
from etude.records import Usage
from etude.sandbox import Finished

_BROUGHT = ["customize-cloud-agent", "discover-resources", "github-pr-media"]
"""Skills that it brings itself: they would stand next to the skill in every listing."""
_CONTEXT = 200_000
_SILENT = "No response was returned"


class CopilotCli(KnownProgram):
    """GitHub Copilot CLI, over the Chat Completions wire."""

    name: ClassVar[str] = "copilot-cli"
    command: ClassVar[str] = "copilot"
    install: ClassVar[str] = "npm install -g @github/copilot"
    tested: ClassVar[str] = "1.0.102"
    login_variables: ClassVar[tuple[str, ...]] = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
    as_model: ClassVar[bool] = False  # its own instructions cannot be taken out
    folder: ClassVar[str] = ".copilot"
    memory: ClassVar[str] = "copilot-instructions.md"

    def find(self, path: str | None = None) -> Installed:
        """At its first start it unpacks itself into the cache of its user, and runs from there."""
        found = super().find(path)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copilot"
        env = (("COPILOT_PKG_CACHE_HOME", str(cache)),)
        return replace(found, readable=(*found.readable, cache), env=env)

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        put(folder / "settings.json", json.dumps({"disabledSkills": _BROUGHT}))
        words = ["--allow-all", "--output-format", "json", "--log-level", "none"]
        words += ["--no-auto-update", "--no-ask-user", "--no-color"]
        if not order.url:
            return words, {}
        return words, {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{order.url}/v1",
            "COPILOT_PROVIDER_API_KEY": order.key,
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(_CONTEXT),
            "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": str(order.max_output_tokens),
        }

    def read(self, finished: Finished, order: Order) -> Report:
        # Standard output repeats what commands print piece by piece; its session file has each result once.
        telling = MessageLog()
        events = list(objects(read_files(order.home, ".copilot/session-state/*/events.jsonl")))
        transcripts.tell(telling, events)
        kept = (event for event in events if event.get("type") == "session.usage_record")
        used = (table(table(event.get("data")).get("usage")) for event in kept)
        usage = sum((usage_of(each, ["inputTokens"], ["outputTokens"], "cacheReadTokens") for each in used), Usage())
        lines = {text(line.get("type")): line for line in reversed(list(objects(finished.stdout)))}
        report = replace(telling.report(ended="result" in lines), usage=usage)
        if not report.ended:
            return report
        words = text(table(table(lines.get("session.error")).get("data")).get("message"))
        return replace(report, error="" if _SILENT in words else words, answer="" if words else telling.last_text)
