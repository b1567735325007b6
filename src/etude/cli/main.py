"""The entry point: finds the verb, runs it, and turns errors into a text and an exit code."""

import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module

from etude import __version__
from etude.cli.parsing.parser import GROUPS, overview, read_verb
from etude.cli.parsing.settings_help import settings_help
from etude.cli.terminal.news import show_news
from etude.cli.terminal.output import json_error, line, program, tell
from etude.cli.terminal.streams import all_written, prepare_streams, result_alone
from etude.errors import EtudeError, Interrupted


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (those of the process by default); returns the exit code.

    Errors that etude raises on purpose become `error:` and `hint:` on stderr, and with `--json` an object on
    stdout. Anything else is a bug and keeps its traceback.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    show_news(words)
    try:
        code = _run(words)
        all_written(sys.stdout)
    except EtudeError as error:
        return _fail(error, words)
    except KeyboardInterrupt:
        return _fail(Interrupted("interrupted", hint="run the same command again"), words)
    return code


def _run(words: list[str]) -> int:
    while words[:1] == ["help"]:
        if words[1:2] == ["settings"]:
            for text in settings_help([word for word in words[2:] if word not in ("-h", "--help", "--json")]):
                line(text)
            return 0
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help"):
        line(overview())
        return 0
    if words[0] == "--version":
        line(f"etude {__version__}")
        return 0
    if words[0] in GROUPS and (len(words) == 1 or words[1] in ("-h", "--help")):
        line(overview(words[0]))
        return 0
    verb, rest = read_verb(words)
    try:
        args = verb.parse(rest)
    except SystemExit:  # argparse has printed the help of the verb
        return 0
    args.command = f"{program()} {shlex.join(words)}"
    with result_alone() if args.json else nullcontext():
        return import_module(verb.module).run(args)


def _fail(error: EtudeError, words: Sequence[str]) -> int:
    if "--json" in words:
        json_error(error)
    tell(error)
    return error.exit_code
