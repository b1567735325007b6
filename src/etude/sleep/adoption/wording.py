"""What a rule says, whatever the marks and small words around it: whether another text says the same, or the
opposite."""

import re
from collections.abc import Iterable
from itertools import zip_longest

from etude.envs.splits import fold
from etude.skill.anchors import LIST_MARK
from etude.sleep.adoption.rules import pieces

Wording = tuple[str, ...]
"""The words that count, in their order."""

_WORD = re.compile(r"[^\W_](?:[\w']*[^\W_])?")
_MARK = re.compile(rf"(?:{LIST_MARK.pattern}|[ \t]*•[ \t]+)(?:\[[ xX]\][ \t]+)?")
_TARGET = re.compile(r"\]\([^()\s]*\)")
_IDLE = frozenset(("please", "always", "a", "an", "the", "you", "we", "must", "should", "ever"))
"""Words that may be there or not."""
_PHRASE = re.compile(
    r"\b(?:from now on|in (?:the )?future|(?:make|be) sure (?:to|that you|you)|remember to"
    r"|(?:you|we) (?:have|need) to|(?:i|we) (?:want|need) you to)\b"
)
"""The same of several words."""
_CONTRACTED = (("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("n't", " not"))
_NOT_ALWAYS = re.compile(r"\b(?:do )?not (?:always|necessarily|every|all)\b")
_NOT = re.compile(r"\b(?:do )?not\b")
_NEGATIONS = frozenset(("never", "no"))
_ALL = frozenset(("every", "each", "all", "any"))
"""What stands in the place of a `no`."""
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE)
_RULED = re.compile(r"[\s|:-]*-[\s|:-]*")
"""What stands between the head of a table and its rows."""
_TAKEN_OUT = re.compile(r"^[ \t]*<!--.*?-->|~~[^~\n]+~~", re.DOTALL | re.MULTILINE)
"""What is commented out, or struck through."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])\s*")
_LABEL = re.compile(r"[*_]{0,2}[^\W\d_][^.!?;:|`*]{0,40}(?::[*_]{0,2}|[*_]{1,2}:)\s+(?=\S)")
"""What a statement is about: `Package manager: use pnpm`."""
_LIMITS = re.compile(
    r"^\W*(?:in|inside|for|on|at|with|without|when|whenever|while|if|unless|until|before|after|during|only|under|where"
    r"|by|from|as|except|histor(?:y|ical))\b"
    r"|\b(?:don['’]?ts?|do not|not|never|no|avoid|bad|wrong|incorrect|forbidden|banned|prohibited|anti.?patterns?"
    r"|instead|deprecated|obsolete|old|former(?:ly)?|previous(?:ly)?|rejected|example|examples|e\.g|questions?|todo|optional"
    r"|exceptions?|mistakes?|outdated|proposals?|ideas?|drafts?|alternatives?"
    r"|legacy|(?:it|we|they|things) (?:was|were|did)|used to|until|archived|superseded|retired|change ?log"
    r"|according to"
    r"|(?<!\bwe )(?<!\bi )(?:said|says|wrote|writes|told|suggest(?:s|ed)|claim(?:s|ed)|argued?|thinks))\b",
    re.IGNORECASE,
)
"""A label that does not only name a subject."""


def bare(text: str) -> str:
    """A rule without the mark of its list item, which is a mark only with a blank behind it."""
    text = text.strip()
    mark = _MARK.match(text)
    return text[mark.end() :].lstrip() if mark else text


def wording(text: str) -> Wording:
    """The words of a text that count."""
    plain = _TARGET.sub(" ", fold(bare(text))).replace("’", "'")
    for short, whole in _CONTRACTED:
        plain = plain.replace(short, whole)
    plain = _NOT.sub("never", _NOT_ALWAYS.sub("seldom", _PHRASE.sub(" ", plain)))
    return tuple(word for word in _WORD.findall(plain) if word not in _IDLE)


def same(one: str, other: str) -> bool:
    """Whether two rules say the same, words apart that change nothing. The order of words counts: tabs instead of
    spaces is not spaces instead of tabs."""
    return wording(one) == wording(other)


def contrary(one: str, other: str) -> bool:
    """Whether two rules differ only in that one of them says no."""
    left, right = ([word for word in wording(text) if word not in _NEGATIONS | _ALL] for text in (one, other))
    negated = [bool(_NEGATIONS & set(wording(text))) for text in (one, other)]
    return bool(left) and left == right and negated[0] != negated[1]


def statements(document: str) -> list[str]:
    """What a document says: each rule or paragraph, each line and sentence of it, also without the label in front. A
    label that limits, denies or only reports what follows is part of it, and so is such a heading, the head of such a
    column, or a line above a list. Code and questions say nothing."""
    found: dict[str, None] = {}
    headings: dict[int, str] = {}
    """By level, what the headings limit that stand above."""
    above = ""
    for text, _ in pieces(_TAKEN_OUT.sub("", document)):
        above = above if LIST_MARK.match(text) else ""
        lines = _lines(_CODE.sub("", text))
        if not lines:
            continue
        whole, prose = " ".join(map(bare, text.splitlines())), " ".join(lines)
        first, *more = _SENTENCE.split(prose)
        inner = _limit(lines[0]) or _label(lines[0], limits=True)
        parts = (prose, lines[0], first, *(inner + line for line in (*lines[1:], *more)))
        said = (one for part in parts for one in (part, part.removeprefix(_label(part, limits=False))))
        before = "".join(headings.values()) + above
        found |= dict.fromkeys(before + one for one in (whole, *said) if not one.endswith("?"))
        if level := len(text.lstrip()) - len(text.lstrip().lstrip("#")):
            headings = {each: said for each, said in headings.items() if each < level}
            headings[level] = _limit(f"{whole.strip('# ')}:")
        elif whole.endswith(":"):
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
