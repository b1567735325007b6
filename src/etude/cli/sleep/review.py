"""`etude sleep review`."""

import argparse
import sys

from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import Nights, find_nights
from etude.cli.sleep.text import elsewhere
from etude.cli.terminal import output
from etude.errors import InputError
from etude.sleep.page import ReviewedRule, heading

_CHOICES = {"t": "take", "l": "leave for later", "e": "edit, then take", "n": "never again", "q": "quit"}


def run(args: argparse.Namespace) -> int:
    """Show each rule that waits, and do at once what the user says of it."""
    nights = find_nights(args)
    if nights.recovered(args):
        return 0
    number = nights.proposed(None)
    waiting: dict[str, list[ReviewedRule]] = {}
    for rule in nights.night(number).rules:  # one may be meant for two documents: whoever decides decides for both
        if rule.state == "waits":
            waiting.setdefault(rule.id, []).append(rule)
    if not waiting:
        raise UsageError("no rule waits", hint="`etude sleep status` shows how each rule stands")
    if args.json or not sys.stdin.isatty():
        hint = "`etude sleep adopt --rule ID` and `etude sleep reject --rule ID` need no answer"
        raise UsageError("a review asks questions, and nobody can answer here", hint=hint)
    taken = rejected = 0
    for at, (rule, *others) in enumerate(waiting.values(), 1):
        output.line("")
        output.line(f"{at} of {len(waiting)}: {heading(rule)}")
        for line in (*rule.lines, *(f"The same for {other.document}." for other in others)):
            output.line(f"   {line}")
        answer = _ask()
        if answer == "q":
            break
        if answer == "n":
            nights.reject(number, [rule.id])
            rejected += 1
        elif answer in "te":
            taken += _take(nights, number, rule, edit=answer == "e")
    output.line(f"\ntaken: {taken}, rejected: {rejected}, wait: {len(waiting) - taken - rejected}")
    if taken:
        output.line(f"take it back with: {output.program()} sleep revert {number}{elsewhere(args)}")
    return 0


def _take(nights: Nights, number: int, rule: ReviewedRule, *, edit: bool) -> bool:
    """Adopt one rule; False where it is left after all."""
    words: dict[str, str] = {}
    if edit and not rule.leaving:
        text = _input("new text (empty to leave the rule)").strip()
        if not text:
            return False
        words = {rule.id: text}
    try:
        nights.adopt(number, [rule.id], words)
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
