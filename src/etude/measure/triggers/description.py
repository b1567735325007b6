"""Descriptions as a document that can be trained: a sentence a line, prose, of a limited length."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from etude.measure.triggers.catalogue import one_line

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
