"""Mini-SWE-agent."""

from dataclasses import replace
from typing import Any, ClassVar

import yaml
from pydantic import Field, ValidationError

from etude.programs.message_log import MessageLog
from etude.programs.program import Launch, Order, Program, Report, environment, put, read_files, skill_instructions
from etude.records import Usage
from etude.records.record import Lenient
from etude.sandbox import Finished

_RECORD = "traj.json"
_NOT_DONE = "action was not executed"
"""What it says of the call that handed the work in."""


class _Function(Lenient):
    name: str = ""
    arguments: str = ""


class _Called(Lenient):
    id: str = ""
    function: _Function = _Function()


class _Said(Lenient):
    content: str | None = None
    tool_calls: list[_Called] | None = None


class _Choice(Lenient):
    message: _Said = _Said()


class _Cached(Lenient):
    cached_tokens: int | None = None


class _Usage(Lenient):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class _Response(Lenient):
    choices: list[_Choice] = Field(default_factory=list[_Choice])
    usage: _Usage = _Usage()


class _Extra(Lenient):
    response: _Response | None = None
    """What the model replied: with its own message, or with the complaint that it called no tool."""
    raw_output: str = ""
    returncode: int = 0
    exception_info: str = ""
    exit_status: str = ""
    submission: str = ""


class _Message(Lenient):
    role: str = ""
    content: str | None = None
    tool_call_id: str = ""
    extra: _Extra = _Extra()


class _Record(Lenient):
    messages: list[_Message] = Field(default_factory=list[_Message])


class MiniSweAgent(Program):
    """The agent program of that name, over the Chat Completions wire."""

    name: ClassVar[str] = "mini-swe-agent"
    command: ClassVar[str] = "mini"
    install: ClassVar[str] = "pipx install mini-swe-agent"
    tested: ClassVar[str] = "2.4.6"
    version_argument: ClassVar[str] = "--help"  # it has no other that says it
    login_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_BASE")
    counts_steps: ClassVar[bool] = True
    as_model: ClassVar[bool] = False  # it does not take a reply without a call
    reads_skills: ClassVar[bool] = False

    def launch(self, order: Order) -> Launch:
        # On the command line the task could be no longer than one argument.
        settings = put(order.home / "etude.yaml", yaml.safe_dump(_settings(order), default_style='"', width=10**9))
        argv = [*order.installed.argv, "--yolo", "--exit-immediately", "--output", str(order.home / _RECORD)]
        argv += ["--config", "mini.yaml", "--config", str(settings)]
        env = environment(order) | {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        if order.url:
            # Temporary errors were tried again behind the gateway already.
            env |= {"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1"}
            env |= {"OPENAI_API_BASE": f"{order.url}/v1", "OPENAI_API_KEY": order.key}
        return Launch((*argv, *order.arguments), env)

    def read(self, finished: Finished, order: Order) -> Report:
        try:
            messages = _Record.model_validate_json(read_files(order.home, _RECORD)).messages
        except ValidationError:
            return Report(ended=False)
        telling, usage, said = MessageLog(), Usage(), ""
        for message in messages:
            extra = message.extra
            if extra.response is not None:
                usage += _used(extra.response.usage)
                for choice in extra.response.choices[:1]:
                    calls = choice.message.tool_calls or []
                    text = choice.message.content or ""
                    telling.say(text)
                    for each in calls:
                        telling.call(each.id, each.function.name, each.function.arguments)
                    said = text if text.strip() else said
            elif message.role == "tool" and extra.exception_info != _NOT_DONE:
                shown = "\n".join(part for part in (extra.raw_output, extra.exception_info) if part)
                code = None if extra.exception_info else extra.returncode
                telling.result(message.tool_call_id, shown, exit_code=code)
        last = messages[-1] if messages else _Message()
        telling.say(last.extra.submission)
        report = replace(telling.report(ended=last.role == "exit"), usage=usage)
        match last.extra.exit_status:
            # The last of these: the model talks and calls nothing. The answer is what it said then.
            case "Submitted" | "RepeatedFormatError":
                return replace(report, answer=last.extra.submission.strip() or said)
            case "LimitsExceeded":
                return replace(report, out_of_steps=True)
            case _:
                return replace(report, error=last.content or "" if report.ended else "")


def _used(usage: _Usage) -> Usage:
    cached = usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else None
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cached_tokens=0 if cached is None else cached,
    )


def _settings(order: Order) -> dict[str, Any]:
    skill = skill_instructions(order)
    model: dict[str, Any] = {"model_kwargs": {"max_tokens": order.max_output_tokens, "timeout": order.seconds}}
    if order.model:
        model["model_name"] = f"openai/{order.model}" if order.url else order.model
    return {
        "run": {"task": f"{skill}\n# Task\n\n{order.prompt}" if skill else order.prompt},
        "agent": {"cost_limit": 0, "step_limit": 0 if order.steps is None else order.steps},
        "model": model,
    }
