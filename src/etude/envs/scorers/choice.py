"""A scorer for multiple choice."""

import re
from collections import Counter
from collections.abc import Mapping
from unicodedata import normalize

from etude.config import Section
from etude.envs.scorers import choice_words as words
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxes, expected, graded
from etude.envs.splits import fold, one_form
from etude.errors import DataError
from etude.records import Score, Task

_HEAD, _TAIL = 20_000, 40_000
"""Characters at the beginning and at the end of a longer answer that are looked at."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FILLED = {start + at: letter for start in (0x1F150, 0x1F170) for at, letter in enumerate(_ALPHABET)}
"""Letters in filled circles and squares, which no Unicode form takes apart."""
_OPTION_LINE = re.compile(
    r"^[ \t]*(?:[-*+\u2022][ \t]+)?\**(?:Option )?[(\[]?([A-Za-z])\**[)\].:\u3001\uff09\uff0e\uff1a]\**[ \t]*(\S.*)$",
    re.MULTILINE,
)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)((?:(?!\n\s{0,9}[A-Za-z][).:])[^()])+)")

_MARKUP = re.compile(
    r"\\?\b(?:boxed|fbox|text|math|mbox)[a-z]*\s?\{|\*(?!\s?\d)|(?<![\d\s])\*|[{}$`_\\\"\u201c\u201d]"
)
_WRAPPED = re.compile(r"<(b|i|u|em|strong|code|span|p)>([^<>]{1,200})</\1>|(?<!\w)'(\w{1,20})'(?!\w)")
_BOLD = re.compile(r"(\*\*|__)([^*_\n]{0,60}[:\s]|)([AI])\1(?= [A-Z])")
"""A label that would be a word without its marks, as in `**Answer: A** The others are wrong`."""
_ASIAN = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
_BESIDE_ASIAN = re.compile(rf"(?<={_ASIAN})(?=[A-Za-z])|(?<=[A-Za-z])(?={_ASIAN})")
"""Chinese, Japanese and Korean have no blank between a word and a letter."""
_BEHIND = re.compile(r"\s?\([^()\n]*\)|[^\n]{0,300}")
"""What stands behind a label: a text in brackets or the rest of the line."""


class ChoiceOptions(Section):
    """Settings of the choice scorer."""

    labels: str = ""
    """The letters to choose from, as in `ABCD`; those listed in the task's input when empty, else A to Z."""


class Choice(AnswerScorer[ChoiceOptions]):
    r"""1 when the answer names the gold label, else 0.

    Understood are a label alone (`B`, `(B)`, `B.`, `**B**`, also as the first or last line), in `\boxed{}`, in a
    sentence such as `Answer: B`, `the correct option is B` or `B is correct` (the last one counts), at the start of
    the first or last paragraph, as the only `option B` or `(B)`, and the text of a listed option. An answer that
    could mean two (`A or B`, `A/B`), takes its label back (`not B`), supposes it (`if B is correct`) or only
    repeats the options chooses none.
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
    """Label to text of the options a task lists, one to a line or in a row: the last ones that begin with A, B. Other
    lines may begin with a letter, too, as `Q:`, `I.` and `E. coli` do."""
    for pattern in (_OPTION_LINE, _OPTION_INLINE):
        lists = [dict[str, str]()]
        for match in pattern.finditer(text):
            label = match[1].upper()
            if label == "A":
                lists.append({})
            if label == _ALPHABET[len(lists[-1]) :][:1]:
                lists[-1][label] = match[2].strip()
        found = [each for each in lists if len(each) > 1]
        if found:
            return found[-1]
    return {}


def read_label(answer: str, listed: Mapping[str, str], labels: str) -> str | None:
    """The label an answer chooses, in upper case; None when none or more than one could be meant."""
    if len(answer) > _HEAD + _TAIL:
        answer = f"{answer[:_HEAD]}\n\n{answer[-_TAIL:]}"
    parts, end = list[str](), 0
    for start, after, inside in reversed([*boxes(answer)]):
        chosen = _Reading(inside, listed, labels).label()
        parts += answer[end:start], f" answer: ({chosen}) " if chosen else f" answer: {inside} "
        end = after
    return _Reading("".join((*parts, answer[end:])), listed, labels).label()


def _clean(text: str) -> str:
    text = normalize("NFKC", one_form(text).translate(_FILLED)).replace("}{", "} {")
    text = _MARKUP.sub("", _WRAPPED.sub(r"\2\3", _BOLD.sub(r"\2(\3)", text))).strip()
    return text if text.isascii() else _BESIDE_ASIAN.sub(" ", text)


class _Reading:
    """An answer that is read for its label."""

    def __init__(self, answer: str, listed: Mapping[str, str], labels: str) -> None:
        self.labels = labels
        self.options = {label: fold(option).rstrip(".") for label, option in listed.items()}
        cleaned = {label: fold(_clean(option)).rstrip(".") for label, option in listed.items()}
        alike = Counter(cleaned.values())
        self.listed = {label: option for label, option in cleaned.items() if option and alike[option] == 1}
        """Those that are told apart without markup, as they stand in `text`."""
        self.answer = self._without_list(answer)
        self.supposes = False
        """Whether a label is only supposed to be right: what else is said may follow from that."""
        self._read(_clean(self.answer))

    def _read(self, text: str) -> None:
        self.text = text
        self.taken_back = max((found.start() for found in words.TAKEN_BACK.finditer(text)), default=0)
        """Where it is last said that what stands before is no longer meant."""

    def label(self) -> str | None:
        """The one that is chosen, by a label or else by the text of an option: what says most clearly that it is the
        answer decides, whether it can be read or not."""
        plain, labelled = self.text, self._with_labels(self.text) if self.listed else ""
        found = self._stated() or self._whole_option() or self._first_line()
        if not found and self.listed:
            self._read(labelled)
            found = self._stated(firmly=True)
            self._read(plain)
        found = found or self._starts() or self._named()
        if not found and self.listed:
            self._read(labelled)
            found = self._named()
        return found.pop() if len(found) == 1 else None

    def _stated(self, *, firmly: bool = False) -> set[str | None]:
        """The last sentence that says which label is right; `firmly`: of this question."""
        every = self._said(*words.STATED)
        said = [match for match in every if not words.FOR_ANOTHER.match(self.text, match.start("label"))]
        said = said if said or firmly else every
        true = [match for match in said if match.groupdict().get("true")]
        if len({match["label"].upper() for match in true}) > 1 or any(map(self._joined, true)):
            said = [match for match in said if match not in true] or said  # what is not true may be asked for
        last = said[-1:]
        joined = any(
            match["label"].upper() != last[0]["label"].upper()
            and words.JOINED.fullmatch(self.text, match.end(), max(match.end(), last[0].start()))
            for match in said[-9:-1]
        )
        return {None if joined or words.ALSO_SAID.search(match[0]) else self._sure(match) for match in last}

    def _whole_option(self) -> set[str | None]:
        folded = fold(self.answer).rstrip(".")
        return {label for label, option in self.options.items() if option == folded}

    def _first_line(self) -> set[str | None]:
        """A label alone, where nothing behind it speaks for another one."""
        for found in self._labels(words.FIRST_LINE):
            label, end = found["label"].upper(), found.end()
            rest = _Reading(self._with_labels(self.text[end:]), {}, self.labels)
            others = {
                match["label"]
                for match in rest._labels(words.LETTER)
                if not rest._denied(match) and not words.DESCRIBED.match(rest.text, match.end())
            }
            if self.taken_back < end and others <= {label}:
                return {label}
        return set()

    def _starts(self) -> set[str | None]:
        """Labels in front of lines of the first and the last paragraph."""
        breaks = [found.start() for found in re.finditer(r"\n\s*\n", self.text)] or [0]
        found = set[str | None]()
        for match in self._labels(words.AT_START):
            inner = breaks[0] < match.start("label") < breaks[-1]
            means_answer = match["mark"] == ":" and match["label"] in "Aa" and self._end(match) == match.end()
            if not inner and not means_answer and not self._denied(match):
                found.add(self._sure(match))
        return found

    def _named(self) -> set[str | None]:
        """Labels behind words such as `option`, else in brackets."""
        said = [] if self.supposes else self._said(words.NAMED) or self._said(words.IN_BRACKETS)
        return {self._sure(match) for match in said}

    def _said(self, *patterns: re.Pattern[str]) -> list[re.Match[str]]:
        """Where it is said which label is right: not denied then or later, nor the choice of others, nor
        only supposed."""
        said, supposed = list[re.Match[str]](), None
        found = [match for pattern in patterns for match in self._labels(pattern)]
        for match in sorted(found, key=lambda match: match.start("label")):
            follows = supposed is not None and not words.SUPPOSED_TO.search(self.text, supposed, match.start())
            if follows or self._supposed(match):
                supposed = match.end()
            elif self._denied(match):
                said = [one for one in said if one["label"] != match["label"]]
            elif not words.OTHERS.search(self._before(match)):
                said.append(match)
        self.supposes |= supposed is not None
        return said

    def _without_list(self, answer: str) -> str:
        """An answer without the options, where all of them are repeated."""
        for pattern in (_OPTION_LINE, _OPTION_INLINE):
            found = {
                label: match
                for match in reversed([*pattern.finditer(answer)])
                if self.options.get(label := match[1].upper()) == fold(match[2]).rstrip(".")
            }
            if found.keys() == self.options.keys():
                for match in sorted(found.values(), key=lambda match: match.start(), reverse=True):
                    answer = answer[: match.start()] + answer[match.end() :]
        return answer

    def _with_labels(self, text: str) -> str:
        """A text with labels in place of the texts of options."""
        folded = fold(text)
        labels = {option: f"({label})" for label, option in self.listed.items() if option in folded}
        options = sorted(map(re.escape, labels), key=len, reverse=True)
        pattern = words.EDGES % "|".join(options).replace("\\ ", r"\s+")
        return re.sub(pattern, lambda found: labels.get(fold(found[0]), found[0]), text, flags=re.IGNORECASE)

    def _labels(self, pattern: re.Pattern[str], start: int = 0, end: int | None = None) -> list[re.Match[str]]:
        found = pattern.finditer(self.text, start, len(self.text) if end is None else end)
        return [match for match in found if self._is_label(match)]

    def _is_label(self, found: re.Match[str]) -> bool:
        letter, end = found["label"], found.end("label")
        if letter.upper() not in self.labels or self._begins_option(found):
            return False
        return not (found.end() == end and letter in "AaIi" and words.WORD.match(found.string, end))

    def _begins_option(self, found: re.Match[str]) -> bool:
        """Whether a letter is the first one of the text of an option, as in `C++`."""
        start = found.start("label")
        texts = [option for option in self.listed.values() if len(option) > 1 and not option[1].isspace()]
        return any(found.string[start : start + len(option)].casefold() == option for option in texts)

    def _before(self, found: re.Match[str]) -> str:
        return self.text[max(0, found.start() - 60) : found.start()]

    def _end(self, found: re.Match[str]) -> int:
        """Where a label ends, with the text of its option."""
        rest, own = self.text[found.end() : found.end() + 300], self.listed.get(found["label"].upper(), "")
        for marks in (" ().:]", " ().:]-\u2013\u2014"):  # a dash may belong to the text, as in `-5`
            bare = rest.lstrip(marks)
            if own and bare.casefold().startswith(own):
                return found.end() + len(rest) - len(bare) + len(own)
        return found.end()

    def _supposed(self, found: re.Match[str]) -> bool:
        before = self.text[max(0, found.start("label") - 160) : found.start("label")]
        return bool(words.SUPPOSED_BEFORE.search(before) or words.SUPPOSED_BEHIND.match(self.text, found.start()))

    def _denied(self, found: re.Match[str]) -> bool:
        end, before = self._end(found), words.SURELY.sub("", self._before(found))
        behind = words.DENIED_BEHIND if end == found.end() else words.OPTION_DENIED_BEHIND
        denies = words.SENTENCE_DENIED if found.groupdict().get("answer") else words.DENIED_BEFORE
        return bool(denies.search(before) or behind.match(self.text, end))

    def _option_of(self, said: str) -> str | None:
        """The label of the option that a text is."""
        text = fold(said).strip(" ().,;:-\u2013\u2014")
        return next((label for label, option in self.listed.items() if text and option == text), None)

    def _sure(self, found: re.Match[str]) -> str | None:
        """The label of a match; None where another one, or the text of another option, stands beside it."""
        label = found["label"].upper()
        line = self.text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]
        behind = _BEHIND.match(self.text, self._end(found))
        texts = (line, *line.split(":"), *re.split("[:()]", found[0]), behind[0] if behind else "")
        if self.taken_back >= found.end() or not {None, label}.issuperset(map(self._option_of, texts)):
            return None
        return None if self._joined(found) or self._beside(found) else label

    def _joined(self, found: re.Match[str]) -> bool:
        """Whether another label stands before a match as if it could be meant as well."""
        if words.OR_BEFORE.search(self._before(found)):
            return True
        letters = self._labels(words.LETTER, max(0, found.start() - 60), found.start("label"))
        if not letters or letters[-1]["label"] == found["label"] or self._denied(letters[-1]):
            return False
        between = self.text[letters[-1].end() : found.start("label")]
        if re.search(r"[.:!?]", between):
            return False
        beside = self._beside(letters[-1])
        return not re.search(r"\w", between) or (beside is not None and beside.start("label") == found.start("label"))

    def _beside(self, found: re.Match[str]) -> re.Match[str] | None:
        """How another label, or only `or`, stands behind one as if it could be meant as well."""
        beside = words.BESIDE.match(self.text, self._end(found))
        if beside is None or beside["or"] or beside["label"] is None:
            return beside
        denied = words.DENIED_BEHIND.match(self.text, beside.end())
        return None if denied or beside["label"] not in set(self.labels) - {found["label"].upper()} else beside
