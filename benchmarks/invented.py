"""Invented examples: a task and its right answer, with other names and numbers in both."""

import random
import re
from collections.abc import Collection, Sequence

_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_NAMES = (
    "Arden", "Belmont", "Calloway", "Dalton", "Everly", "Fairfax", "Hadley", "Kingsley", "Lorne", "Marlow",
    "Preston", "Sutton", "Weston", "Winslow",
)  # fmt: skip
"""Words that may stand for people as well as places."""
_KEPT = """
January February March April May June July August September October November December Monday Tuesday Wednesday
Thursday Friday Saturday Sunday A An And At Did Do For From He How I If In Is It My No On Our Please She The There
They This To We What When Where Which Who Why Yes You Your
"""
"""Capitalised words that are not names."""
_START = re.compile(r"(?:^|[.!?:/]\s*|\n)$")
"""What precedes a word with which a sentence begins."""
_WORDS = 5
"""Of a task whose answer is a label: the first words of its longest clause say enough, and are no copy."""
RUN = 8
"""Words in a row that count as a copy."""


def words(text: str) -> list[str]:
    """The words and numbers of a text, without case."""
    return [token.casefold() for token in _TOKEN.findall(text)]


def example(task: str, right: str, is_label: bool, salt: int) -> str:
    """The task and its answer with other names and numbers; empty where the answer would stay as it is, though it
    is no label."""
    shown = _shortened(task) if is_label else task
    names = _replacements(shown, "" if is_label else right, random.Random(f"{task} {salt}"))
    answer = right if is_label else _replaced(right, names)
    if answer == right and not is_label:
        return ""
    shown = _replaced(shown, names).strip()
    return f"{shown} {answer}" if shown.endswith(":") else f"{shown}\nAnswer: {answer}"


def copied(content: str, tasks: Sequence[str], golds: Collection[str]) -> bool:
    """A text has a run of words of a task, or an answer that is no label."""
    runs = _runs(content)
    if any(runs & _runs(task) for task in tasks):
        return True
    flat = f" {' '.join(words(content))} "
    return any(f" {' '.join(words(gold))} " in flat for gold in golds if words(gold))


def _shortened(task: str) -> str:
    """The first words of the longest clause, within what introduces the text and asks for the answer."""
    lines = task.strip().splitlines()
    cue = lines.pop() if len(lines) > 1 and lines[-1].endswith(":") else ""
    lead, colon, body = "\n".join(lines).partition(": ")
    if not colon or " " in lead:
        lead, body = "", "\n".join(lines)
    longest = max(re.split(r"[.!?,;:\n]\s*", body), key=lambda part: len(part.split()))
    short = " ".join(longest.split()[:_WORDS])
    return f"{lead}{colon if lead else ''}{short}." + (f"\n{cue}" if cue else "")


def _replacements(task: str, right: str, draws: random.Random) -> dict[str, str]:
    """Another name for each name, and another number for each number; by the word without case."""
    in_answer = set(words(right))
    names = draws.sample(_NAMES, len(_NAMES))
    found: dict[str, str] = {}
    for match in _TOKEN.finditer(task):
        word, key = match[0], match[0].casefold()
        if key in found:
            continue
        if word.isdigit():
            found[key] = _other_number(word, draws)
        elif word in _KEPT.split() or not names:
            continue
        elif key in in_answer or (word[0].isupper() and len(word) > 1 and not _START.search(task[: match.start()])):
            found[key] = names.pop()
    return found


def _other_number(number: str, draws: random.Random) -> str:
    """A smaller one with as many digits, so that it can stand where the other stood; else the next one."""
    least = 10 ** (len(number) - 1)
    return str(draws.randrange(least, int(number)) if int(number) > least else int(number) + 1)


def _replaced(text: str, names: dict[str, str]) -> str:
    def other(match: re.Match[str]) -> str:
        new = names.get(match[0].casefold(), match[0])
        return new.lower() if match[0].islower() else new

    return _TOKEN.sub(other, text)


def _runs(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[start : start + RUN]) for start in range(len(found) - RUN + 1)}
