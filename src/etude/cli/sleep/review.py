"""`etude sleep review`."""

import argparse
import sys

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import Nights, find_nights
from etude.cli.sleep.text import elsewhere
from etude.cli.terminal import output
from etude.errors import InputError
from etude.sleep.adoption.proposals import Item
from etude.sleep.page import item_lines

_CHOICES = {"t": "take", "l": "leave for later", "e": "edit, then take", "n": "never again", "q": "quit"}


def run(args: argparse.Namespace) -> int:
    """Show each rule that waits, and do at once what the user says of it."""
    nights = find_nights(args)
    if nights.recovered(args, named=False):
        return 0
    number = nights.proposed(None)
    # One rule may be meant for two documents: whoever decides on it decides for both.
    waiting = list({item.rule.id: item for item in reversed(nights.pending(number).waiting)}.values())[::-1]
    if not waiting:
        raise UsageError("no rule waits", hint="`etude sleep status` shows how each rule stands")
    if args.json or not sys.stdin.isatty():
        hint = "`etude sleep adopt --rule ID` and `etude sleep reject --rule ID` need no answer"
        raise UsageError("a review asks questions, and nobody can answer here", hint=hint)
    taken = rejected = 0
    for at, item in enumerate(waiting, 1):
        output.line("")
        for line in item_lines(item, f"{at} of {len(waiting)}", nights.project):
            output.line(line)
        answer = _ask()
        if answer == "q":
            break
        if answer == "n":
            nights.reject(number, [item.rule.id])
            rejected += 1
        elif answer in "te":
            taken += _take(nights, number, item, edit=answer == "e")
    output.line(f"\ntaken: {taken}, rejected: {rejected}, wait: {len(waiting) - taken - rejected}")
    if taken:
        output.line(f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}")
    return 0


def _take(nights: Nights, number: int, item: Item, *, edit: bool) -> bool:
    """Adopt one rule; False where it is left after all."""
    words: dict[str, str] = {}
    if edit and not item.leaving:
        text = _input("new text (empty to leave the rule)").strip()
        if not text:
            return False
        mark = "- " if item.rule.text.startswith("- ") and not text.startswith("- ") else ""
        words = {item.rule.id: mark + text}
    try:
        nights.adopt(number, [item.rule.id], words)
    except InputError as error:  # the others can still be decided on
        output.tell(error)
        return False
    return True


def _ask() -> str:
    question = ", ".join(f"[{key}] {what}" for key, what in _CHOICES.items())
    while True:
        answer = _input(question, at_end="q").strip().lower()
        for key, what in _CHOICES.items():
            if answer in (key, what):
                return key
        output.line(f"please answer with one of {', '.join(_CHOICES)}")


def _input(question: str, at_end: str = "") -> str:
    try:
        return input(f"{question}: ")
    except EOFError:
        return at_end
