"""What can be typed: every verb with its arguments. Imports nothing heavy, so that help is instant."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from skillgrad.cli.flags import take_dotted
from skillgrad.cli.usage import UsageError
from skillgrad.errors import did_you_mean

DEFAULT_CONFIG = "skillgrad.yaml"
DEMO_FOLDER = "runs/demo-project"

_DOTTED_HELP = """\
Any setting can be given as a dotted flag, as in --train.epochs 2 or --gate.metric=soft; it wins over the file.
All settings: docs/reference/config.md"""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its usage and exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")


@dataclass(frozen=True)
class Verb:
    """A verb. `skillgrad.cli.<name>` has its `run(args) -> exit code`."""

    name: str
    summary: str
    """One line."""
    examples: Sequence[str]
    arguments: Callable[[Parser], None]
    dotted: bool = True
    """Takes settings as dotted flags."""

    @property
    def parser(self) -> Parser:
        """A parser for what follows the verb."""
        about = self.summary[0].upper() + self.summary[1:] + "."
        examples = "\n".join(f"  {example}" for example in self.examples)
        parser = Parser(
            prog=f"skillgrad {self.name}",
            description=f"{about}\n\n{_DOTTED_HELP}" if self.dotted else about,
            epilog=f"example:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        if self.dotted:
            usage = parser.format_usage().removeprefix("usage: ").rstrip()
            parser.usage = f"{usage} [--section.key VALUE ...]"
        return parser

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments; `flags` has the dotted ones as (key, YAML text).

        Raises:
            UsageError: an argument is unknown, missing or out of range.
        """
        rest, flags = take_dotted(words)
        if flags and not self.dotted:
            raise UsageError(f"{self.name} takes no settings, found --{flags[0][0]}", hint=self._see)
        parser = self.parser
        args, unknown = parser.parse_known_args(rest)
        option = next((word for word in unknown if word.startswith("-") and word != "--"), None)
        if option is not None:
            raise _unknown_option(option.partition("=")[0], parser, self._see)
        extra = next((word for word in unknown if word != "--"), None)
        if extra is not None:
            raise UsageError(f"unexpected argument {extra!r}", hint=self._see)
        args.flags = flags
        return args

    @property
    def _see(self) -> str:
        return f"see `skillgrad {self.name} --help`"


def _unknown_option(option: str, parser: Parser, see: str) -> UsageError:
    known = [name for action in _actions(parser) for name in action.option_strings]
    hint = did_you_mean(option, known)
    return UsageError(f"unknown option {option!r}", hint=hint if hint.startswith("did") else f"{hint}; {see}")


def _actions(parser: Parser) -> Sequence[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no public list


def _at_least_one(text: str) -> int:
    return _number(text, int, 1, "a whole number from 1 on")


def _seconds(text: str) -> float:
    return _number(text, float, 0, "a number of seconds from 0 on")


def _port(text: str) -> int:
    number = _number(text, int, 0, "a port from 0 to 65535")
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return number


def _number(text: str, kind: Callable[[str], Any], least: int, what: str) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not least <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(allowed)}")
        return text

    return check


def _config(parser: Parser) -> None:
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG", help=f"the YAML file of settings (default: {DEFAULT_CONFIG})"
    )
    parser.add_argument("--preset", metavar="NAME", help="a set of settings to start from: default or paper")


def _demo(parser: Parser) -> None:
    parser.add_argument(
        "--folder", default=DEMO_FOLDER, metavar="DIR", help=f"where to make the project (default: {DEMO_FOLDER})"
    )


def _init(parser: Parser) -> None:
    parser.add_argument(
        "data", metavar="DATA", help="a .jsonl, .json, .csv or .parquet file, or a folder with train, val and test"
    )
    parser.add_argument("--folder", default=".", metavar="DIR", help="where to make the project (default: here)")
    parser.add_argument("--target", default="openai:gpt-5.5", metavar="MODEL", help="the model that attempts tasks")
    parser.add_argument(
        "--optimizer", default="openai:gpt-5.5", metavar="MODEL", help="the model that proposes edits"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite an existing skillgrad.yaml and skill/SKILL.md"
    )


def _doctor(parser: Parser) -> None:
    _config(parser)
    parser.add_argument("--live", action="store_true", help="make one tiny call to each model; may cost a little")


def _train(parser: Parser) -> None:
    _config(parser)
    parser.add_argument("--name", metavar="RUN", help="name of the run, the same as --run.name")
    parser.add_argument("--fork", metavar="RUN", help="start a new run over the paid results of this one")


def _evaluate(parser: Parser) -> None:
    _config(parser)
    parser.add_argument(
        "--skill", metavar="PATH", help="a skill folder, SKILL.md or Markdown file (default: the one in the settings)"
    )
    parser.add_argument(
        "--split",
        type=_one_of("train", "val", "test"),
        default="test",
        metavar="SPLIT",
        help="train, val or test (default)",
    )
    parser.add_argument(
        "--trials", type=_at_least_one, default=1, metavar="N", help="attempts at each task (default: 1)"
    )


def _show(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder, or the name of one in ./runs")
    parser.add_argument("--step", type=_at_least_one, metavar="N", help="show the edits and the diff of this step")


def _simulate(parser: Parser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on (default: 8000; 0: any free one)")
    parser.add_argument(
        "--latency", type=_seconds, default=0.0, metavar="S", help="seconds until a request is answered"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=RATE",
        help="make this share of requests fail; repeatable",
    )
    parser.add_argument("--key", metavar="KEY", help="refuse requests without this key")
    parser.add_argument(
        "--outage-after", type=_at_least_one, metavar="N", help="answer nothing any more after N requests"
    )


VERBS: tuple[Verb, ...] = (
    Verb("demo", "train a skill on generated tasks with simulated models", ("skillgrad demo",), _demo),
    Verb(
        "init",
        "make a project from a dataset",
        ("skillgrad init data.jsonl", "skillgrad init data/ --folder project --target openai:gpt-5.5"),
        _init,
        dotted=False,
    ),
    Verb(
        "doctor",
        "check what is configured, what is missing and how to mend it",
        ("skillgrad doctor", "skillgrad doctor skillgrad.yaml --live"),
        _doctor,
    ),
    Verb(
        "train",
        "train a skill, or go on with a run that was interrupted",
        ("skillgrad train skillgrad.yaml --name first --train.epochs 2",),
        _train,
    ),
    Verb(
        "evaluate",
        "score a skill on a split",
        ("skillgrad evaluate skillgrad.yaml --skill runs/first/best/skill --split test --trials 3",),
        _evaluate,
    ),
    Verb("show", "show a run: scores, steps, edits", ("skillgrad show first --step 3",), _show, dotted=False),
    Verb(
        "simulate",
        "serve the simulated models over HTTP",
        ("skillgrad simulate --port 8000 --latency 0.05 --fault rate_limit=0.1",),
        _simulate,
        dotted=False,
    ),
)


def overview() -> str:
    """The help of the program."""
    width = max(len(verb.name) for verb in VERBS)
    verbs = "\n".join(f"  {verb.name:<{width}}  {verb.summary}" for verb in VERBS)
    return f"""\
usage: skillgrad VERB ...

Train agent skills: from a seed skill, a dataset and two models to a better SKILL.md.

verbs:
{verbs}

options:
  -h, --help  this text; `skillgrad VERB --help` for a verb
  --version   the version

example:
  skillgrad demo
  skillgrad init data.jsonl && skillgrad doctor && skillgrad train

exit codes: 0 done, 1 failed, 2 bad input or usage, 3 stopped by a budget, 130 interrupted"""


def find_verb(word: str) -> Verb:
    """The verb of that name.

    Raises:
        UsageError: there is none.
    """
    for verb in VERBS:
        if verb.name == word:
            return verb
    what = "option" if word.startswith("-") else "verb"
    known = ["--help", "--version"] if what == "option" else [verb.name for verb in VERBS]
    raise UsageError(f"unknown {what} {word!r}", hint=did_you_mean(word, known))
