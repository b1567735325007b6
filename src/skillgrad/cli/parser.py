"""What can be typed: every verb with its arguments. Imports nothing heavy, so that help is instant."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast, get_args, get_origin

from skillgrad.cli import arguments
from skillgrad.cli.arguments import DEFAULT_CONFIG
from skillgrad.cli.flags import take_dotted
from skillgrad.cli.usage import UsageError
from skillgrad.errors import did_you_mean

__all__ = ["DEFAULT_CONFIG", "VERBS", "Parser", "Verb", "find_verb", "overview"]

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
            raise self._unknown_option(option.partition("=")[0], parser)
        extra = next((word for word in unknown if word != "--"), None)
        if extra is not None:
            raise UsageError(f"unexpected argument {extra!r}", hint=self._see)
        args.flags = flags
        return args

    @property
    def _see(self) -> str:
        return f"see `skillgrad {self.name} --help`"

    def _unknown_option(self, option: str, parser: Parser) -> UsageError:
        known = [name for action in _actions(parser) for name in action.option_strings]
        hint = _as_setting(option.lstrip("-").replace("-", "_")) if self.dotted else ""
        hint = hint or did_you_mean(option, known)
        return UsageError(
            f"unknown option {option!r}", hint=f"{hint}; {self._see}" if hint.startswith("allowed") else hint
        )


def _as_setting(word: str) -> str:
    """How a setting is given that was typed without its section, or without its key; empty for any other word."""
    from skillgrad.config import TrainConfig  # only here: help has to be instant

    keys: dict[str, list[str]] = {}
    for section, field in TrainConfig.model_fields.items():
        kinds = cast("tuple[Any, ...]", get_args(field.annotation) or (field.annotation,))
        if get_origin(field.annotation) is dict:
            kinds = ()  # its keys are names of the user's
        keys[section] = [key for kind in kinds for key in getattr(kind, "model_fields", ())]
    if word in keys:
        return f"a setting has a section and a key, as in --{word}.{next(iter(keys[word]), 'NAME')} VALUE"
    found = [repr(f"--{section}.{word}") for section, known in keys.items() if word in known]
    return f"did you mean {' or '.join(found)}?" if found else ""


def _actions(parser: Parser) -> Sequence[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no public list


VERBS: tuple[Verb, ...] = (
    Verb("demo", "train a skill on generated tasks with simulated models", ("skillgrad demo",), arguments.demo),
    Verb(
        "init",
        "make a project from a dataset",
        (
            "skillgrad init data.jsonl",
            "skillgrad init data/ --folder project --target openai:gpt-5.5",
            "skillgrad init --from-skillopt configs/searchqa.yaml --folder project",
        ),
        arguments.init,
        dotted=False,
    ),
    Verb(
        "doctor",
        "check what is configured, what is missing and how to mend it",
        ("skillgrad doctor", "skillgrad doctor skillgrad.yaml --live"),
        arguments.doctor,
    ),
    Verb(
        "plan",
        "forecast calls, tokens, money and time of a run, and what its tasks can show",
        ("skillgrad plan skillgrad.yaml", "skillgrad plan skillgrad.yaml --measure --limits.usd 2"),
        arguments.plan,
    ),
    Verb(
        "train",
        "train a skill, or go on with a run that was interrupted",
        (
            "skillgrad train skillgrad.yaml --name first --train.epochs 2",
            "skillgrad train skillgrad.yaml --seeds 1-5",
        ),
        arguments.train,
    ),
    Verb(
        "evaluate",
        "score skills on a split",
        (
            "skillgrad evaluate skillgrad.yaml --skill first:best --split test --trials 3",
            "skillgrad evaluate --skill first:initial --skill first:best --target openai:a --target openai:b",
        ),
        arguments.evaluate,
    ),
    Verb(
        "compare",
        "compare two skills on the same tasks: ship B in place of A, or not",
        (
            "skillgrad compare first:initial first:best",
            "skillgrad compare old/SKILL.md new/SKILL.md --trials 5 --margin 0.02",
        ),
        arguments.compare,
    ),
    Verb(
        "show", "show a run: scores, steps, edits", ("skillgrad show first --step 3",), arguments.show, dotted=False
    ),
    Verb(
        "diff",
        "show how two skills of a run differ",
        ("skillgrad diff first", "skillgrad diff first 3 best"),
        arguments.diff,
        dotted=False,
    ),
    Verb(
        "export",
        "write the best skill of a run as an Agent Skills folder",
        ("skillgrad export first --for claude", "skillgrad export first:3 --to skills --name my-skill"),
        arguments.export,
        dotted=False,
    ),
    Verb(
        "runs",
        "list runs and how to go on with them, or delete old ones",
        ("skillgrad runs", "skillgrad runs prune --keep 5 --older-than 30 --yes"),
        arguments.runs,
        dotted=False,
    ),
    Verb(
        "simulate",
        "serve the simulated models over HTTP",
        ("skillgrad simulate --port 8000 --latency 0.05 --fault rate_limit=0.1",),
        arguments.simulate,
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

exit codes: 0 done, 1 failed, 2 bad input or usage, 3 stopped by a budget, 4 inconclusive (compare),
            130 interrupted"""


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
