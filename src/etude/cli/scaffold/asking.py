"""Questions at a terminal."""

import argparse
import sys
from collections.abc import Sequence

from etude.cli.terminal import output


def asks(args: argparse.Namespace) -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not args.json


def yes(question: str) -> bool:
    """Ask whether to go on; an empty answer is yes."""
    output.flush()
    output.note(question)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def chosen(question: str, answers: Sequence[str]) -> str | None:
    """The answer that is typed, as it stands or by its number; None where it is none of them."""
    output.note(question)
    for number, text in enumerate(answers, 1):
        output.note(f"  {number}  {text}")
    said = sys.stdin.readline().strip()
    if said.isdigit() and 1 <= int(said) <= len(answers):
        return answers[int(said) - 1]
    return said if said in answers else None
