"""Briefs on decisions: the reply is a text, and what is wrong with it is said by the one who reads it.

There is no single right answer, so attempts are not compared with one: what a reply lacks is read from the feedback
on it (`briefs_reading`).
"""

import random
import re

from etude.simulation.families.briefs_reading import (
    BRAIN_FIRST,
    RULES,
    STRUCTURE,
    SUBSTANCE,
    VERBOSE,
    VERDICT,
    complaints,
    grade,
)
from etude.simulation.families.family import Family, Faults, Solution
from etude.simulation.families.tables import table, texts
from etude.simulation.text import pick, squeeze, uniform

TOPICS, OPENINGS, SUMMARIES, POINTS, RISKS, CHOICES = (
    texts("briefs", name) for name in ("topics", "openings", "summaries", "points", "risks", "choices")
)
LEVELS = ("high", "medium", "low")
MOST_TOPIC = 60
"""Characters of a topic that the reply repeats."""


class Briefs(Family):
    """A brief, an analysis or advice on a decision."""

    name = "briefs"
    subject = r"\b(?:brief|decision|decid|advis|advice|analys)"
    skill = table("briefs")["skill"]
    rules = RULES
    prose = True
    pattern = re.compile(
        r"\b(?:(?:please\s+)?(?:write|draft|prepare)\s+(?:me\s+|us\s+)?a\s+brief\s+(?:on|about)"
        r"|(?:please\s+)?analy[sz]e\s+the\s+decision\s+(?:of|on)"
        r"|(?:answer:\s*)?should\s+we\s+decide(?:\s+on)?"
        r"|(?:please\s+)?advise\s+(?:me\s+|us\s+)?on)"
        r"\s+(?P<topic>[^.?!<>{}\"\\`|;\n]{3,160})[.?]",
        re.IGNORECASE,
    )

    def solve(self, text: str, faults: Faults) -> Solution:
        topic = topic_of(text)
        if SUBSTANCE.id in faults:
            return Solution(_hollow(faults), "")
        cite = "" if BRAIN_FIRST.id in faults else " [1]"
        parts = [
            f"# Brief: {_short(topic)}",
            f"## Summary\n\n{pick(SUMMARIES, topic).format(_short(topic))}{cite}.",
            "## In favour\n\n" + _bullets(POINTS, topic),
        ]
        if VERBOSE.id in faults:
            parts.append(f"## Background\n\n{table('briefs')['digression']}")
        if STRUCTURE.id not in faults:
            parts.append("## Key Risks\n\n" + _bullets(RISKS, topic))
        if VERDICT.id not in faults:
            parts.append(f"Recommendation: {pick(CHOICES, topic)}")
        if not faults.issuperset((STRUCTURE.id, VERDICT.id)):
            parts.append(f"Confidence: {pick(LEVELS, topic)}")
        if cite:
            parts.append(f"[1] Notes on {_short(topic)}.")
        return Solution("\n\n".join(parts), "")

    def make(self, rng: random.Random) -> str:
        return rng.choice(OPENINGS).format(rng.choice(TOPICS))

    def looks_up(self, text: str, faults: Faults) -> str:
        return "" if faults & {BRAIN_FIRST.id, SUBSTANCE.id} else topic_of(text)

    def blamed(self, feedback: str, answer: str) -> Faults:
        return complaints(feedback, answer)

    def grade(self, text: str, answer: str, rubric: str) -> tuple[float, str]:
        return grade(topic_of(text), answer, rubric)


def topic_of(text: str) -> str:
    """What a task is about."""
    found = Briefs.pattern.search(text)
    assert found is not None
    return squeeze(found["topic"])


def reworded(text: str, number: int) -> str:
    """The same task in other words; different ones for 0, 1 and 2, and then again from the start."""
    topic = topic_of(text)
    others = [one for opening in OPENINGS if (one := opening.format(topic)).casefold() != text.casefold()]
    return others[number % len(others)]


def _short(topic: str) -> str:
    """A long topic without its end."""
    return topic if len(topic) <= MOST_TOPIC else topic[:MOST_TOPIC].rpartition(" ")[0]


def _bullets(texts: tuple[str, ...], topic: str) -> str:
    """Two of the texts, by the topic."""
    first = int(uniform("bullets", texts[0], topic) * len(texts))
    return "\n".join(f"- {texts[(first + step) % len(texts)]}" for step in (0, 1))


def _hollow(faults: Faults) -> str:
    """All labels that the other rules ask for, and nothing under them."""
    parts = ["# Brief"]
    if STRUCTURE.id not in faults:
        parts.append("## Key Risks\n\n-")
    if VERDICT.id not in faults:
        parts.append("Recommendation:")
    if not faults.issuperset((STRUCTURE.id, VERDICT.id)):
        parts.append("Confidence:")
    if BRAIN_FIRST.id not in faults:
        parts.append("[1]")
    return "\n\n".join(parts)
