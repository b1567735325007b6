"""The versions of a skill that a suite should tell apart, made by code: none, its headings only, its opposite."""

import re
from collections.abc import Mapping

from etude.records import Skill
from etude.skill import Document
from etude.skill.fences import Fences
from etude.skill.lines import lines_of
from etude.skill.markers import is_marker_comment
from etude.skill.parts import laid_out

VERSIONS = ("skill", "none", "headings", "opposite")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_LEFT_OUT = re.compile(r"\s*(\||<!--|[-*_]{3,}\s*$)")
"""Rows of tables, comments, rules."""
_BULLET = re.compile(r"\s*(?:>\s*)*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
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
    front, blocks = document.front_matter, _blocks(document.body)
    headings = "".join(f"{text}\n\n" for text, heading in blocks if heading)
    turned = (
        f"{text}\n\n" if heading else "".join(f"- {opposite(one)}\n" for one in _parted(text)) + "\n"
        for text, heading in blocks
    )
    made = (Skill(name=skill.name, text=front + text) for text in (headings, "".join(turned)))
    return dict(zip(VERSIONS, (skill, Skill(text=""), *made), strict=True))


def sentences(body: str) -> list[str]:
    """The sentences of a text in Markdown, without headings, code and tables."""
    return [one for text, heading in _blocks(body) if not heading for one in _parted(text)]


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


def _parted(text: str) -> list[str]:
    return [one for one in _SENTENCE.split(text) if re.search(r"\w", one)]


def _blocks(text: str) -> list[tuple[str, bool]]:
    """Headings, list items and paragraphs in their order, each on one line, and which of them are headings."""
    found: list[tuple[str, bool]] = []
    fences, joins = Fences(), False
    for line in lines_of(text):
        code, bare = fences.read(line.text), line.text.strip()
        if code or not bare or _LEFT_OUT.match(line.text) or is_marker_comment(line.text):
            joins = False
        elif _HEADING.match(line.text):
            found.append((bare, True))
            joins = False
        elif joins and not _BULLET.match(line.text):
            found[-1] = (f"{found[-1][0]} {bare}", False)
        else:
            found.append((_BULLET.sub("", line.text, count=1).strip(), False))
            joins = True
    return [block for block in found if block[0]]
