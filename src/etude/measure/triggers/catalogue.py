"""Skills as an agent program lists them, by name and description, cut to what the program shows; and descriptions
as a document that can be trained: a sentence a line, prose, of a limited length."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from etude.errors import SkillError
from etude.skill.document import Document
from etude.skill.folder import DOCUMENT, skills_in

Catalogue = Mapping[str, str]
"""Name of a skill to its description, in one line."""
Listing = Literal["claude-code", "codex", "whole"]
"""Whose limits cut the descriptions; `whole` cuts nothing."""

_CLAUDE_CHARS = 8_000
"""For all entries together: a hundredth of the context of 200,000 tokens, at 4 characters a token."""
_CLAUDE_LONGEST = 1_536
_CLAUDE_OWN = 276
"""Characters of the one skill that the program brings and lists first among equals."""
_CODEX_TOKENS = 5_440
"""For all entries together: a fiftieth of the context of 272,000 tokens, 4 bytes a token, rounded up line by line."""
_CODEX_LONGEST = 1_024
# Measured with Claude Code 2.1.328 and Codex 0.169.0 (docs/skills.md); a test compares the entries with what these
# programs send.


def read_catalogue(folder: Path, unread: list[str] | None = None) -> dict[str, str]:
    """The skills in a folder of skill folders, by name.

    Args:
        unread: where given, why a skill cannot be read is added to it, and the skill is passed over.

    Raises:
        SkillError: one cannot be read, or two have one name.
    """
    found, places = dict[str, str](), dict[str, str]()
    for place in skills_in(folder):
        try:
            name, description = read_entry(place / DOCUMENT)
        except SkillError as error:
            if unread is None:
                raise
            unread.append(error.message)
            continue
        if name in found:
            raise SkillError(
                f"two skills in {str(folder)!r} are called {name!r}: {places[name]!r} and {place.name!r}",
                hint="give each a name of its own",
            )
        found[name], places[name] = description, place.name
    return found


def read_entry(document: Path) -> tuple[str, str]:
    """Name and description of a skill. Raises SkillError: the document cannot be read."""
    try:
        meta = Document.parse(document.read_bytes().decode()).meta
    except (OSError, UnicodeDecodeError, SkillError) as error:
        problem = error.message if isinstance(error, SkillError) else error
        raise SkillError(f"{str(document)!r} cannot be read: {problem}", hint="correct the file") from None
    return str(meta.get("name") or document.parent.name), one_line(str(meta.get("description") or ""))


def one_line(text: str) -> str:
    """A description as programs list it: white space folded."""
    return " ".join(text.split())


def shown(catalogue: Catalogue, listing: Listing) -> dict[str, str]:
    """What is left of the descriptions, by name in the order of the list; empty for a skill that is listed by its
    name alone. A skill that is not listed at all is not there."""
    skills = {name: catalogue[name] for name in sorted(catalogue)}
    return _CUTS[listing](skills)


def entries(visible: Catalogue, listing: Listing) -> list[str]:
    """The lines of the list, as the program writes them."""
    if listing == "codex":
        return [_codex_line(name, text) for name, text in visible.items()]
    return [f"- {name}: {text}" if text else f"- {name}" for name, text in visible.items()]


def _cut_as_claude(skills: dict[str, str]) -> dict[str, str]:
    """All names first; then, in order, each description that still fits, whole."""
    left = _CLAUDE_CHARS - _CLAUDE_OWN - sum(len(f"- {name}\n") for name in skills)
    visible = dict.fromkeys(skills, "")
    for name, text in skills.items():
        text = text[:_CLAUDE_LONGEST]
        if text and len(f": {text}") <= left:
            visible[name] = text
            left -= len(f": {text}")
    return visible


def _cut_as_codex(skills: dict[str, str]) -> dict[str, str]:
    """Names that fit, in order; then a character for each in turn, as long as any fits."""
    left, visible = _CODEX_TOKENS, dict[str, str]()
    for name in skills:
        if (cost := _codex_cost(name, "")) <= left:
            visible[name], left = "", left - cost
    growing = list(visible)
    while growing:
        rest: list[str] = []
        for name in growing:
            whole = skills[name][:_CODEX_LONGEST]
            longer = whole[: len(visible[name]) + 1]
            more = _codex_cost(name, longer) - _codex_cost(name, visible[name])
            if longer != visible[name] and more <= left:
                visible[name], left = longer, left - more
                rest.append(name)
        growing = rest
    return visible


def _codex_line(name: str, text: str) -> str:
    return f"- {name}: {text}{' ' if text else ''}(file: r0/{name}/{DOCUMENT})"


def _codex_cost(name: str, text: str) -> int:
    return -(-len(f"{_codex_line(name, text)}\n".encode()) // 4)


_CUTS: Mapping[Listing, Callable[[dict[str, str]], dict[str, str]]] = {
    "claude-code": _cut_as_claude,
    "codex": _cut_as_codex,
    "whole": dict,
}


LONGEST = 1_024
"""Characters that the Agent Skills format allows."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[^a-z\s])")
_NAME = re.compile(r"^## (\S+)$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_GLUE = frozenset(
    """a an and any are as at be before by can do does for from has have how if in into is it its like no not of on or
    over so such that the their them then these this to use used user uses using via was what when where which while
    who whose why will with without you your""".split()  # noqa: SIM905 - a list of them would fill a page
)
"""Words that hold a sentence together and that no list of key words has."""
_SHORTEST = 4
"""Words of a sentence in which such a word counts: `For dough. For yeast.` is a list as well."""
_LEAST_GLUE = 0.1
"""Share of words: 97% of 343 published descriptions have at least this, a list of key words has hardly any."""
_LONGEST_RUN = 17
"""Words in a row without such a word: 70% of these descriptions have at most this. What has more may keep it."""


class Prose(NamedTuple):
    """How much of a sentence there is in a text."""

    glue: float
    run: int

    @staticmethod
    def of(text: str) -> "Prose":
        """Measure a text."""
        said = list[bool]()
        for sentence in _SENTENCE.split(text):
            words = [word.casefold() for word in _WORD.findall(sentence)]
            # The same word again joins nothing: `dough and yeast and flour` is a list.
            said += [len(words) >= _SHORTEST and one in _GLUE - set(words[:at]) for at, one in enumerate(words)]
        runs = "".join("g" if glue else "." for glue in said).split("g")
        return Prose(sum(said) / len(said) if said else 0.0, max(map(len, runs)))


class Bounds(NamedTuple):
    """What a trained description may be. It need not be more of a text than the published one is."""

    longest: int
    least_glue: float
    longest_run: int

    @staticmethod
    def beside(published: str, longest: int = LONGEST) -> "Bounds":
        """The rule for a description in the place of `published`."""
        own = Prose.of(published)
        return Bounds(longest, min(_LEAST_GLUE, own.glue), max(_LONGEST_RUN, own.run))

    def fault(self, text: str) -> str:
        """What is wrong with a description, for the optimizer to read; empty if nothing is."""
        found = Prose.of(text)
        if not text:
            return "the description is empty"
        if len(text) > self.longest:
            return f"the description has {len(text):,} characters, at most {self.longest:,} are allowed"
        if found.glue < self.least_glue:
            return f"the description is a list of key words: {found.glue:.0%} of its words join others to a sentence"
        if found.run > self.longest_run:
            return f"the description has {found.run} key words in a row: write sentences"
        return ""


class Described(NamedTuple):
    """The descriptions that are trained as one document, and what they may be."""

    bounds: Mapping[str, Bounds]
    """By the name of the skill, in the order of the document."""
    longest: int
    """Characters of all together."""

    def text(self, catalogue: Mapping[str, str]) -> str:
        """The document: below each name its description, a sentence a line, so that edits can add, replace and delete
        them."""
        lines = {name: "\n".join(_SENTENCE.split(one_line(catalogue[name]))) for name in self.bounds}
        return "\n".join(f"## {name}\n\n{text}\n" for name, text in lines.items())

    def read(self, text: str) -> dict[str, str]:
        """The descriptions of a document."""
        _, *parts = _NAME.split(text)
        return {name: one_line(part) for name, part in zip(parts[::2], parts[1::2], strict=True)}

    def fault(self, found: Mapping[str, str]) -> str:
        """What is wrong with the descriptions, for the optimizer to read; empty if nothing is."""
        if list(found) != list(self.bounds):
            return "the headings are the names of the skills: each has to stay as it is"
        for name, text in found.items():
            if wrong := self.bounds[name].fault(text):
                return f"{name}: {wrong}"
        size = sum(map(len, found.values()))
        if size > self.longest:
            return f"all descriptions have {size:,} characters, at most {self.longest:,} are allowed"
        return ""


def described(published: Mapping[str, str], longest: int = LONGEST) -> Described:
    """The rule for descriptions in the place of published ones: in at most `longest` characters each; several take no
    more together than the published ones."""
    bounds = {name: Bounds.beside(text, longest) for name, text in published.items()}
    return Described(bounds, longest if len(bounds) == 1 else sum(map(len, published.values())))
