"""Briefs on decisions: the reply is a text, and what is wrong with it is said by the one who reads it.

There is no single right answer, so attempts are not compared with one: what a reply lacks is read from the feedback
on it (`complaints`).
"""

import random
import re
from collections.abc import Callable

from etude.simulation.families.family import Family, Faults, Solution, rules_of, table, texts
from etude.simulation.text import pick, squeeze, uniform

STRUCTURE, VERBOSE, BRAIN_FIRST, VERDICT, SUBSTANCE = RULES = rules_of("briefs")

_LETTER_OF_BOTH_CASES = re.compile(r"\[(\w)\1\]")
"""How expressions write a letter whose case does not matter, when all is small letters."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PRAISE = re.compile(r"^\W*(?:ok|pass(?:ed)?|fulfilled|good|great|perfect|thanks|thank you)\b(?!.*\bbut\b)")
_LACKING = (
    r"(?=.*(?:\?|\b(?:missing|lack\w*|no|not|none|never|nowhere|without|where|forgot|absent|empty|need\w*"
    r"|wants?|fail\w*|add|include|please|always|expected|must|should|give|end with|begin with|start with"
    r"|at least|only|few)\b|n't\b))"
)
_COMPLAINTS = {
    STRUCTURE.id: re.compile(_LACKING + r".*\brisks?\b"),
    VERDICT.id: re.compile(
        _LACKING + r".*\b(?:recommend|verdict\b)|\byes or no\b"
        r"|\bwhat (?:should|shall|would) (?:we|i|you) (?:do|choose)\b"
    ),
    BRAIN_FIRST.id: re.compile(
        _LACKING + r".*\b(?:cit(?:e|es|ed|ations?)|sources?|references?|search\w*)\b|\blook it up\b"
        r"|\bcite (?:your|the|a|some|at)\b|\bwhere (?:does|do|did) (?:this|that|it) come from\b"
    ),
    VERBOSE.id: re.compile(
        r"\btoo (?:long|wordy|verbose)\b|\blonger than\b|\brambl|\bmax_chars\b|\bshorter, please\b"
        r"|\b(?:more than|over|exceeds?|at most|up to)\b[^.]{0,20}\d[^.]{0,8}\bcharacters\b"
        r"|\b(?:make|keep|cut|say|write) (?:it|this|that)\b.{0,20}\b(?:short|shorter|brief|down)\b"
        r"|\bhalf (?:of it|as long|the length)\b|\bmissing\b.*\bbrevity\b"
    ),
    SUBSTANCE.id: re.compile(
        r"\bempty\b|\btoo short\b|\b(?:is|was|are) shorter than\b|\bmissing\b.*\bcontent\b|\bmin_chars\b"
        r"|\b(?:at least|fewer than|less than)\b[^.]{0,20}\d[^.]{0,8}\bcharacters\b"
    ),
}
_CONFIDENCE = re.compile(_LACKING + r".*\bconfiden")
_SOMETHING = re.compile(r"\bsomething\b.*\b(?:required|missing)\b")


def complaints(feedback: str, answer: str = "") -> frozenset[str]:
    """Ids of the rules that a brief broke, by what is said about it: the words of a person or of a check.

    A line on the confidence belongs to two rules: the risks are blamed for it unless the recommendation is missing.
    Where nothing else is said than that something is missing, it is what the answer has not.
    """
    found: set[str] = set()
    confidence = something = False
    for sentence in _SENTENCE_END.split(feedback.lower()):
        plain = squeeze(_LETTER_OF_BOTH_CASES.sub(r"\1", sentence).replace("\\", ""))
        if _PRAISE.match(plain):
            continue
        found.update(rule for rule, pattern in _COMPLAINTS.items() if pattern.search(plain))
        confidence = confidence or bool(_CONFIDENCE.search(plain))
        something = something or bool(_SOMETHING.search(plain))
    if not found and something and "recommend" not in answer.lower():
        found.add(VERDICT.id)
    if not found & {STRUCTURE.id, VERDICT.id} and (confidence or (something and not found)):
        found.add(STRUCTURE.id)
    return frozenset(found)


_LABEL = re.compile(r"^\s*(?:#{1,6}\s.*|[\w ]{1,20}:\s*|\[\d+\]\s*)$", re.MULTILINE)
_RISKS = re.compile(r"^#{1,6}[^\n]*\brisks?\b[^\n]*\n+\s*[-*] .{15,}|^(?!#).*\brisks?\b.{30,}", re.MULTILINE | re.I)
_CHOICE = re.compile(r"\b(?:recommend(?:ation)?|verdict)\b[ \t:=*]*[^\n]{15,}", re.IGNORECASE)
_LEVEL = re.compile(r"\bconfidence\W{1,4}(?:high|medium|low)\b", re.IGNORECASE)
_CITATION = re.compile(r"\w[^\n]*\[\d+\]|\]\(\S+\)")
MOST_CHARACTERS = 1000
"""From here on a reader finds a brief long."""
LEAST_PROSE = 100
"""Characters beside headings and labels that a brief has at least if it says anything."""
EMPTY_GRADE = 0.25
"""The most that a text without content gets."""


def _is_short(answer: str) -> bool:
    return len(answer) <= MOST_CHARACTERS


_PARTS: dict[str, tuple[str, Callable[[str], object]]] = {
    "the risks": (r"\brisks?\b", _RISKS.search),
    "a recommendation": (r"\brecommend|\bverdict\b|\bclear answer", _CHOICE.search),
    "the confidence": (r"\bconfiden", _LEVEL.search),
    "a source that is cited": (r"\bcit(?:e|es|ed|ations?)\b|\bsources?\b|\bsearch", _CITATION.search),
    "brevity": (r"\bshort\b|\bconcise|\bbrevity|\bcharacters\b|\blong\b|\blength\b|\brambl", _is_short),
}
"""What a rubric may ask for: how it speaks of that, and whether a brief has it."""


def grade(topic: str, answer: str, rubric: str) -> tuple[float, str]:
    """The share of what the rubric asks for that the brief really has, in [0, 1], and what is missing.

    That it says something about its topic is always asked for; what does not gets at most `EMPTY_GRADE`. Headings and
    labels alone are no content.
    """
    wanted = {part: has for part, (named, has) in _PARTS.items() if re.search(named, rubric, re.IGNORECASE)}
    missing = [part for part, has in wanted.items() if not has(answer)]
    says = len(squeeze(_LABEL.sub("", answer))) >= LEAST_PROSE and _is_about(topic, answer)
    score = (len(wanted) - len(missing) + says) / (len(wanted) + 1)
    if not says:
        missing.append("content on the topic")
        score = min(score, EMPTY_GRADE)
    return round(score, 2), f"Missing: {', '.join(missing)}." if missing else "All that is asked for is there."


def _is_about(topic: str, answer: str) -> bool:
    """One of the longer words of the topic is in the text."""
    words = re.findall(r"[a-z]{5,}", topic.lower()) or topic.lower().split()
    return any(word in answer.lower() for word in words)


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
