"""Claude Code."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from etude.programs.message_log import MessageLog
from etude.programs.program import KnownProgram, Order, Report, chat_file, skill_file, usage_of
from etude.programs.transcripts import claude_code as transcripts
from etude.programs.transcripts.values import items, objects, table, text
from etude.sandbox import Finished


class ClaudeCode(KnownProgram):
    """Anthropic's agent program, over the Messages wire."""

    name: ClassVar[str] = "claude-code"
    command: ClassVar[str] = "claude"
    install: ClassVar[str] = "npm install -g @anthropic-ai/claude-code"
    tested: ClassVar[str] = "2.1.332"
    login_files: ClassVar[tuple[str, ...]] = (".claude/.credentials.json",)
    login_variables: ClassVar[tuple[str, ...]] = (
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
    )
    counts_steps: ClassVar[bool] = True
    folder: ClassVar[str] = ".claude"

    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        words = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        if order.steps is not None:
            words += ["--max-turns", str(order.steps)]
        if chat := chat_file(order):
            words += ["--system-prompt-file", str(chat), "--tools", "", "--disable-slash-commands"]
        if skill := skill_file(order):
            words += ["--append-system-prompt-file", str(skill)]
        return words, _environment(order)

    def read(self, finished: Finished, order: Order) -> Report:
        telling, lines = MessageLog(), list(objects(finished.stdout))
        transcripts.tell(telling, lines)
        end = next((line for line in reversed(lines) if line.get("type") == "result"), None)
        report = telling.report(ended=end is not None)
        if end is None:
            return report
        read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        report = replace(report, usage=usage_of(table(end.get("usage")), read, ["output_tokens"], read[-1]))
        # A request that failed ends as a success with an error in place of the answer.
        said, kind = (
            text(end.get("result")) or "; ".join(map(text, items(end.get("errors")))),
            text(end.get("subtype")),
        )
        if kind == "error_max_turns":
            return replace(report, out_of_steps=True)
        if end.get("is_error") is True or kind != "success":
            return replace(report, error=said or kind)
        return replace(report, answer=said)


def _environment(order: Order) -> dict[str, str]:
    env = {
        # As root it works without questions only if a variable says that it is in a sandbox.
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # What it brings itself stands next to the skill in every listing.
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(order.max_output_tokens),
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "API_TIMEOUT_MS": str(int(order.seconds * 1000)),
    }
    if order.url:
        env |= {"ANTHROPIC_BASE_URL": order.url, "ANTHROPIC_API_KEY": order.key}
    return env
