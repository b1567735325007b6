"""`etude doctor`."""

import argparse
import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from etude.cli.doctor.checks import (
    DoctorReport,
    check_agent,
    check_config,
    check_install,
    check_parts,
    check_programs,
    check_sandbox,
)
from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.settings import sandboxed, with_options
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.cli.terminal.unheard import ended_if_unheard
from etude.config import TrainConfig, load_settings, make_config
from etude.errors import ConfigError, EtudeError, UnusableReply
from etude.models import Fitted, Structured, build_model
from etude.models.wrappers.fitted import kept_of
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, Tool, role_of, system, user
from etude.records.said import said_in
from etude.sleep.config import SleepConfig, make_sleep_config

_WIDTH = 19
"""Of the names of most checks: what is printed looks the same with and without agent programs."""
_STYLES = {"ok": "green", "note": None, "wrong": "red bold"}


def run(args: argparse.Namespace) -> int:
    """Check one thing after the other, print what is wrong and how to fix it; 1 if anything is. What the settings do
    not need is left out; without settings, all is looked at."""
    found, settings = DoctorReport(), DoctorReport()
    config = _config(args, settings)  # first: it may ask, or end here
    check_install(found)
    if config is None or _runs_programs(config):
        check_sandbox(found)
    if config is None or isinstance(config, SleepConfig):
        check_programs(found)
    found += settings
    if config is not None:
        with ended_if_unheard():
            asyncio.run(_check(config, args.live, found))
    wrong = sum(finding.status == "wrong" for finding in found)
    if args.json:
        output.json_result({"ok": wrong == 0, "checks": found})
    else:
        _print(found, wrong)
    return 1 if wrong else 0


def _runs_programs(config: TrainConfig) -> bool:
    try:
        return bool(sandboxed(config))
    except ConfigError:  # said where the agent and the environment are checked
        return False


async def _check(config: TrainConfig, live: bool, found: DoctorReport) -> None:
    if isinstance(config, SleepConfig):
        check_parts(config, found)
        await check_agent(config, found)
    else:
        await check_config(config, found)
    if live:
        await check_live(config, found)
    elif isinstance(config, SleepConfig):
        text = "no model was asked whether it answers"
        found.note("not asked", text, "`etude doctor --live` asks each model one short question")
        text = "transcripts, documents and tasks were not looked at"
        found.note("night", text, "`etude sleep run --dry-run` says what a night would read and do")


def _config(args: argparse.Namespace, found: DoctorReport) -> TrainConfig | None:
    """The settings of a training, else those of a night."""
    names = [args.config] if args.config is not None else [DEFAULT_CONFIG, DEFAULT_SLEEP_CONFIG]
    path = next((path for path in map(Path, names) if args.config is not None or path.exists()), None)
    if path is None:
        text = f"no CONFIG was given and there is no {DEFAULT_CONFIG!r} here: only the installation is checked"
        found.note("config", text, "`etude init DATA` makes one; `etude sleep init` for nights")
        return None

    def made(data: Mapping[str, Any], *, where: str) -> TrainConfig:
        # Settings without tasks are those of a night: nothing can be trained with them.
        named = "sleep" in data or path.name == DEFAULT_SLEEP_CONFIG
        of_a_night = named or ("env" not in data and path.name != DEFAULT_CONFIG)
        return (make_sleep_config if of_a_night else make_config)(data, where=where)

    with found.checking("config"):
        config = with_options(lambda flags: load_settings(made, path, flags=flags, kind=SleepConfig), args)
        found.ok("config", f"{path} is valid{' for `etude sleep`' if isinstance(config, SleepConfig) else ''}")
        return config
    return None


def _print(found: DoctorReport, wrong: int) -> None:
    width = max(_WIDTH, *(len(finding.name) for finding in found))
    for finding in found:
        first, *rest = finding.text.splitlines()
        output.line(f"{finding.status:<5}  {finding.name:<{width}}  {first}", _STYLES[finding.status])
        for text in [*rest, *([f"-> {finding.fix}"] if finding.fix else [])]:
            output.line(f"{'':<5}  {'':<{width}}  {text}")
    output.line()
    output.line("no problems found" if not wrong else f"{wrong} of {len(found)} checks found a problem")


LONGEST_WAIT = 60.0
QUESTION = (system("You answer in as few words as you can."), user("What is 2 + 3? Reply with the number."))
SEED = 5
"""Any: that one is sent may be refused."""
TOOL = Tool(name="read", description="Reads a file.", parameters={"type": "object", "properties": {}})
"""Offered where the agent calls tools: some servers take none, or need a switch for them."""


class Sum(BaseModel):
    """The answer as a structure."""

    answer: int


async def check_live(config: TrainConfig, found: DoctorReport) -> None:
    """One tiny question for each role, sent as a run would send its own, except roles that cannot be built: they are
    reported already. The target is asked for text, the others for a structure."""
    for role, section in config.models.items():
        try:
            provider = build_model(section.model_copy(update={"timeout": min(section.timeout, LONGEST_WAIT)}))
        except EtudeError:
            continue
        name = f"live {role}"
        if provider.answered_by_hand:
            found.note(name, "not asked: its question would wait for an answer")
            continue
        model = Fitted(provider, role, partial(found.note, name), kept=kept_of(role, section))
        started = time.monotonic()
        async with aclosing(model):
            with found.checking(name):
                if role_of(role) == "target":
                    agent = getattr(section, "agent", None) or config.agent
                    tools = (TOOL,) if agent.name == "tools" and model.takes_tools else ()
                    asked = ChatRequest(messages=QUESTION, tools=tools, seed=SEED)
                    _look(name, role, model, await model.complete(asked), found)
                else:
                    await _ask(f"{name} structure", Structured(model, section.structured), found)
                found.ok(name, f"{model.name} answered in {time.monotonic() - started:.2f} s")


def _look(name: str, role: str, model: ChatModel, reply: Reply, found: DoctorReport) -> None:
    """Whether the reply of a target could be scored."""
    if reply.finish == "length":
        text = f"{model.name} was cut off at max_output_tokens = {model.max_output_tokens:,} with so small a question"
        fix = f"raise {role}.max_output_tokens, or have it think less: {role}.thinking, {role}.reasoning_effort"
        found.wrong(name, text, fix)
    elif reply.finish == "refusal":
        found.note(name, f"{model.name} refused the question {QUESTION[-1].text!r}: attempts may end like this")
    elif not reply.tool_calls and not (said := said_in(reply, model.max_output_tokens)).text:
        text = f"{model.name} gave no answer: {said.problem}"
        fix = f"look at how the server tells thoughts from answers, or set {role}.thinking: off"
        found.wrong(name, text, fix)


async def _ask(name: str, model: Structured, found: DoctorReport) -> None:
    entered = model.rung
    try:
        await model.ask(QUESTION, Sum)
    except UnusableReply as error:  # it answers, but not in the form that was asked for
        found.wrong(name, error.message, error.hint)
        return
    if model.rung == entered:
        found.ok(name, "native JSON schema" if entered == "json_schema" else f"structured: {entered} works")
    else:
        found.ok(name, f"structured: {entered} is not known there; structured: {model.rung} works and is used")
