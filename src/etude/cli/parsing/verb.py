"""What a verb is, and how what is typed after it is read. Imports nothing heavy, so that help is instant."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args, get_origin

from etude.cli.parsing.arguments import trust
from etude.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


class UsageError(InputError):
    """A verb, option or argument is unknown, missing or out of range."""


Flags = list[tuple[str, str]]
"""Dotted keys with YAML texts: `--section.key VALUE` and `--section.key=VALUE` set any setting."""

_DOTTED = re.compile(r"--([A-Za-z_]\w*(?:\.[\w-]+)+)(?:=(.*))?", re.DOTALL)
_DOTTED_HELP = """\
Any setting can be given as a dotted flag, as in --train.epochs 2 or --gate.metric=soft; it wins over the file.
All settings: `etude help settings`"""


_REQUIRED = "the following arguments are required: "
_CHOICE = re.compile(r"argument ([^:]+): invalid choice: (.*) \(choose from (.*)\)")


def take_dotted(words: Sequence[str]) -> tuple[list[str], Flags]:
    """(the other words, the flags as (dotted key, YAML text)), both in their order. `--` ends the flags.
    Raises UsageError: a flag has no value."""
    rest: list[str] = []
    flags: Flags = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*rest, word, *waiting], flags
        match = _DOTTED.fullmatch(word)
        if match is None:
            rest.append(word)
            continue
        key, value = match[1], match[2]
        if value is None:
            if not waiting or waiting[0].startswith("--"):
                raise UsageError(f"--{key} needs a value", hint=f"as in --{key}=VALUE")
            value = waiting.pop(0)
        flags.append((key, value))
    return rest, flags


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its usage and exit."""

    example = ""
    """How the verb is called."""

    def error(self, message: str) -> NoReturn:
        see = f"see `{self.prog} --help`"
        if (missing := message.removeprefix(_REQUIRED)) != message:
            raise UsageError(f"`{self.prog}` needs {missing}", hint=f"as in `{self.example}`; {see}")
        if (wrong := _CHOICE.fullmatch(message)) is not None:
            allowed = [word.strip("' ") for word in wrong[3].split(",")]
            raise UsageError(
                f"{wrong[1]} = {wrong[2]} is not one of them", hint=did_you_mean(wrong[2].strip("'"), allowed)
            )
        raise UsageError(message.removeprefix("argument "), hint=see)


def _of_a_run() -> Mapping[str, "FieldInfo"]:
    from etude.config import TrainConfig  # only here: help has to be instant

    return TrainConfig.model_fields


@dataclass(frozen=True)
class Verb:
    """A verb. The module `etude.cli.<name>` has its `run(args) -> exit code`."""

    name: str
    """One word, or two for the verbs of a group, as in `sleep run`."""
    summary: str
    """One line."""
    examples: Sequence[str]
    arguments: Callable[[Parser], None]
    dotted: bool = True
    """Takes settings as dotted flags."""
    sections: Callable[[], Mapping[str, "FieldInfo"]] = _of_a_run
    """The settings that can be given so, by section."""

    @property
    def module(self) -> str:
        """Where it is carried out."""
        return f"etude.cli.{self.name.replace('-', '_').replace(' ', '.')}"

    @property
    def parser(self) -> Parser:
        """A parser for what follows the verb."""
        about = self.summary[0].upper() + self.summary[1:] + "."
        examples = "\n".join(f"  {example}" for example in self.examples)
        parser = Parser(
            prog=f"etude {self.name}",
            description=f"{about}\n\n{_DOTTED_HELP}" if self.dotted else about,
            epilog=f"example:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.example = self.examples[0]
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        if self.dotted:
            trust(parser)
            usage = parser.format_usage().removeprefix("usage: ").rstrip()
            parser.usage = f"{usage} [--section.key VALUE ...]"
        return parser

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments; `flags` has the dotted ones as (key, YAML text).
        Raises UsageError: an argument is unknown, missing or out of range."""
        rest, flags = take_dotted(words)
        if flags and not self.dotted:
            raise UsageError(f"`etude {self.name}` takes no settings, but --{flags[0][0]} was given", hint=self._see)
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

    def _meant(self, option: str, parser: Parser) -> str:
        """What an option of other programs is here; empty where the verb has nothing of the kind."""
        actions = _actions(parser)
        if option == "--config" and any(action.dest == "config" and not action.option_strings for action in actions):
            file = "sleep.yaml" if self.name.startswith("sleep ") else "etude.yaml"
            return f"give the file without it, as in `etude {self.name} {file}`"
        if option == "--output" and any("--name" in action.option_strings for action in actions):
            return "the name of the folder is that of the run: --name"
        if option in ("--resume", "--continue") and self.dotted:
            return "leave it out: the same command resumes a run"
        roles = "each role has a model: --target.model and --optimizer.model"
        return roles if option == "--model" and self.dotted else ""

    @property
    def _see(self) -> str:
        return f"see `etude {self.name} --help`"

    def _unknown_option(self, option: str, parser: Parser) -> UsageError:
        told = [action for action in _actions(parser) if action.help != argparse.SUPPRESS]
        known = [name for action in told for name in action.option_strings]
        hint = _as_setting(option.lstrip("-").replace("-", "_"), self.sections()) if self.dotted else ""
        hint = hint or self._meant(option, parser) or did_you_mean(option, known)
        return UsageError(
            f"unknown option {option!r}", hint=f"{hint}; {self._see}" if hint.startswith("allowed") else hint
        )


_ENV_KEYS = frozenset({"path", "ratio", "fields", "template", "scorer", "limit"})
"""Settings of the tasks, which the environment reads itself."""


def _as_setting(word: str, sections: Mapping[str, "FieldInfo"]) -> str:
    """How a setting is given that was typed without its section, or without its key; empty for any other word."""
    keys: dict[str, list[str]] = {}
    for section, field in sections.items():
        kinds = cast("tuple[Any, ...]", get_args(field.annotation) or (field.annotation,))
        if get_origin(field.annotation) in (dict, tuple):
            kinds = ()  # its keys are names of the user's, or it is a list
        keys[section] = [key for kind in kinds for key in getattr(kind, "model_fields", ())]
    if word in _ENV_KEYS:
        keys["env"] = [*keys.get("env", ()), word]
    if word in keys and get_origin(sections[word].annotation) is tuple:
        return f"it is a list, and stands in the settings file, as in `{word}: [...]`"
    if word in keys:
        return f"a setting has a section and a key, as in --{word}.{next(iter(keys[word]), 'NAME')} VALUE"
    found = [repr(f"--{section}.{word}") for section, known in keys.items() if word in known]
    return f"did you mean {' or '.join(found)}?" if found else ""


def _actions(parser: Parser) -> Sequence[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage] - argparse has no public list
