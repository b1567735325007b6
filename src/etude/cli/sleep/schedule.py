"""`etude sleep schedule`."""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import read_config
from etude.cli.sleep.text import elsewhere
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.models.keys import used_key_variable
from etude.sleep.config import SleepConfig
from etude.sleep.schedule import NOTES, Job, Machine, choose, install, job_name, render
from etude.sleep.state import user_state
from etude.sleep.tasks.gather import Surroundings, state_of

__all__ = ["machine_of", "run"]

_PLACES = re.compile(
    r"ETUDE_\w+|XDG_(?:STATE|DATA|CONFIG)_HOME|CLAUDE_CONFIG_DIR|CODEX_HOME|COPILOT_HOME|GEMINI_CLI_HOME|OPENCODE_DB"
    r"|PI_CODING_AGENT_DIR|QWEN_HOME|QWEN_RUNTIME_DIR|VSCODE_PORTABLE"
    r"|(?:OPENAI|ANTHROPIC)_BASE_URL|AZURE_OPENAI_ENDPOINT|(?i:https?|all|no)_(?:PROXY|proxy)|SSL_CERT_(?:FILE|DIR)"
)
"""Variables that decide what a night reads, where it writes and how it reaches models. None of them is a key."""


def machine_of(around: Surroundings) -> Machine:
    """Where jobs are written."""
    return Machine(user_state(around.home, around.environ) / "etude" / "jobs", around.home, around.environ)


def run(args: argparse.Namespace) -> int:
    """Run the night of a project every day, with all that the command line sets."""
    config, around = read_config(args), Surroundings()
    state = state_of(config, around)
    project = Path(os.path.realpath(config.sleep.project))
    path = Path(DEFAULT_SLEEP_CONFIG if args.config is None else args.config).absolute()
    flags = [f"--{key}={value}" for key, value in args.flags]
    flags += ["--unsafe-no-sandbox"] if args.unsafe_no_sandbox else []
    flags += ["--auto-adopt"] if args.auto_adopt else []
    job = Job(
        name=job_name(project),
        command=(sys.executable, "-m", "etude", "sleep", "run", str(path), *flags),
        folder=os.getcwd(),
        log=str(state.folder / "nights.log"),
        variables=_variables(args.env, around, show=args.show),
        hour=args.at[0],
        minute=args.at[1],
    )
    scheduler, machine = args.scheduler or choose(sys.platform, shutil.which), machine_of(around)
    pieces = render(job, scheduler, machine)
    for name in _left_out(config, job, around):
        output.note(f"note: {name} is set here, and the job will not have it; --env {name} adds it")
    if not args.show:
        state.make()
        install(job, scheduler, machine)
    if args.json:
        data = {"name": job.name, "command": job.command, "log": job.log, "variables": sorted(job.variables)}
        shown = {"scheduler": scheduler, "note": NOTES[scheduler], "installed": not args.show}
        output.json_result({**shown, "job": data, "pieces": [{"where": w, "text": t} for w, t in pieces.items()]})
        return 0
    output.note(f"note: {NOTES[scheduler]} ({scheduler})")
    for where, text in pieces.items() if args.show else ():
        output.line(f"# {where}\n{text.rstrip()}")
    if not args.show:
        output.line(f"scheduled  {project} every day at {job.hour:02}:{job.minute:02} by {scheduler}; log: {job.log}")
        if not config.sleep.auto_adopt:
            output.line(f"proposals wait for you: see `etude sleep status{elsewhere(args)}`")
    return 0


def _variables(asked: list[str], around: Surroundings, *, show: bool) -> dict[str, str]:
    """The environment of the job: what was asked for, and what makes it the same job. Values that may be secret are
    not shown."""
    environ = around.environ
    missing = [name for name in asked if name not in environ]
    if missing:
        raise UsageError(f"variable {missing[0]} is not set", hint=f"export {missing[0]}, or leave it out")
    values = {name: environ[name] for name in sorted(environ) if _PLACES.fullmatch(name)}
    own = {"PATH": environ.get("PATH", os.defpath), "HOME": str(around.home)}
    secret = [*asked, *(name for name in values if "proxy" in name.lower())] if show else []
    return {**values, **{name: environ[name] for name in asked}, **own, **dict.fromkeys(secret, "...")}


def _left_out(config: SleepConfig, job: Job, around: Surroundings) -> list[str]:
    """Variables with the keys of models that are set here, and that the job will not have."""
    models = [section for section in (config.target, config.optimizer, config.judge) if section is not None]
    names = {name for section in models if (name := used_key_variable(section)) is not None}
    return sorted((names - job.variables.keys()) & around.environ.keys())
