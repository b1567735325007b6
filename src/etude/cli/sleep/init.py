"""`etude sleep init`."""

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import yaml

from etude.cli.scaffold.asking import asks, chosen, yes
from etude.cli.sleep.text import harvest_rows, most_rows, print_rows
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.cli.trust import trusted
from etude.config import ModelSection, parse
from etude.errors import ConfigError, DataError, EtudeError
from etude.models import build_model
from etude.programs.known import known_programs
from etude.readable import counted
from etude.sleep.config import SleepConfig, SleepSection, make_sleep_config
from etude.sleep.improve.groups import check_documents
from etude.sleep.live_documents import documents_of, places_in
from etude.sleep.state import Surroundings
from etude.sleep.transcripts.harvest import Harvest, SessionQuery, harvest
from etude.sleep.transcripts.sessions import Session
from etude.sleep.transcripts.sources import sources_named

_LOOKBACKS = (72, 720, None)
"""Hours: the first that finds enough sessions is taken, else any age."""
_ENOUGH = 10
_WITH_A_KEY = ("openai:gpt-5.5", "anthropic:claude-opus-5")
_CALLS = 200
"""More than a night makes for each of its sessions."""
_SHOWN = 5

_TEXT = """\
# Nights of `etude sleep` in this project. All settings: `etude help settings`
target:
  model: {target}   # attempts the tasks; take the model that your agent uses
optimizer:
  model: {optimizer}   # reads the transcripts, proposes rules; take a strong one
sleep:
  agent: {agent}   # whose skill and memory file are improved
  memory: {memory}   # rules may go into the file that the agent reads in every session
  lookback_hours: {hours}   # how old a session may be; null for any age
limits:
  calls: {calls}   # no night makes more calls of models
"""


def run(args: argparse.Namespace) -> int:
    """Look for transcripts, an agent, its documents and a model, say what the first night would come to, write the
    settings. Asks no model."""
    path = Path(DEFAULT_SLEEP_CONFIG)
    if path.exists() and not args.force:
        hint = f"`{output.program()} sleep run --dry-run` says what a night would do; --force overwrites the file"
        raise ConfigError(f"{str(path)!r} exists already", hint=hint)
    if args.agent is not None:
        parse(SleepSection, {"agent": args.agent}, where="--agent")
    found, sessions, hours = _sessions(Surroundings())
    used, most = dict(Counter(session.source for session in sessions).most_common()), SleepSection().max_tasks
    found = found.model_copy(update={"sessions": used, "waiting": max(0, len(sessions) - most)})
    agent = args.agent or _one_of("Whose skill and memory file are to be improved?", list(used), args)
    target, optimizer = _models(agent, args)
    places = places_in(agent, Path(os.path.realpath(os.curdir)), Surroundings())
    unread = places.unread(places.memory)
    values = {"target": target, "optimizer": optimizer, "agent": agent, "memory": not unread, "hours": hours}
    # Of the largest night there can be: a limit that nights reach would stop each of them.
    values["calls"] = most * _CALLS
    text = _TEXT.format(**{name: json.dumps(value) for name, value in values.items()})  # which YAML reads as it is
    config = make_sleep_config(yaml.safe_load(text))
    check_documents(config, Surroundings())
    if not args.json:
        print_rows(
            ("project    ", os.path.realpath(os.curdir)),
            *harvest_rows(found),
            ("older      ", _older(len(found.taken) - len(sessions), hours)),
            *(("hint       ", hint) for hint in found.hints),
            *_documents(config, unread),
            ("models     ", ", ".join(dict.fromkeys((target, optimizer)))),
            ("\nthe first night", None),
            *most_rows(config),
        )
    if asks(args) and not yes(f"write {path}? [Y/n]"):
        output.note("nothing was written")
        return 0
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}", hint="look at its folder") from None
    trusted(config, args, ("target.model", "optimizer.model"))
    following = f"{output.program()} sleep run"
    if args.json:
        older = len(found.taken) - len(sessions)
        told = {"sessions": used, "older": older, "calls": config.limits.calls, "next": [following]}
        output.json_result({"config": str(path), "settings": yaml.safe_load(text), **told})
        return 0
    print_rows((f"\nwrote      {path}\n\nnext:\n  {following}", None))
    return 0


def _sessions(around: Surroundings) -> tuple[Harvest, list[Session], int | None]:
    """What is found in the current folder, the sessions of the first night, and how far back they go. Raises
    DataError: there is none."""
    sources, scope = sources_named(()), os.path.realpath(os.curdir)
    asked = SessionQuery(now=around.now(), scope=scope)
    found = harvest(sources, None, asked, home=around.home, environ=around.environ)
    for hours in _LOOKBACKS if found.taken else ():
        since = None if hours is None else around.now() - timedelta(hours=hours)
        sessions = [each for each in found.taken if since is None or each.ended is None or each.ended >= since]
        if hours is None or len(sessions) >= _ENOUGH:
            return found, sessions, hours
    asked = SessionQuery(now=around.now())
    there = harvest(sources, None, asked, home=around.home, environ=around.environ).taken[::-1]
    by_hand = "write sleep.yaml yourself: docs/nights.md"
    why = "".join(f"\n  {each}" for each in (*found.problems, *found.hints))
    if not there:
        raise DataError(
            f"no agent has left a transcript in {str(around.home)!r} that can be used; looked for: "
            f"{', '.join(source.name for source in sources)}{why}",
            hint=f"for other transcripts, and other settings, {by_hand}",
        )
    others = Counter(each.project for each in there[: SleepSection().max_tasks] if each.project)
    shown = ", ".join(f"{name!r} ({count})" for name, count in others.most_common(_SHOWN))
    raise DataError(
        f"no agent has worked in {scope!r} or below it; the newest sessions are of {shown or 'no folder'}{why}",
        hint=f"run this in the folder of a project that an agent has worked in, or {by_hand}",
    )


def _older(count: int, hours: int | None) -> str:
    """What the look-back leaves out."""
    return (
        f"{counted(count, 'session')}, which lookback_hours: {hours} leaves out; null takes them in" if count else ""
    )


def _models(agent: str, args: argparse.Namespace) -> tuple[str, str]:
    """Target and optimizer: those that are named, else one that can be asked here. The subscription of the agent
    comes first: it costs nothing more. Raises ConfigError: there is none; a named one cannot be asked."""
    target, optimizer = args.target or args.optimizer, args.optimizer or args.target
    if target is not None:
        for name in (target, optimizer):
            build_model(ModelSection(model=name))
        return target, optimizer
    able = [name for name, program in known_programs().items() if program.as_model]
    programs = sorted(able, key=lambda name: name != agent)
    usable: list[str] = []
    lacking: list[str] = []
    for name in (*(f"agent:{program}" for program in programs), *_WITH_A_KEY):
        try:
            build_model(ModelSection(model=name))
            usable.append(name)
        except EtudeError as error:
            lacking.append(f"{name}: {error.message}")
    if not usable:
        hint = "log in with your agent, set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model with --target"
        raise ConfigError("\n  ".join(["there is no model to ask:", *lacking]), hint=hint)
    model = _one_of("Which model is to attempt the tasks and to propose rules?", usable, args)
    return model, model


def _one_of(question: str, answers: Sequence[str], args: argparse.Namespace) -> str:
    """The first, unless a person chooses another one."""
    return (chosen(question, answers) if len(answers) > 1 and asks(args) else None) or answers[0]


def _documents(config: SleepConfig, unread: str) -> list[tuple[str, str]]:
    """What a night would improve, and what the agent reads besides. A setting may keep it from the memory file."""
    shown: list[str] = []
    read = documents_of(config.sleep, Surroundings())
    for live in (read.skill, read.memory)[: 1 if unread else 2]:
        size = f"{len(live.text):,} characters" if live.data is not None else "not there yet"
        more = f"; begins with {live.begins.strip()}" if live.begins else ""
        if live.room is not None and len(live.data or b"") > live.room:
            more += f"; only its first {live.room:,} bytes are read"
        shown.append(f"{os.path.relpath(live.path)} ({size}{more})")
    others = ", ".join(map(os.path.relpath, read.shared))
    not_read = f"{os.path.relpath(read.memory.path)}: its setting {unread} keeps {config.sleep.agent} from that"
    return [("documents  ", ", ".join(shown)), ("read, too  ", others), ("not read   ", not_read if unread else "")]
