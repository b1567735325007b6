"""Gemini CLI."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, chat_file, put, read_files, usage_of
from etude.programs.transcripts import gemini as transcripts
from etude.programs.transcripts.values import objects, table, text
from etude.sandbox import Finished

_SILENT = "an empty response"


class GeminiCli(KnownProgram):
    """Google's agent program, over the Gemini wire."""

    name: ClassVar[str] = "gemini-cli"
    command: ClassVar[str] = "gemini"
    install: ClassVar[str] = "npm install -g @google/gemini-cli"
    tested: ClassVar[str] = "0.61.0"
    login_files: ClassVar[tuple[str, ...]] = (".gemini/oauth_creds.json",)
    login_variables: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL")
    folder: ClassVar[str] = ".gemini"
    memory: ClassVar[str] = "GEMINI.md"

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        put(folder / "settings.json", json.dumps(_settings(order)))
        env = {"GEMINI_SYSTEM_MD": str(chat)} if (chat := chat_file(order)) else {}
        if order.url:
            env |= {"GOOGLE_GEMINI_BASE_URL": order.url, "GEMINI_API_KEY": order.key}
        return ["--yolo", "--skip-trust", "--output-format", "stream-json"], env

    def read(self, finished: Finished, order: Order) -> Report:
        telling, session = MessageLog(), read_files(order.home, ".gemini/tmp/*/chats/session-*.jsonl")
        transcripts.tell(telling, transcripts.GeminiLog(objects(session)))
        lines = list(objects(finished.stdout))
        end = next((line for line in lines if line.get("type") == "result"), None)
        report = telling.report(ended=end is not None)
        if end is None:
            return report
        usage = usage_of(table(end.get("stats")), ["input_tokens"], ["output_tokens"], "cached")
        if end.get("status") == "success":
            return replace(report, usage=usage, answer=telling.last_text)
        words = text(table(end.get("error")).get("message"))
        words = words or next(
            (text(line.get("message")) for line in lines if line.get("type") == "error"), "an error"
        )
        # It takes a model that says nothing for an error.
        return replace(report, usage=usage, error="" if _SILENT in words else words)


def _settings(order: Order) -> dict[str, Any]:
    login = "gemini-api-key" if order.url or "GEMINI_API_KEY" in order.login else "oauth-personal"
    limit = {"generateContentConfig": {"maxOutputTokens": order.max_output_tokens}}
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": False}},
        # Temporary errors were tried again behind the gateway already.
        "general": {"enableAutoUpdate": False, "maxAttempts": 1},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        # The other form replaces words with an @ in a skill by what files hold.
        "context": {"importFormat": "flat"},
        "modelConfigs": {"customOverrides": [{"match": {"model": order.model}, "modelConfig": limit}]},
        # What it brings itself stands next to the skill in every listing.
        "skills": {"disabled": ["antigravity-support", "skill-creator"]},
    }
    if order.chat is not None:
        settings["tools"] = {"core": ["none"]}
    return settings
