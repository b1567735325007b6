"""What stands in documents already: their rules, line by line, and what says the same or the opposite of one."""

import re
from collections.abc import Iterable
from itertools import zip_longest

from etude.envs.splits import fold
from etude.envs.wording import bare, contrary, wording
from etude.skill.anchors import LIST_MARK
from etude.sleep.adoption.rules import pieces

_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|^[ \t]*(?:\$|>>>) .*", re.MULTILINE)
_FOLDED = re.compile(r"^[ \t]*(?:<details\b[^>]*>\s*)?<summary>(.*?)</summary>[ \t]*$|</details>", re.MULTILINE)
"""The heading of lines that a page folds away, and their end: a heading below all others."""
_RULED = re.compile(r"[\s|:-]*-[\s|:-]*")
"""What stands between the head of a table and its rows."""
_TAKEN_OUT = re.compile(
    r"^[ \t]*<!--.*?-->|~~[^~\n]+~~|^[ \t]*<(\w*example\w*)\b[^>]*>.*?</\1>", re.DOTALL | re.MULTILINE
)
"""What is commented out, struck through, or an example."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])\s*")
_LABEL = re.compile(r"[*_]{0,2}[^\W\d_][^.!?;:|`*]{0,40}(?::[*_]{0,2}|[*_]{1,2}:)\s+(?=\S)")
"""What a statement is about: `Package manager: use pnpm`."""
_LIMITS = re.compile(
    r"^\W*(?:in|inside|for|on|at|with|without|when|whenever|while|if|unless|until|before|after|during|only|under|where"
    r"|by|from|as|except|histor(?:y|ical)|archive)\b"
    r"|\b(?:don['’]?ts?|do not|not|never|no|avoid|bad|wrong|incorrect|forbidden|banned|prohibited|anti.?patterns?"
    r"|instead|deprecated|obsolete|old|former(?:ly)?|previous(?:ly)?|rejected|example|examples|e\.g|questions?|todo|optional"
    r"|exceptions?|mistakes?|outdated|proposals?|ideas?|drafts?|alternatives?|maybe|perhaps|only"
    r"|removed|earlier|v\d+|quotes?|feedback|other (?:projects?|repos\w*|teams?|apps?|people|languages?)"
    r"|legacy|(?:it|we|they|things) (?:was|were|did)|used to|until|archived|superseded|retired|change ?log"
    r"|according to"
    r"|(?<!\bwe )(?<!\bi )(?:said|says|wrote|writes|told|suggest(?:s|ed)|claim(?:s|ed)|argued?|thinks))\b",
    re.IGNORECASE,
)
"""A label that does not only name a subject."""


def statements(document: str) -> list[str]:
    """What a document says: each rule or paragraph, each line and sentence of it, also without the label in front. A
    label that limits, denies or only reports what follows is part of it, and so is such a heading, the head of such a
    column, or a line above a list. Code and questions say nothing."""
    found: dict[str, None] = {}
    headings: dict[int, str] = {}
    """By level, what the headings limit that stand above."""
    above, follows = "", False
    for text, _ in pieces(_FOLDED.sub(r"\n\n####### \1\n\n", _TAKEN_OUT.sub("", document))):
        above = above if follows or LIST_MARK.match(text) else ""
        lines = _lines(_CODE.sub("", text))
        if not lines:
            continue
        whole, prose = " ".join(map(bare, text.splitlines())), " ".join(lines)
        first, *more = _SENTENCE.split(prose)
        inner = _limit(lines[0]) or _label(lines[0], limits=True)
        parts = (prose, lines[0], first, *(inner + line for line in (*lines[1:], *more)))
        said = (one for part in parts for one in (part, part.removeprefix(_label(part, limits=False))))
        before = "".join(headings.values()) + above
        found |= dict.fromkeys(before + one for one in (whole, *said) if one.strip("#") and not one.endswith("?"))
        if level := len(text.lstrip()) - len(text.lstrip().lstrip("#")):
            headings = {each: said for each, said in headings.items() if each < level}
            headings[level] = _limit(f"{whole.strip('# ')}:")
        if follows := not level and whole.endswith(":"):
            above = _limit(whole)
    return list(found)


def _lines(text: str) -> list[str]:
    """Lines, and cells of a table, without their marks; none of code."""
    if not text.strip() or (text.startswith(("    ", "\t")) and not LIST_MARK.match(text)):
        return []
    rows = [line.strip("| ").split("|") if "|" in line else [line] for line in text.splitlines()]
    ruled = len(rows) > 1 and _RULED.fullmatch("|".join(rows[1]))
    heads = [_limit(f"{head}:") for head in rows[0]] if ruled else []
    below = (head + bare(cell) for row in rows[1:] for head, cell in zip_longest(heads, row, fillvalue=""))
    return [line for line in (*map(bare, rows[0]), *below) if line]


def _limit(line: str) -> str:
    """A line that ends with a colon, as a label, where it limits or denies what stands below."""
    label = line.strip("*_: ")
    return f"{label}: " if line.rstrip("*_").endswith(":") and _LIMITS.search(label) else ""


def _label(part: str, *, limits: bool) -> str:
    """The label in front of a statement that limits it, or that only names a subject; empty where there is none."""
    label = _LABEL.match(part)
    return label[0] if label and limits == bool(_LIMITS.search(label[0])) else ""


class KnownWords:
    """What stands in documents already."""

    def __init__(self, documents: Iterable[str]) -> None:
        self.lines = list(dict.fromkeys(line for text in documents for line in statements(text)))
        self._said = {wording(line) for line in self.lines}

    def says(self, rule: str) -> bool:
        """Whether all that a rule says stands there."""
        whole = " ".join(map(bare, rule.splitlines()))
        return wording(whole) in self._said or all(wording(part) in self._said for part in _SENTENCE.split(whole))

    def against(self, rule: str) -> str:
        """A line that says the opposite of a rule; empty where there is none."""
        return next((line for line in self.lines if contrary(line, rule)), "")

    def line(self, quoted: str) -> str:
        """The line that a model quotes, as it stands there; empty where it does not."""
        wanted = fold(bare(quoted))
        return next((line for line in self.lines if wanted and wanted in fold(line)), "")
