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


def _config(parser: Arguments, default: str = "") -> None:
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG", help=f"the YAML file of settings (default: {default}{DEFAULT_CONFIG})"
    )
    parser.add_argument("--preset", metavar="NAME", help="a set of settings to start from: default or paper")
    unsafe_no_sandbox(parser)


def unsafe_no_sandbox(parser: Arguments) -> None:
    """Also for the verbs of `etude sleep`."""
    parser.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="where no sandbox works, run the code and the programs of agents without one: they can then read, write "
        "and reach whatever you can",
    )


def trust(parser: Arguments) -> None:
    """For all verbs that act on settings."""
    about = "trust what the settings name, as it is listed with this hash; for where no terminal is there to ask at"
    parser.add_argument("--trust", metavar="HASH", help=about)


def wait(parser: Arguments) -> None:
    """For verbs that may ask a person for a whole run."""
    about = "with a model handoff:FOLDER, wait for the answers and go on, instead of ending at each question"
    parser.add_argument("--wait", action="store_true", help=about)


def demo(parser: Arguments) -> None:
    parser.add_argument(
        "--folder", default=DEMO_FOLDER, metavar="DIR", help=f"where to make the project (default: {DEMO_FOLDER})"
    )


def init(parser: Arguments) -> None:
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="a file of tasks, or a folder with train, val and test, or with one JSON file for each task",
    )
    parser.add_argument("--input", metavar="COLUMN[,COLUMN]", help="what the agent is asked")
    parser.add_argument(
        "--gold",
        metavar="COLUMN",
        help="the right answer; COLUMN[|] or COLUMN[;] has several in one cell, COLUMN[0] and COLUMN[1] number the "
        "options from 0 or 1",
    )
    parser.add_argument("--scorer", metavar="NAME", help="how answers are compared (default: by what they look like)")
    parser.add_argument(
        "--rubric", metavar="TEXT", help="a model judges the answers, by this text or by the column of this name"
    )
    parser.add_argument(
        "--skill",
        metavar="PATH",
        help="a skill to start from (default: a new one); without DATA, its own tasks, evals/evals.json",
    )
    parser.add_argument("--delimiter", metavar="SIGN", help="what separates the columns of a table, as in ';'")
    parser.add_argument(
        "--split", metavar="SPLIT", help="shares of train, val and test, as in 4,3,3, or a column with these words"
    )
    parser.add_argument("--from-skillopt", help=argparse.SUPPRESS)  # told where the script for it is
    parser.add_argument("--folder", default=".", metavar="DIR", help="where to make the project (default: here)")
    parser.add_argument("--target", default="openai:gpt-5.5", metavar="MODEL", help="the model that attempts tasks")
    parser.add_argument(
        "--optimizer", default="openai:gpt-5.5", metavar="MODEL", help="the model that proposes edits"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite an existing project, but no skill written by hand"
    )


def doctor(parser: Arguments) -> None:
    _config(parser)
    parser.add_argument("--live", action="store_true", help="make one tiny call to each model; may cost a little")


def plan(parser: Arguments) -> None:
    _config(parser)
    parser.add_argument("--name", metavar="RUN", help="name of the run, the same as --run.name")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="attempt the validation tasks twice with the initial skill; says first how many those are, and the run "
        "reuses the attempts",
    )


def train(parser: Arguments) -> None:
    _config(parser)
    parser.add_argument(
        "--report-to",
        metavar="NAME[,NAME]",
        type=lambda text: text.split(","),
        help="trackers to report to: trackio, wandb, mlflow, opentelemetry",
    )
    parser.add_argument("--name", metavar="RUN", help="name of the run, the same as --run.name")
    parser.add_argument("--fork", metavar="RUN", help="start a new run that reuses the cached answers of this one")
    parser.add_argument("--view", action="store_true", help="show the run in a browser while it is under way")
    wait(parser)
    parser.add_argument(
        "--seeds",
        type=_seeds,
        metavar="SEEDS",
        help="one run for each seed, one after the other, as in 1-5 or 1,3,7; each run has the limits to itself",
    )


def _split(parser: Arguments, *, whole: bool = False) -> None:
    parser.add_argument(
        "--split",
        choices=("train", "val", "test", *(["all"] if whole else [])),
        default="test",
        metavar="SPLIT",
        help="train, val or test (default)" + ("; all, for skills that were not trained" if whole else ""),
    )


def _split_and_trials(parser: Arguments, trials: int = 1, *, whole: bool = False) -> None:
    _split(parser, whole=whole)
    parser.add_argument(
        "--trials", type=_COUNT, default=trials, metavar="N", help=f"attempts at each task (default: {trials})"
    )


def evaluate(parser: Arguments) -> None:
    _config(parser)
    parser.add_argument(
        "--skill", action="append", metavar="SKILL", help=f"{_ARM} (default: the one in the settings); repeatable"
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="MODEL",
        help="a model in place of target.model, or one of the targets by its name; repeatable: each skill with each",
    )
    _split_and_trials(parser)
    parser.add_argument(
        "--evals",
        metavar="DIR",
        help="also write the attempts in the form of Agent Skills: grading.json for each, and benchmark.json",
    )


def compare(parser: Arguments) -> None:
    parser.add_argument("a", metavar="A", help=_ARM)
    parser.add_argument("b", metavar="B", help="another one")
    _config(parser, "the settings of the run that A or B names, else ")
    _split_and_trials(parser, trials=3, whole=True)
    share = number(float, "a number from 0 to below 1", below=1)
    bar = parser.add_mutually_exclusive_group()
    bar.add_argument(
        "--margin",
        type=share,
        default=0.0,
        metavar="X",
        help="the smallest gain in mean score worth shipping: `do not ship` if the gain is smaller (default: 0)",
    )
    bar.add_argument(
        "--allow-loss",
        type=share,
        default=0.0,
        metavar="X",
        help="`ship` what is not worse than A by X or more; without it, only what is better than A",
    )


def recheck(parser: Arguments) -> None:
    parser.add_argument("skill", metavar="SKILL", help=_SKILL)
    _config(parser, "the settings of the run that SKILL names, else ")
    parser.add_argument(
        "--target",
        required=True,
        metavar="MODEL",
        help="the model in place of target.model, or one of the targets by its name",
    )
    _split(parser)
    parser.add_argument(
        "--margin",
        type=number(float, "a number from 0 to below 1", below=1),
        default=0.0,
        metavar="X",
        help="the smallest gain over no skill worth having: `does not help` if it is smaller (default: 0)",
    )


def diff(parser: Arguments) -> None:
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("a", nargs="?", default="initial", metavar="A", help=f"{_WHICH} (default: initial)")
    parser.add_argument("b", nargs="?", default="best", metavar="B", help="the same (default: best)")


def blame(parser: Arguments) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help=_OR_LAST)
    parser.add_argument("line", nargs="?", type=_COUNT, metavar="LINE", help="all that is known about this line")


def verify(parser: Arguments) -> None:
    parser.add_argument("skill", metavar="SKILL", help=_SKILL)
    parser.add_argument("run", metavar="RUN", help=_RUN)
    trust(parser)


def export(parser: Arguments) -> None:
    parser.add_argument("skill", metavar="RUN", help=f"{_RUN}, for its best skill; or {_SKILL}")
    parser.add_argument("--to", metavar="DIR", help="the folder of skills to write into (default: the current one)")
    parser.add_argument(
        "--for",
        dest="places",
        action="append",
        default=[],
        choices=PLACES,
        metavar="PROGRAM",
        help=f"write where a program looks for skills: {', '.join(PLACES)}; repeatable",
    )
    parser.add_argument("--name", metavar="NAME", help="name of the skill and its folder (default: its own)")
    parser.add_argument("--description", metavar="TEXT", help="what the skill is for (default: its own)")
    parser.add_argument(
        "--keep-markers", action="store_true", help="leave the marker comments of regions in the text"
    )
    parser.add_argument("--prompt", action="store_true", help="print the plain text for a prompt and write nothing")
    parser.add_argument(
        "--force", action="store_true", help="replace an existing skill, unless it has files that the new one lacks"
    )


def view(parser: Arguments) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help=f"{_RUN}; or a folder of runs, also of those that start later (default: {RUNS_FOLDER})",
    )
    parser.add_argument(
        "--port",
        type=number(int, "a port from 0 to 65535", below=65536),
        help=f"port to listen on (default: {VIEW_PORT}, or any free one where that is taken)",
    )
    parser.add_argument("--no-open", action="store_true", help="print the link and open no browser")
    parser.add_argument(
        "--export", metavar="FILE", help="write the page with its data as one HTML file, and serve nothing"
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        choices=("attempts", "gold"),
        help="leave attempts, or gold answers and feedback, out of the file; repeatable",
    )


def runs(parser: Arguments) -> None:
    parser.add_argument(
        "--folder", default=RUNS_FOLDER, metavar="DIR", help=f"folder of runs (default: {RUNS_FOLDER})"
    )


def show(parser: Arguments) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help=_OR_LAST)
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--step", type=_COUNT, metavar="N", help="show the edits and the diff of this step")
    part.add_argument("--attempt", metavar="ID", help="show one attempt as a conversation")
    part.add_argument("--cost", action="store_true", help="show calls, tokens and money by role and stage")
    trust(parser)


def simulate(parser: Arguments) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=number(int, "a port from 0 to 65535", below=65536),
        default=8000,
        help="port to listen on (default: 8000; 0: any free one)",
    )
    parser.add_argument(
        "--latency",
        type=number(float, "a number of seconds from 0 on"),
        default=0.0,
        metavar="S",
        help="seconds until a request is answered",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=RATE",
        help="make this share of requests fail; repeatable",
    )
    parser.add_argument("--key", metavar="KEY", help="refuse requests without this key")
    parser.add_argument("--outage-after", type=_COUNT, metavar="N", help="stop answering after N requests")


def mcp(parser: Arguments) -> None:
    usd = number(float, "a number of dollars above 0", 1e-9)
    parser.add_argument("--usd", type=usd, metavar="N", help="most US dollars, over all that agents start here")
    parser.add_argument("--tokens", type=_MOST, metavar="N", help="most tokens")
    parser.add_argument("--calls", type=_MOST, metavar="N", help="most model requests")
