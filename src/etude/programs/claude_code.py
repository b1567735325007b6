"""Claude Code."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from etude.programs.message_log import MessageLog
from etude.programs.program import (
    Launch,
    Order,
    Program,
    Report,
    chat_file,
    environment,
    install_skill,
    read_lines,
    skill_file,
)
from etude.programs.transcripts import claude_code as transcripts
from etude.programs.transcripts.values import objects
from etude.records import Usage
from etude.records.record import Lenient
from etude.sandbox import Finished


class _Usage(Lenient):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0


class _Line(Lenient):
    type: str = ""
    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] = Field(default_factory=list[str])
    usage: _Usage = _Usage()


class ClaudeCode(Program):
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

    def launch(self, order: Order) -> Launch:
        argv = [*order.installed.argv, "-p", "--output-format", "stream-json", "--verbose"]
        argv += ["--dangerously-skip-permissions"]
        if order.model:
            argv += ["--model", order.model]
        if order.steps is not None:
            argv += ["--max-turns", str(order.steps)]
        if chat := chat_file(order):
            argv += ["--system-prompt-file", str(chat), "--tools", "", "--disable-slash-commands"]
        if skill := skill_file(order):
            argv += ["--append-system-prompt-file", str(skill)]
        if order.delivery == "install":
            install_skill(order.skill, order.home / ".claude" / "skills")
        # At the very start a slash is a command to the program, not a task.
        prompt = f" {order.prompt}" if order.prompt.startswith("/") else order.prompt
        return Launch((*argv, *order.arguments), _environment(order), prompt.encode())

    def read(self, finished: Finished, order: Order) -> Report:
        telling = MessageLog()
        transcripts.tell(telling, objects(finished.stdout))
        results = [line for line in read_lines(finished.stdout, _Line) if line.type == "result"]
        end = results[-1] if results else None
        common = telling.report(ended=end is not None)
        if end is None:
            return common
        used = end.usage
        seen = used.input_tokens + used.cache_creation_input_tokens + used.cache_read_input_tokens
        usage = Usage(input_tokens=seen, output_tokens=used.output_tokens, cached_tokens=used.cache_read_input_tokens)
        # A request that failed ends as a success with an error in place of the answer.
        text = end.result if end.result is not None else "; ".join(end.errors)
        if end.subtype == "error_max_turns":
            return replace(common, usage=usage, out_of_steps=True)
        if end.is_error or end.subtype != "success":
            return replace(common, usage=usage, error=text or end.subtype)
        return replace(common, usage=usage, answer=text)


def _environment(order: Order) -> dict[str, str]:
    env = {
        **environment(order),
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
