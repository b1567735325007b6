"""`etude sleep schedule`."""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from etude.cli.sleep.arguments import DEFAULT_SLEEP_CONFIG
from etude.cli.sleep.elsewhere import elsewhere
from etude.cli.sleep.settings import read_config
from etude.cli.terminal import output
from etude.config import ModelSection
from etude.models.keys import used_key_variable
from etude.sleep.config import SleepConfig
from etude.sleep.schedule import Job, job_name, schedule, scheduler_for
from etude.sleep.state import user_state
from etude.sleep.tasks.gather import Surroundings, state_of

__all__ = ["jobs_folder", "run"]

_PLACES = re.compile(
    r"ETUDE_\w+|XDG_(?:STATE|DATA|CONFIG)_HOME|CLAUDE_CONFIG_DIR|CODEX_HOME|COPILOT_HOME|GEMINI_CLI_HOME|OPENCODE_DB"
    r"|PI_CODING_AGENT_DIR|QWEN_HOME|QWEN_RUNTIME_DIR|VSCODE_PORTABLE"
    r"|(?:OPENAI|ANTHROPIC)_BASE_URL|AZURE_OPENAI_ENDPOINT|(?i:https?|all|no)_(?:PROXY|proxy)|SSL_CERT_(?:FILE|DIR)"
)
"""Variables that decide what a night reads, where it writes and how it reaches models. None of them is a key."""


def jobs_folder(around: Surroundings) -> Path:
    """Where the scripts of jobs are."""
    return user_state(around.home, around.environ) / "etude" / "jobs"


def run(args: argparse.Namespace) -> int:
    """Have the night of a project run every day, with all that the command line sets."""
    config = read_config(args)
    around = Surroundings()
    state = state_of(config, around)
    project = Path(os.path.realpath(config.sleep.project))
    path = Path(DEFAULT_SLEEP_CONFIG if args.config is None else args.config).absolute()
    hour, minute = args.at
    flags = [f"--{key}={value}" for key, value in args.flags]
    if args.unsafe_no_sandbox:
        flags.append("--unsafe-no-sandbox")
    if args.auto_adopt:
        flags.append("--auto-adopt")
    job = Job(
        name=job_name(project),
        command=(sys.executable, "-m", "etude", "sleep", "run", str(path), *flags),
        folder=os.getcwd(),
        path=around.environ.get("PATH", os.defpath),
        home=str(around.home),
        log=str(state.folder / "nights.log"),
        nights=str(state.nights),
        variables=_carried(args.env, around),
        hour=hour,
        minute=minute,
    )
    if not args.show:
        state.make()  # before there may be no scheduler: the log is there, also for what a person schedules by hand
    kind = scheduler_for(job, sys.platform, shutil.which, wanted=args.scheduler or "auto", needed=not args.show)
    scheduler = kind(jobs_folder(around), around.home, around.environ)
    pieces = scheduler.render(job)
    for name in _left_out(config, job, around):
        output.note(f"note: {name} is set here, and the job will not have it; --env {name} carries it along")
    for name in (name for name in job.variables if args.show and name not in around.environ):
        output.note(f"note: {name} is not set here: without --print there would be an error")
    for model in _with_unknown_keys(config, args.env):
        output.note(f"note: which keys {model} needs is not known here; --env NAME carries one along")
    if not args.json:
        output.note(f"note: {kind.note} ({kind.name})")
    if not args.show:
        schedule(job, scheduler)
    if args.json:
        shown = [piece.model_dump(mode="json") for piece in pieces]
        data = {"scheduler": kind.name, "note": kind.note, "installed": not args.show}
        output.json_result({**data, "job": job.model_dump(mode="json"), "pieces": shown})
        return 0
    if args.show:
        for piece in pieces:
            output.line(f"# {piece.where}")
            output.line(piece.text.rstrip("\n"))
        return 0
    output.line(f"scheduled  {project} every day at {hour:02}:{minute:02} by {kind.name}; log: {job.log}")
    if not config.sleep.auto_adopt:
        output.line(f"proposals wait for you: see `etude sleep status{elsewhere(args)}`")
    return 0


def _carried(asked: Sequence[str], around: Surroundings) -> tuple[str, ...]:
    """Variables of the job: those that are asked for, and those without which it would be another job."""
    places = [name for name in sorted(around.environ) if _PLACES.fullmatch(name)]
    return tuple(dict.fromkeys([*asked, *places]))


def _left_out(config: SleepConfig, job: Job, around: Surroundings) -> list[str]:
    """Variables with the keys of models that are set here, and that the job will not have."""
    names = [used_key_variable(section) for section in _models(config) if not _reads_its_own(section)]
    lacking = {name for name in names if name is not None and name not in job.variables}
    return sorted(lacking & around.environ.keys())


def _with_unknown_keys(config: SleepConfig, asked: Sequence[str]) -> list[str]:
    """Models whose provider reads keys of its own, where no variable at all is carried along by name."""
    return [] if asked else sorted({section.model for section in _models(config) if _reads_its_own(section)})


def _reads_its_own(section: ModelSection) -> bool:
    """The package of an `adapter:` model knows where its keys are, unless a variable is named."""
    default = ModelSection.model_fields["api_key_env"].default
    return section.model.startswith("adapter:") and section.api_key_env == default


def _models(config: SleepConfig) -> list[ModelSection]:
    return [section for section in (config.target, config.optimizer, config.judge) if section is not None]
