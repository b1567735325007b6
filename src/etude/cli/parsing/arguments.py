"""The arguments of each verb. Imports nothing heavy, so that help is instant."""

import argparse
from collections.abc import Callable
from typing import Any

from etude.programs.project_paths import PLACES

DEFAULT_CONFIG = "etude.yaml"
DEMO_FOLDER = "runs/demo-project"
RUNS_FOLDER = "runs"
VIEW_PORT = 8321
_MOST_SEEDS = 1000
_RUN = "a run folder, or the name of one in ./runs"
_OR_LAST = f"{_RUN} (default: the one that changed last)"
_WHICH = "initial, best, the number of a step, or the path of a skill"
_SKILL = "a skill folder, SKILL.md or Markdown file, or RUN:best, RUN:initial, RUN:STEP"
_ARM = f"{_SKILL}; or none: no skill"

Arguments = argparse.ArgumentParser
Group = argparse._ActionsContainer  # pyright: ignore[reportPrivateUsage] - a parser, or a part of one


def number(kind: type[int | float], what: str, least: float = 0, below: float = float("inf")) -> Callable[[str], Any]:
    """Reads an argument that is a number in [least, below)."""

    def check(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value < below:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return check


_COUNT = number(int, "a whole number from 1 on", 1)
_MOST = number(int, "a whole number from 0 on", 0)
_SHARE = number(float, "a number from 0 to below 1", below=1)
_PORT = number(int, "a port from 0 to 65535", below=65536)


def _names(text: str) -> list[str]:
    return text.split(",")


def _seeds(text: str) -> tuple[int, ...]:
    """As in `1-5` or `1,3,7`."""
    seeds: list[int] = []
    for part in text.split(","):
        first, last = part.partition("-")[::2] if "-" in part else (part, part)
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of seeds; write it as in 1-5 or 1,3,7")
        if int(last) - int(first) >= _MOST_SEEDS:
            raise argparse.ArgumentTypeError(f"{text!r} is more than {_MOST_SEEDS} seeds")
        seeds += range(int(first), int(last) + 1)
    if len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(f"{text!r} names a seed twice")
    return tuple(seeds)


def _value(parser: Group, name: str, metavar: str, about: str, **more: Any) -> None:
    parser.add_argument(name, metavar=metavar, help=about, **more)


def _flag(parser: Group, name: str, about: str) -> None:
    parser.add_argument(name, action="store_true", help=about)


def _config(parser: Arguments, default: str = "") -> None:
    _value(parser, "config", "CONFIG", f"the YAML file of settings (default: {default}{DEFAULT_CONFIG})", nargs="?")
    _value(parser, "--preset", "NAME", "a set of settings to start from: default or paper")
    unsafe_no_sandbox(parser)


def unsafe_no_sandbox(parser: Arguments) -> None:
    """Also for the verbs of `etude sleep`."""
    about = "where no sandbox works, run the code and the programs of agents without one: they can then read, write "
    _flag(parser, "--unsafe-no-sandbox", f"{about}and reach whatever you can")


def trust(parser: Arguments) -> None:
    """For all verbs that act on settings."""
    about = "trust what the settings name, as it is listed with this hash; for where no terminal is there to ask at"
    _value(parser, "--trust", "HASH", about)


def wait(parser: Arguments) -> None:
    """For verbs that may ask a person for a whole run."""
    about = "with a model handoff:FOLDER, wait for the answers and go on, instead of ending at each question"
    _flag(parser, "--wait", about)


def demo(parser: Arguments) -> None:
    about = f"where to make the project (default: {DEMO_FOLDER})"
    _value(parser, "--folder", "DIR", about, default=DEMO_FOLDER)


def init(parser: Arguments) -> None:
    about = "a file of tasks, or a folder with train, val and test, or with one JSON file for each task"
    _value(parser, "data", "DATA", about, nargs="?")
    _value(parser, "--input", "COLUMN[,COLUMN]", "what the agent is asked")
    several = "COLUMN[|] or COLUMN[;] has several in one cell, COLUMN[0] and COLUMN[1] number the options from 0 or 1"
    _value(parser, "--gold", "COLUMN", f"the right answer; {several}")
    _value(parser, "--scorer", "NAME", "how answers are compared (default: by what they look like)")
    _value(parser, "--rubric", "TEXT", "a model judges the answers, by this text or by the column of this name")
    about = "a skill to start from (default: a new one); without DATA, its own tasks, evals/evals.json"
    _value(parser, "--skill", "PATH", about)
    about = "have the optimizer draft so many tasks from the skill, for you to read and correct before they are used"
    _value(parser, "--make-tasks", "N", about, type=number(int, "a whole number from 1 to 200", 1, 201))
    _value(parser, "--delimiter", "SIGN", "what separates the columns of a table, as in ';'")
    _value(parser, "--split", "SPLIT", "shares of train, val and test, as in 4,3,3, or a column with these words")
    _value(parser, "--folder", "DIR", "where to make the project (default: here)", default=".")
    _value(parser, "--target", "MODEL", "the model that attempts tasks", default="openai:gpt-5.5")
    _value(parser, "--optimizer", "MODEL", "the model that proposes edits", default="openai:gpt-5.5")
    _flag(parser, "--force", "overwrite an existing project, but no skill written by hand and no drafted tasks")


def doctor(parser: Arguments) -> None:
    _config(parser)
    _flag(parser, "--live", "make one tiny call to each model; may cost a little")


def plan(parser: Arguments) -> None:
    _config(parser)
    _value(parser, "--name", "RUN", "name of the run, the same as --run.name")
    about = "attempt the validation tasks twice with the initial skill; says first how many those are, and the run "
    _flag(parser, "--measure", f"{about}reuses the attempts")
    about = (
        "say instead what evaluate, recheck, audit and trigger of this folder of skills ask at most, with one trial"
    )
    _value(parser, "--skills", "DIR", about)


def train(parser: Arguments) -> None:
    _config(parser)
    about = "trackers to report to: trackio, wandb, mlflow, opentelemetry"
    _value(parser, "--report-to", "NAME[,NAME]", about, type=_names)
    _value(parser, "--name", "RUN", "name of the run, the same as --run.name")
    _value(parser, "--fork", "RUN", "start a new run that reuses the cached answers of this one")
    _flag(parser, "--view", "show the run in a browser while it is under way")
    wait(parser)
    about = "one run for each seed, one after the other, as in 1-5 or 1,3,7; each run has the limits to itself"
    _value(parser, "--seeds", "SEEDS", about, type=_seeds)


def _split(parser: Arguments, *, whole: bool = False) -> None:
    about = "train, val or test (default)" + ("; all, for skills that were not trained" if whole else "")
    choices = ("train", "val", "test", *(["all"] if whole else []))
    _value(parser, "--split", "SPLIT", about, choices=choices)


def _split_and_trials(parser: Arguments, trials: int = 1, *, whole: bool = False) -> None:
    _split(parser, whole=whole)
    _value(parser, "--trials", "N", f"attempts at each task (default: {trials})", type=_COUNT, default=trials)


def evaluate(parser: Arguments) -> None:
    _config(parser)
    about = (
        f"{_ARM} (default: the one in the settings); repeatable. A folder of skills: each, on its own evals, for a "
    )
    _value(parser, "--skill", "SKILL", f"{about}table against none", action="append")
    about = "a model in place of target.model, or one of the targets by its name; repeatable: each skill with each"
    _value(parser, "--target", "MODEL", about, action="append")
    _split_and_trials(parser)
    about = "also write the attempts in the form of Agent Skills: grading.json for each, and benchmark.json"
    _value(parser, "--evals", "DIR", about)


def compare(parser: Arguments) -> None:
    _value(parser, "a", "A", _ARM)
    _value(parser, "b", "B", "another one")
    _config(parser, "the settings of the run that A or B names, else ")
    _split_and_trials(parser, trials=3, whole=True)
    bar = parser.add_mutually_exclusive_group()
    about = "the smallest gain in mean score worth shipping: `do not ship` if the gain is smaller (default: 0)"
    _value(bar, "--margin", "X", about, type=_SHARE, default=0.0)
    about = "`ship` what is not worse than A by X or more; without it, only what is better than A"
    _value(bar, "--allow-loss", "X", about, type=_SHARE, default=0.0)


def recheck(parser: Arguments) -> None:
    _value(parser, "skill", "SKILL", f"{_SKILL}; or a folder of skills, for a table of all on their own evals")
    _config(parser, "the settings of the run that SKILL names, else ")
    about = "the model in place of target.model, or one of the targets by its name"
    _value(parser, "--target", "MODEL", about, required=True)
    _split(parser)
    about = "the smallest gain over no skill worth having: `does not help` if it is smaller (default: 0)"
    _value(parser, "--margin", "X", about, type=_SHARE, default=0.0)


def trigger(parser: Arguments) -> None:
    _value(parser, "skill", "SKILL", "a skill folder, or a folder of skill folders for a table of all")
    _config(parser)
    _value(parser, "--among", "DIR", "the skills that stand beside it (default: those in the folder it lies in)")
    about = (
        "requests with expected_skill or should_trigger, beside those in evals/evals.json of the skills; repeatable"
    )
    _value(parser, "--requests", "FILE", about, action="append", default=[])
    about = "ask no model: open the skill whose description shares most words with the request (BM25), a floor"
    _flag(parser, "--lexical", about)
    about = "whose list a chat model is shown: claude-code (default), codex, or whole, where nothing is cut"
    _value(parser, "--list-as", "PROGRAM", about, choices=("claude-code", "codex", "whole"), default="claude-code")
    _value(parser, "--trials", "N", "attempts at each request (default: 1)", type=_COUNT, default=1)
    about = "train descriptions on 60 of 100 requests and decide on the others; the skills stay as they are"
    _flag(parser, "--train", about)
    _value(parser, "--name", "RUN", "name of the run, the same as --run.name (default: trigger-SKILL)")


def audit(parser: Arguments) -> None:
    _value(parser, "skill", "SKILL", f"{_SKILL}; or a folder of skills, for a table of all on their own evals")
    _config(parser, "the settings of the run that SKILL names, else ")
    choices = ("train", "val", "test", "all")
    _value(parser, "--split", "SPLIT", "train, val, test or all (default)", choices=choices)
    about = "then say of so many answers whether they pass, to learn how far the judge can be trusted (as in 30)"
    _value(parser, "--label", "N", about, type=_COUNT, default=0)


def prune(parser: Arguments) -> None:
    _value(parser, "skill", "SKILL", _SKILL)
    _config(parser)
    about = "share of the tasks that may be lost: those that alone need most text (default: 0)"
    _value(parser, "--allow-loss", "X", about, type=_SHARE, default=0.0)
    _flag(parser, "--code", "test text with code, names of functions or formulas, too; without it, it stays")
    _value(parser, "--name", "RUN", "name of the run, the same as --run.name (default: prune-SKILL)")


def diff(parser: Arguments) -> None:
    _value(parser, "run", "RUN", _RUN)
    _value(parser, "a", "A", f"{_WHICH} (default: initial)", nargs="?", default="initial")
    _value(parser, "b", "B", "the same (default: best)", nargs="?", default="best")


def blame(parser: Arguments) -> None:
    _value(parser, "run", "RUN", _OR_LAST, nargs="?")
    _value(parser, "line", "LINE", "all that is known about this line", nargs="?", type=_COUNT)


def verify(parser: Arguments) -> None:
    _value(parser, "skill", "SKILL", _SKILL)
    _value(parser, "run", "RUN", _RUN)
    trust(parser)


def export(parser: Arguments) -> None:
    _value(parser, "skill", "RUN", f"{_RUN}, for its best skill; or {_SKILL}")
    _value(parser, "--to", "DIR", "the folder of skills to write into (default: the current one)")
    about = f"write where a program looks for skills: {', '.join(PLACES)}; repeatable"
    _value(parser, "--for", "PROGRAM", about, dest="places", action="append", default=[], choices=PLACES)
    _value(parser, "--name", "NAME", "name of the skill and its folder (default: its own)")
    _value(parser, "--description", "TEXT", "what the skill is for (default: its own)")
    _flag(parser, "--keep-markers", "leave the marker comments of regions in the text")
    _flag(parser, "--prompt", "print the plain text for a prompt and write nothing")
    about = "replace an existing skill, unless it has files that the new one lacks; also export the skill of a run "
    _flag(parser, "--force", f"{about}that measured nothing")


def view(parser: Arguments) -> None:
    about = f"{_RUN}; or a folder of runs, also of those that start later (default: {RUNS_FOLDER})"
    _value(parser, "runs", "RUN", about, nargs="*")
    about = f"port to listen on (default: {VIEW_PORT}, or any free one where that is taken)"
    parser.add_argument("--port", type=_PORT, help=about)
    _flag(parser, "--no-open", "print the link and open no browser")
    _value(parser, "--export", "FILE", "write the page with its data as one HTML file, and serve nothing")
    about = "leave attempts, or gold answers and feedback, out of the file; repeatable"
    parser.add_argument("--exclude", action="append", default=[], choices=("attempts", "gold"), help=about)


def runs(parser: Arguments) -> None:
    _value(parser, "--folder", "DIR", f"folder of runs (default: {RUNS_FOLDER})", default=RUNS_FOLDER)


def show(parser: Arguments) -> None:
    _value(parser, "run", "RUN", _OR_LAST, nargs="?")
    part = parser.add_mutually_exclusive_group()
    _value(part, "--step", "N", "show the edits and the diff of this step", type=_COUNT)
    _value(part, "--attempt", "ID", "show one attempt as a conversation")
    _flag(part, "--cost", "show calls, tokens and money by role and stage")


def simulate(parser: Arguments) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    about = "port to listen on (default: 8000; 0: any free one)"
    parser.add_argument("--port", type=_PORT, default=8000, help=about)
    seconds = number(float, "a number of seconds from 0 on")
    _value(parser, "--latency", "S", "seconds until a request is answered", type=seconds, default=0.0)
    about = "make this share of requests fail; repeatable"
    _value(parser, "--fault", "NAME=RATE", about, action="append", default=[])
    _value(parser, "--key", "KEY", "refuse requests without this key")
    _value(parser, "--outage-after", "N", "stop answering after N requests", type=_COUNT)


def mcp(parser: Arguments) -> None:
    usd = number(float, "a number of dollars above 0", 1e-9)
    _value(parser, "--usd", "N", "most US dollars, over all that agents start here", type=usd)
    _value(parser, "--tokens", "N", "most tokens", type=_MOST)
    _value(parser, "--calls", "N", "most model requests", type=_MOST)
