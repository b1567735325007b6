"""A scorer for multiple choice."""

import re
from collections.abc import Iterator, Mapping
from unicodedata import normalize

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxes, expected, graded
from etude.envs.scorers.choice_words import (
    ALL_DENIED,
    ALONE,
    ALSO,
    AT_START,
    CONCLUDES,
    DENIED_BEFORE,
    DENIED_BEHIND,
    EDGES,
    FIRST_LINE,
    JOINED,
    LABELLED,
    LEFT_ASIDE,
    LETTER,
    NAMED,
    NOT_THIS,
    OPTION_DENIED_BEHIND,
    OR_BEFORE,
    OR_BEHIND,
    OR_LABEL,
    OTHERS,
    SAYS_NOTHING,
    STATED,
    SUPPOSED_BEFORE,
    SUPPOSED_BEHIND,
    SUPPOSED_TO,
    TAKEN_BACK,
    WORD,
)
from etude.envs.splits import fold, one_form
from etude.errors import DataError
from etude.records import Score, Task

_HEAD, _TAIL = 20_000, 40_000
"""Characters at the beginning and at the end of a longer answer that are looked at."""
_SHORT = 80
"""Characters of an answer in which one letter may stand among words that say nothing else."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FILLED = {start + at: letter for start in (0x1F150, 0x1F170) for at, letter in enumerate(_ALPHABET)}
"""Letters in filled circles and squares, which no Unicode form takes apart."""
_OPTION_LINE = re.compile(
    r"^[ \t]*(?:[-*+\u2022][ \t]+)?\**(?:Option )?[(\[]?([A-Za-z])\**[)\].:\u3001\uff09\uff0e\uff1a]\**[ \t]*(\S.*)$",
    re.MULTILINE,
)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)([^()]+)")

_MARKUP = re.compile(r"\\?\b(?:boxed|fbox|text|math|mbox)[a-z]*\s?\{|[{}$*`_\\\"\u201c\u201d]")
_WRAPPED = re.compile(r"<(b|i|u|em|strong|code|span|p)>([^<>]{1,200})</\1>|(?<!\w)'(\w{1,20})'(?!\w)")
_BESIDE_ASIAN = re.compile(
    r"(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])"
)
"""Chinese, Japanese and Korean have no blank between a word and a letter."""


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
    """Label to text of the options a task lists, one to a line or in a row; empty unless they begin with A, B."""
    lines = [(match[1].upper(), match[2].strip()) for match in _OPTION_LINE.finditer(text)]
    inline = [(match[1], match[2].strip()) for match in _OPTION_INLINE.finditer(text)]
    for found in (lines, inline):
        labels = "".join(label for label, _ in found)
        if len(labels) > 1 and _ALPHABET.startswith(labels):
            return dict(found)
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
    text = normalize("NFKC", one_form(text).translate(_FILLED))
    text = _MARKUP.sub("", _WRAPPED.sub(r"\2\3", text)).strip()
    return text if text.isascii() else _BESIDE_ASIAN.sub(" ", text)


class _Reading:
    """An answer that is read for its label."""

    def __init__(self, answer: str, listed: Mapping[str, str], labels: str) -> None:
        self.answer, self.text = answer, _clean(answer)
        self.listed = {label: fold(option).rstrip(".") for label, option in listed.items()}
        self.labels = labels
        self.taken_back = max((found.start() for found in TAKEN_BACK.finditer(self.text)), default=0)
        """Where it is last said that what stands before is no longer meant."""
        self.supposes = False
        """Whether a label is only supposed to be right: what else is said may follow from that."""

    def label(self) -> str | None:
        """The one that is chosen: what says most clearly that it is the answer decides, whether it can be read or
        not."""
        for ways in (
            self._alone,
            self._stated,
            self._whole_option,
            self._first_line,
            self._starts,
            self._labelled,
            self._named,
            self._option,
            self._only,
        ):
            found = set(ways())
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _alone(self) -> Iterator[str | None]:
        """Lines that are a label and nothing else, if the last one is; other ones may say that it is the answer."""
        lines = [self._label_of_line(line) for line in self.text.splitlines()]
        if lines and lines[-1] and not lines[-1]["said"]:
            yield from (match["label"].upper() for match in lines if match)

    def _label_of_line(self, line: str) -> re.Match[str] | None:
        found = ALONE.fullmatch(line) if len(line) < 40 else None
        return found if found and found["label"].upper() in self.labels else None

    def _stated(self) -> Iterator[str | None]:
        """The last sentence that says which label is right."""
        found = [match for pattern in STATED for match in pattern.finditer(self.text) if self._is_label(match)]
        said, supposed = list[re.Match[str]](), None
        for match in sorted(found, key=lambda match: match.start("label")):
            follows = supposed is not None and not SUPPOSED_TO.search(self.text, supposed, match.start())
            if follows or self._supposed(match):
                supposed = match.end()
            elif not self._denied(match) and not OTHERS.search(self._before(match)):
                said.append(match)
        self.supposes = supposed is not None
        if said:
            last = said[-1]
            joined = any(
                match["label"].upper() != last["label"].upper()
                and JOINED.fullmatch(self.text, match.end(), max(match.end(), last.start()))
                for match in said[-9:-1]
            )
            yield None if joined or ALSO.search(last[0]) else self._sure(last)

    def _whole_option(self) -> Iterator[str | None]:
        folded = fold(self.answer).rstrip(".")
        yield from (label for label, option in self.listed.items() if option == folded)

    def _first_line(self) -> Iterator[str | None]:
        """A label alone, where nothing behind it speaks for another one."""
        found = FIRST_LINE.match(self.text)
        if found is None or not self._is_label(found) or self.taken_back >= found.end():
            return
        label, end = found["label"].upper(), found.end()
        own = self.listed.get(label)
        behind = fold(self.text[end:])
        behind = behind.replace(own, "\0") if own else behind
        others = (match for match in LETTER.finditer(self.text, end) if self._is_label(match))
        options = (
            re.search(EDGES % re.escape(option), behind)
            for option in self.listed.values()
            if option and option in behind
        )
        if all(match["label"] == label or self._denied(match) for match in others) and all(
            option is None or DENIED_BEHIND.match(behind, option.end()) for option in options
        ):
            yield label

    def _starts(self) -> Iterator[str | None]:
        """Labels in front of lines of the first and the last paragraph; options that are only repeated are none."""
        paragraphs = re.split(r"\n\s*\n", self._without_list())
        for line in "\n".join(dict.fromkeys((paragraphs[0], paragraphs[-1]))).splitlines():
            found = AT_START.match(line)
            if found is None:
                continue
            label = (found["round"] or found["square"] or found["bare"]).upper()
            means_answer = found["mark"] == ":" and label == "A" and fold(line[found.end() :]) != self.listed.get("A")
            if label in self.labels and not means_answer and not self._denied_behind(label, line, found):
                back = TAKEN_BACK.search(line, found.end())
                yield None if back else self._single(label, self._behind(label, line, found))

    def _labelled(self) -> Iterator[str | None]:
        """A few words, a colon and a label: all of the answer, in any language, or a line such as `Verdict: B`."""
        alone = "\n" not in self.text.strip()
        for match in filter(self._is_label, LABELLED.finditer(self.text)):
            said = alone or CONCLUDES.search(match["words"])
            if said and not self._denied(match) and not self._option_of(match["words"]):
                yield match["label"].upper()

    def _named(self) -> Iterator[str | None]:
        """Labels behind words such as `option`, else in brackets."""
        if self.supposes:
            return
        for pattern in NAMED:
            found = [match for match in pattern.finditer(self.text) if self._is_label(match)]
            supposed = any(map(self._supposed, found))
            said = [match for match in found if not self._denied(match)]
            if said:
                yield from {None if supposed else self._sure(match) for match in said}
                return

    def _option(self) -> Iterator[str | None]:
        """Options whose text stands in the answer, outside of longer ones."""
        text = fold(self.answer)
        if self.supposes or any(found["label"] in self.labels for found in OR_LABEL.finditer(self.text)):
            return
        for label, option in sorted(self.listed.items(), key=lambda item: -len(item[1])):
            if not option or option not in text:
                continue
            words = re.compile(EDGES % re.escape(option) + (r"(?!\s\w)" if option == "no" else ""))  # but `no idea`
            if found := words.search(text):
                before = text[max(0, found.start() - 60) : found.start()]
                unsure = (
                    SUPPOSED_BEFORE.search(before)
                    or DENIED_BEFORE.search(before)
                    or DENIED_BEHIND.match(text, found.end())
                    or any(OPTION_DENIED_BEHIND.match(text, again.end()) for again in words.finditer(text))
                )
                if not NOT_THIS.search(before):
                    yield None if unsure else label
                text = words.sub("\0", text)

    def _only(self) -> Iterator[str | None]:
        """The letters of a short answer that says nothing else, as in `B it is` or `not A but B`."""
        if len(self.text) > _SHORT or self.supposes:
            return
        text = LEFT_ASIDE.sub(" ", self.text)
        found = [match for match in LETTER.finditer(text) if self._is_label(match)]
        if SAYS_NOTHING.fullmatch(LETTER.sub(" ", text)):
            yield from (match["label"] for match in found)

    def _without_list(self) -> str:
        """The text without the options, where all of them are repeated."""
        if not self.listed:
            return self.text
        left, lines = dict(self.listed), list[str]()
        for line in self.text.splitlines():
            found = _OPTION_LINE.fullmatch(line)
            if found and left.get(found[1].upper()) == fold(found[2]).rstrip("."):
                del left[found[1].upper()]
            else:
                lines.append(line)
        if not left:
            return "\n".join(lines)
        inline = {label: fold(text).rstrip(".") for label, text in read_options(self.text).items()}
        return "" if inline == self.listed else self.text

    def _is_label(self, found: re.Match[str]) -> bool:
        letter, end = found["label"], found.end("label")
        if letter.upper() not in self.labels:
            return False
        return not (found.end() == end and letter in "AaIi" and WORD.match(found.string, end))

    def _before(self, found: re.Match[str]) -> str:
        return self.text[max(0, found.start() - 60) : found.start()]

    def _behind(self, label: str, text: str, found: re.Match[str]) -> str:
        """What stands behind a label and the text of its option; that of another option is left."""
        rest, own = text[found.end() : found.end() + 300], self.listed.get(label, "")
        for marks in (" ().:]", " ().:]-\u2013\u2014"):  # a dash may belong to the text, as in `-5`
            bare = rest.lstrip(marks)
            if own and bare.casefold().startswith(own):
                return bare[len(own) :]
        return rest

    def _supposed(self, found: re.Match[str]) -> bool:
        before = self.text[max(0, found.start("label") - 160) : found.start("label")]
        return bool(SUPPOSED_BEFORE.search(before) or SUPPOSED_BEHIND.match(self.text, found.start()))

    def _denied(self, found: re.Match[str]) -> bool:
        if DENIED_BEFORE.search(self._before(found)):
            return True
        return self._denied_behind(found["label"].upper(), self.text, found)

    def _denied_behind(self, label: str, text: str, found: re.Match[str]) -> bool:
        behind = self._behind(label, text, found)
        pattern = DENIED_BEHIND if text.startswith(behind, found.end()) else OPTION_DENIED_BEHIND
        return pattern.match(behind) is not None

    def _sure(self, found: re.Match[str]) -> str | None:
        """The label of a match; None where another one is named beside it."""
        label = found["label"].upper()
        before = OR_BEFORE.search(self.text[max(0, found.start() - 40) : found.start()])
        if (
            before
            and before["label"] != label
            and (before["label"] is None or found.start("label") - found.start() < 2)
        ):
            return None
        other = self._option_of(self.text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2])
        if self.taken_back >= found.end() or other not in (None, label):
            return None
        return self._single(label, self._behind(label, self.text, found))

    def _option_of(self, said: str) -> str | None:
        """The label of the option that a text is."""
        text = fold(said).strip(" ().:-\u2013\u2014")
        return next((label for label, option in self.listed.items() if text and option == text), None)

    def _single(self, label: str, rest: str) -> str | None:
        """The label, unless another one, or the text of another option, stands behind it."""
        if self._option_of(rest.partition("\n")[0]) not in (None, label):
            return None
        found = OR_BEHIND.match(rest)
        if found is None:
            return label
        other = next((name for name in ("and", "next", "first", "beside", "maybe", "also") if found[name]), None)
        if other is None:
            return None
        apart = re.search(r"[.;(\n]", rest[: found.start(other)]) is not None  # `A, B and C are wrong` denies A, too
        if DENIED_BEHIND.match(rest, found.end(other)) or (apart and ALL_DENIED.match(rest, found.end(other))):
            return label
        return None if found[other] in set(self.labels) - {label} else label
