"""Summaries of work on a file: what users of agent programs ask for at the end of a session.

As with briefs there is no single right answer: a summary is good when it names the file that was written.
"""

import random
import re

from etude.simulation.families.family import Family, Faults, Solution, rules_of, table

(NAMES_FILE,) = RULES = rules_of("summaries")

FILE = re.compile(r"(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,4}\b")
"""The name of a file in a text."""
SUMMARISE = "Summarise what you did when you were asked: {}"
_THINGS = ("the minutes", "a list of open questions", "notes on the talk", "the opening hours")
_FILES = ("minutes.md", "questions.txt", "docs/talk.md", "hours.csv")
_LEAST = 20
"""Characters that a summary has at least."""


class Summaries(Family):
    """A summary of what was done with a file."""

    name = "summaries"
    subject = r"\b(?:summar|file)"
    skill = table("briefs")["skill"]
    rules = RULES
    prose = True
    pattern = re.compile(r"\bSummarise what you did when you were asked: [^\n\"<>{}\\`|]{8,300}?[.?!](?=\s|$)")

    def accepts(self, text: str) -> bool:
        return FILE.search(text) is not None

    def solve(self, text: str, faults: Faults) -> Solution:
        if NAMES_FILE.id in faults:
            return Solution("All that was asked for is done.", "")
        return Solution(f"All that was asked for is done: it is in the file {_file_of(text)}.", "")

    def make(self, rng: random.Random) -> str:
        return SUMMARISE.format(f"Write {rng.choice(_THINGS)} into {rng.choice(_FILES)}.")

    def blamed(self, feedback: str, answer: str) -> Faults:
        del answer
        return frozenset((NAMES_FILE.id,)) if re.search(r"\bfile\b", feedback) else frozenset()

    def grade(self, text: str, answer: str, rubric: str) -> tuple[float, str]:
        del rubric
        if len(answer) >= _LEAST and _file_of(text) in answer:
            return 1.0, "All that is asked for is there."
        return 0.0, "Missing: the name of the file."


def _file_of(text: str) -> str:
    found = FILE.search(text)
    assert found is not None
    return found.group()
