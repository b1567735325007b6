"""A scorer for multiple choice."""

import re
from collections.abc import Iterator, Mapping
from unicodedata import normalize

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxed, expected, graded
from etude.envs.splits import fold, one_form
from etude.errors import DataError
from etude.records import Score, Task

_HEAD, _TAIL = 50_000, 100_000
"""Characters at the beginning and at the end of a longer answer that are looked at."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OPTION_LINE = re.compile(r"^[ \t]*(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])[).:])[ \t]*(\S.*)$", re.MULTILINE)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)([^()]+)")

# How a label is named. Repetitions are bounded: an answer may be any text, and must not make its reading slow.
_MARKUP = re.compile(r"\\?\b(?:boxed|fbox|text|math|mbox)[a-z]*\s?\{|[{}$*`_\\\"\u201c\u201d]")
_LABEL = r"[(\[]?(?<![\w'\u2019])(?P<label>[A-Za-z])(?![\w'\u2019]|\.\w|-\w)[)\]]?"
_NOUN = r"(?:(?:the\s)?(?:option|choice|letter|answer)\s{0,2}[:#]?\s{0,2})?"
_SURELY = r"(?:(?:clearly|indeed|therefore|thus|definitely|most\slikely|probably|then)\s)?"
_IS = r"(?:is|would\sbe|should\sbe|must\sbe|has\sto\sbe|will\sbe)"
_ANSWER_IS = (
    r"\b(?:answer|solution|choice|option|letter)(?:\s(?:to|for|of|here)\b[^.\n:]{0,40}?)?"
    rf"(?:\s{{0,3}}(?:\b{_IS}\b|:|=>?|->|[\u2192\u21d2\u2013\u2014-])){{1,3}}\s{{0,3}}{_SURELY}{_NOUN}{_LABEL}"
)
_IS_CORRECT = (
    rf"{_LABEL}(?:\s?\([^()\n]{{1,80}}\))?\s{{1,3}}(?:seems|looks|{_IS})\s(?:(?:indeed|clearly|the|a)\s){{0,3}}"
    r"(?:correct|right|best|true|proper|answer)\b(?!\s?\?)"
)
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        _ANSWER_IS,
        rf"\b(?:choose|chose|select|pick|go(?:ing)?\swith|opt\sfor|say|guess(?:\sis)?)\s{{1,3}}{_NOUN}{_LABEL}",
        rf"\b(?:it\sis|it's|that\sis|so|thus|hence|therefore|i\sthink)[,:]?\s{_SURELY}{_NOUN}{_LABEL}(?=\W{{0,5}}$)",
        _IS_CORRECT,
    )
)
_NAMED = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (rf"\b(?:answer|option|choice|letter)\s{{0,2}}{_LABEL}", re.IGNORECASE),
        (r"\((?P<label>[A-Z])\)", 0),
    )
)
_ALONE = re.compile(r"\W*([A-Za-z])\W*")
_AT_START = re.compile(
    r"\W{0,4}?(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<bare>[A-Za-z])(?P<mark>[).:]))(?=\s|$)"
)

# What takes a label back, or adds another one.
_WORD = re.compile(
    r"[^\S\n]+(?!(?:is|because|since|as|which|with|but|for|or|and|would|fits|not|rather|instead)\b)[^\W\d_]{2,}"
)
"""Behind `A` and `I`: they are words."""
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|cannot|doubt|whether|if|unless|wrong|incorrect|false|eliminat\w*|exclud\w*|except"
    r"|rul\w+\sout|rather\sthan|instead\sof|unlike)\b|n['\u2019]t\b)(?:(?!\b(?:but|so|and)\b)[^.,;:!?\n]){0,30}\Z",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(
    r"\W{0,3}(?:(?:is|was|are|seems|looks|would\sbe|must\sbe)\s(?:\w+\s)?"
    r"(?:not|wrong|incorrect|false|impossible|unlikely|out|excluded|eliminated|too|a\strap)\b"
    r"|(?:isn|doesn|wasn|can|don)['\u2019]t\b|cannot\b|does\snot\b|fails\b)",
    re.IGNORECASE,
)
_ANOTHER = r"(?:(?i:also|option|choice|answer)\s){0,2}[(\[]?(?P<%s>[A-Z])(?![\w'\u2019])"
_MARKS = r"[\s.,;:!?)\]]{0,5}"
_OR_BEHIND = re.compile(
    rf"""(?:
        {_MARKS}(?P<or>\b(?i:or|oder|too|as\swell)\b)
        |{_MARKS}(?:\b(?i:and|und|also|as\swell\sas|vs\.?|versus)\b|[/&|+~-])[\s,(]{{0,4}}{_ANOTHER % "and"}
        |[,;.|\s)(]{{1,4}}[(\[]?(?P<next>[A-Z])[)\]]?(?=\s*(?:$|[,;.|/&!?]))
        |[,;|\s)(]{{1,4}}[(\[]?(?P<first>[A-Z])[)\]]?(?=\s*(?:or|and)\b)
        |[^\n]{{0,80}}?\b(?i:(?:could|might|may|can)(?:\salso)?\sbe|maybe|perhaps|possibly|so\sis)\s
            {_ANOTHER % "maybe"}
    )""",
    re.VERBOSE,
)
_OR_BEFORE = re.compile(
    r"(?:(?<![\w'])(?P<label>[A-Z])[)\]]?\W{0,3}(?:and|und|nor|[,/&])|\b(?:or|oder|either))\W{0,3}(?:option\s|the\s)?\Z"
)
_OR_LABEL = re.compile(r"(?:\b(?:or|and)\s|/)[(\[]?(?P<label>[A-Z])(?![\w'\u2019])")


class ChoiceOptions(Section):
    """Settings of the choice scorer."""

    labels: str = ""
    """The letters to choose from, as in `ABCD`; those listed in the task's input when empty, else A to Z."""


class Choice(AnswerScorer[ChoiceOptions]):
    r"""1 when the answer names the gold label, else 0.

    Understood are a label alone (`B`, `(B)`, `B.`, `**B**`, also as the last line), in `\boxed{}`, in a sentence such
    as `Answer: B`, `the correct option is B` or `B is correct` (the last one counts), at the start of the first or
    last paragraph, as the only `option B` or `(B)`, and the text of a listed option. An answer that could mean two
    (`A or B`, `A/B`), takes its label back (`not B`) or only repeats the options chooses none.
    """

    name = "choice"
    options_type = ChoiceOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when the gold is neither a label nor the text of an option."""
        listed = read_options(task.input)
        labels = self.options.labels.upper() or "".join(listed) or _ALPHABET
        golds: list[str] = []
        for gold in accepted(task):
            label = read_label(gold, listed, labels)
            if label is None:
                raise DataError(
                    f"task {task.id!r}: gold {gold[:80]!r} is neither a label out of {labels} nor a listed option",
                    hint="write the label, as in 'B'",
                )
            golds.append(label)
        got = read_label(answer, listed, labels)
        right = got in golds
        shown = [f"({label}) {listed.get(label, '')}".strip() for label in golds]
        if got is None:
            return graded(False, 0.0, expected(shown, answer, "no choice could be read from the answer"))
        return graded(right, float(right), expected(shown, f"({got}) {listed.get(got, '')}".strip()))


def read_options(text: str) -> dict[str, str]:
    """Label to text of the options a task lists, one to a line or in a row; empty unless they begin with A, B."""
    lines = [(match[1] or match[2] or match[3], match[4].strip()) for match in _OPTION_LINE.finditer(text)]
    inline = [(match[1], match[2].strip()) for match in _OPTION_INLINE.finditer(text)]
    for found in (lines, inline):
        labels = "".join(label for label, _ in found)
        if len(labels) > 1 and _ALPHABET.startswith(labels):
            return dict(found)
    return {}


def read_label(answer: str, listed: Mapping[str, str], labels: str) -> str | None:
    """The label an answer chooses, in upper case; None when none or more than one could be meant."""
    inside = boxed(answer)
    label = _Reading(inside, listed, labels).label() if inside else None
    if label is not None or any(found["label"] in labels for found in re.finditer(_LABEL, _clean(inside))):
        return label
    return _Reading(answer, listed, labels).label()


def _clean(text: str) -> str:
    return _MARKUP.sub("", normalize("NFKC", one_form(text))).strip()


class _Reading:
    """An answer that is read for its label."""

    def __init__(self, answer: str, listed: Mapping[str, str], labels: str) -> None:
        if len(answer) > _HEAD + _TAIL:
            answer = f"{answer[:_HEAD]}\n\n{answer[-_TAIL:]}"
        self.answer, self.text = answer, _clean(answer)
        self.listed = {label: fold(option).rstrip(".") for label, option in listed.items()}
        self.labels = labels

    def label(self) -> str | None:
        """The one that is chosen: what says most clearly that it is the answer decides, whether it can be read or
        not."""
        for ways in (self._alone, self._stated, self._whole_option, self._starts, self._named, self._option):
            found = set(ways())
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _alone(self) -> Iterator[str | None]:
        """Lines that are a label and nothing else, if the last one is."""
        lines = self.text.splitlines()[::-1]
        if lines and self._label_of_line(lines[0]):
            yield from filter(None, map(self._label_of_line, lines))

    def _label_of_line(self, line: str) -> str:
        found = _ALONE.fullmatch(line) if len(line) < 40 else None
        return found[1].upper() if found is not None and found[1].upper() in self.labels else ""

    def _stated(self) -> Iterator[str | None]:
        """The last sentence that says which label is right."""
        found = [match for pattern in _STATED for match in pattern.finditer(self.text) if self._names(match)]
        if found:
            last = max(found, key=lambda match: match.start("label"))
            yield self._sure(last)

    def _whole_option(self) -> Iterator[str | None]:
        folded = fold(self.answer).rstrip(".")
        yield from (label for label, option in self.listed.items() if option == folded)

    def _starts(self) -> Iterator[str | None]:
        """Labels in front of lines of the first and the last paragraph; options that are only repeated are none."""
        paragraphs = re.split(r"\n\s*\n", self._without_list())
        for line in "\n".join(dict.fromkeys((paragraphs[0], paragraphs[-1]))).splitlines():
            found = _AT_START.match(line)
            if found is None:
                continue
            label = (found["round"] or found["square"] or found["bare"]).upper()
            means_answer = found["mark"] == ":" and label == "A" and fold(line[found.end() :]) != self.listed.get("A")
            if label in self.labels and not means_answer and not _DENIED_BEHIND.match(line, found.end()):
                yield self._single(label, line, found.end())

    def _named(self) -> Iterator[str | None]:
        """Labels behind words such as `option`, else in brackets."""
        for pattern in _NAMED:
            found = [match for match in pattern.finditer(self.text) if self._names(match)]
            if found:
                yield from {self._sure(match) for match in found}
                return

    def _option(self) -> Iterator[str | None]:
        """Options whose text stands in the answer, outside of longer ones."""
        text = fold(self.answer)
        if any(found["label"] in self.labels for found in _OR_LABEL.finditer(self.text)):
            return
        for label, option in sorted(self.listed.items(), key=lambda item: -len(item[1])):
            words = re.compile(rf"(?<!\w){re.escape(option)}(?!\w)")
            if option and (found := words.search(text)):
                denied = _DENIED_BEFORE.search(text[max(0, found.start() - 60) : found.start()])
                yield None if denied else label
                text = words.sub("\0", text)

    def _without_list(self) -> str:
        """The text without the options, where all of them are repeated."""
        if not self.listed:
            return self.text
        left, lines = dict(self.listed), list[str]()
        for line in self.text.splitlines():
            found = _OPTION_LINE.fullmatch(line)
            label = (found[1] or found[2] or found[3]) if found else ""
            if found and left.get(label) == fold(found[4]).rstrip("."):
                del left[label]
            else:
                lines.append(line)
        if not left:
            return "\n".join(lines)
        inline = {label: fold(text).rstrip(".") for label, text in read_options(self.text).items()}
        return "" if inline == self.listed else self.text

    def _names(self, found: re.Match[str]) -> bool:
        """Whether a letter is a label, and not denied."""
        letter, end = found["label"], found.end("label")
        if letter.upper() not in self.labels:
            return False
        if found.end() == end and letter in "AaIi" and _WORD.match(self.text, end):
            return False
        before = self.text[max(0, found.start() - 60) : found.start()]
        return not _DENIED_BEFORE.search(before) and not _DENIED_BEHIND.match(self.text, found.end())

    def _sure(self, found: re.Match[str]) -> str | None:
        """The label of a match; None where another one is named beside it."""
        label = found["label"].upper()
        before = _OR_BEFORE.search(self.text[max(0, found.start() - 40) : found.start()])
        if (
            before
            and before["label"] != label
            and (before["label"] is None or found.start("label") - found.start() < 2)
        ):
            return None
        return self._single(label, self.text, found.end())

    def _single(self, label: str, text: str, end: int) -> str | None:
        """The label, unless another one, or the text of another option, stands behind it."""
        rest = text[end : end + 300]
        own = self.listed.get(label, "")
        said = fold(rest.partition("\n")[0]).strip(" ).:-\u2013\u2014")
        if said and said != own and said in self.listed.values():
            return None
        if own and rest.lstrip(" ).:]-").casefold().startswith(own):
            rest = rest.lstrip(" ).:]-")[len(own) :]
        found = _OR_BEHIND.match(rest)
        if found is None or _DENIED_BEHIND.match(rest, found.end()):
            return label
        others = {found[name] for name in ("and", "next", "first", "maybe")} & set(self.labels) - {label}
        return None if found["or"] or others else label
