"""`etude sleep schedule`: nights by themselves."""

import argparse
import os
import re
import subprocess
from pathlib import Path

from etude import own_process
from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import find_nights, read_config
from etude.cli.sleep.text import PAUSED, elsewhere, result
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.errors import DataError, EtudeError
from etude.files import private_file, write_atomically
from etude.models.keys import used_key_variable
from etude.sleep.config import SleepConfig
from etude.sleep.schedule import PROFILE, SCRIPT, command_of, install, job_name, remove, script_of
from etude.sleep.state import Surroundings, state_of

_PLACES = re.compile(
    r"ETUDE_\w+|XDG_(?:STATE|DATA|CONFIG)_HOME|CLAUDE_CONFIG_DIR|CODEX_HOME|COPILOT_HOME|GEMINI_CLI_HOME|OPENCODE_DB"
    r"|PI_CODING_AGENT_DIR|QWEN_HOME|QWEN_RUNTIME_DIR"
    r"|(?:OPENAI|ANTHROPIC)_BASE_URL|(?i:https?|all|no)_(?:PROXY|proxy)|SSL_CERT_(?:FILE|DIR)"
)
"""Variables that decide what a night reads, where it writes and how it reaches models."""


def run(args: argparse.Namespace) -> int:
    """Run the night of a project every day, with all that the command line sets; or end that, or pause it."""
    if args.remove:
        return _remove(args)
    return _pause(args) if args.pause or args.resume else _schedule(args)


def _schedule(args: argparse.Namespace) -> int:
    config, around = read_config(args), Surroundings()
    state = state_of(config, around)
    project = Path(os.path.realpath(config.sleep.project))
    path = Path(DEFAULT_SLEEP_CONFIG if args.config is None else args.config).absolute()
    flags = [f"--{key}={value}" for key, value in args.flags]
    name, log, script = job_name(project), str(state.folder.absolute() / "nights.log"), state.folder / SCRIPT
    argv = tuple(own_process.command("sleep", "run", str(path), "--unattended", *flags))
    command, text = command_of(script.absolute()), script_of(argv, os.getcwd(), log)
    if not args.show:
        _check_variables(config, around)
    state.make()
    os.close(private_file(log))
    write_atomically(script, os.fsencode(text), mode=0o600)
    try:
        if not args.show:
            install(name, args.at, command)
    except EtudeError:
        if not args.json:
            output.line(text)
        raise
    if args.json:
        found = {"name": name, "command": argv, "log": log, "script": str(script.absolute()), "run": command}
        output.json_result({**found, "installed": not args.show})
    elif args.show:
        output.line(command)
    else:
        output.line(f"scheduled  {project} every day at {args.at[0]:02}:{args.at[1]:02} by cron; log: {log}")
        output.note("note: cron does not catch up on a night that the computer was off or asleep for")
        if not config.sleep.auto_adopt:
            output.line(f"what nights propose waits for you: see `etude sleep status{elsewhere(args)}`")
    return 0


def _remove(args: argparse.Namespace) -> int:
    project = find_nights(args).project
    name = job_name(Path(os.path.realpath(project)))
    removed = remove(name)
    line = f"{'unscheduled ' if removed else 'nothing was scheduled for'} {project.absolute()}"
    return result(args, {"name": name, "removed": removed}, [line])


def _pause(args: argparse.Namespace) -> int:
    """Let no night of the project begin, or let nights begin again. A night that is under way continues."""
    nights = find_nights(args)
    project = str(nights.project.absolute())
    try:
        if args.resume:
            nights.state.pause.unlink(missing_ok=True)
        else:
            nights.state.make()
            nights.state.write(nights.state.pause, "")
    except OSError as error:
        what = f"{str(nights.state.pause)!r} cannot be removed: {error.strerror}"
        raise DataError(what, hint="fix the permissions of its folder") from error
    return result(args, {"project": project, "paused": args.pause}, [PAUSED if args.pause else f"resumed  {project}"])


def _check_variables(config: SleepConfig, around: Surroundings) -> None:
    """Refuse a job that would be another one than here: it has the variables of `~/.profile` only."""
    models = [section for section in (config.target, config.optimizer, config.judge) if section is not None]
    keys = {used_key_variable(section) for section in models}
    here = {name: value for name, value in around.environ.items() if name in keys or _PLACES.fullmatch(name)}
    script = ["/bin/sh", "-c", f"{PROFILE}; exec env"]
    own = {"HOME": str(around.home), "PATH": os.defpath}
    there = subprocess.run(script, env=own, capture_output=True, stdin=subprocess.DEVNULL).stdout.splitlines()
    lacking = [name for name, value in sorted(here.items()) if os.fsencode(f"{name}={value}") not in there]
    if lacking:
        raise UsageError(
            f"set here and not in ~/.profile, which the job reads: {', '.join(lacking)}",
            hint="export them in ~/.profile, or write settings to the settings file and unset them here",
        )
