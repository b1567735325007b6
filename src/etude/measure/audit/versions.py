"""The versions of a skill that a suite should tell apart, made by code: none, its headings only, its opposite."""

import re
from collections.abc import Mapping

from etude.records import Skill
from etude.skill import Document
from etude.skill.blocks import Part, parts_of
from etude.skill.parts import laid_out

VERSIONS = ("skill", "none", "headings", "opposite")
_SENTENCE = re.compile(r"(?<=[.!?;])[\"')\]*_]*\s+(?=\S)")
_CASE = re.compile(r"(?:when|if|where|once|after|before|for|in|while)\b[^,]*,\s+", re.IGNORECASE)
_MAIN = re.compile(
    r"(.*?)((?:,? (?:so that|because|when|if|where|unless|that|which|as|until|while)\b|[;:(–—]).*|$)", re.DOTALL
)
_VERB = "must|should|may|might|can|will|is|are|was|were|has|have|need"
_TURNS: tuple[tuple[str, str], ...] = (
    (r"\b(?:do|does|did)(?: not|n['’]t)\b", "always"),
    (r"\bnever\b", "always"),
    (r"\bcan(?:not|['’]t)\b", "can"),
    (rf"\b({_VERB})(?: not\b|n['’]t\b)", r"\1"),
    (r"\bavoid(?:ing)?\b|\brefrain from\b", "prefer"),
    (r"\bwithout\b", "with"),
    (r"^no\b", "every"),
    (r"\balways\b", "never"),
    (rf"\b({_VERB})\b", r"\1 not"),
)
"""What turns a clause into its opposite: that which is found first in it."""


def versions_of(skill: Skill) -> Mapping[str, Skill]:
    """By their names in `VERSIONS`. Front matter stays, so that programs list each version alike; code, tables and
    the files of the folder are in the skill only, as examples would teach what an opposite denies.
    Raises SkillError: the document cannot be read."""
    skill = laid_out(skill)
    document = Document.parse(skill.text)
    front, parts = document.front_matter, list(parts_of(document.body))
    headings = "".join(f"{part.words}\n\n" for part in parts if part.kind == "heading")
    turned = [
        [part.words] if part.kind == "heading" else [f"- {opposite(one)}" for one in _parted(part)] for part in parts
    ]
    made = (
        Skill(name=skill.name, text=front + text)
        for text in (headings, "".join("\n".join(lines) + "\n\n" for lines in turned if lines))
    )
    return dict(zip(VERSIONS, (skill, Skill(text=""), *made), strict=True))


def sentences(body: str) -> list[str]:
    """The sentences of a text in Markdown, without headings, code and tables."""
    return [one for part in parts_of(body) for one in _parted(part)]


def opposite(sentence: str) -> str:
    """A sentence that says the opposite: its main clause is turned."""
    case = _CASE.match(sentence)
    start = case.end() if case else 0
    parts = _MAIN.fullmatch(sentence, start)
    assert parts is not None  # it may be empty, and the rest is anything
    main, rest = parts[1], parts[2]
    matches = [(found, turned) for pattern, turned in _TURNS if (found := re.search(pattern, main, re.IGNORECASE))]
    if matches:
        found, turned = min(matches, key=lambda match: match[0].start())
        made = main[: found.start()] + found.expand(turned) + main[found.end() :]
    else:
        made = f"never {main[:1].lower()}{main[1:]}"
    made = f"{sentence[:start]}{made}{rest}"
    return made[0].upper() + made[1:]


def _parted(part: Part) -> list[str]:
    return [one for one in _SENTENCE.split(part.words) if part.kind == "text" and re.search(r"\w", one)]
