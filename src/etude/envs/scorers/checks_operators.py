"""The operators of checks: what each of them looks at, and when it passes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from pydantic import Field, JsonValue, StrictBool, model_validator

from etude.envs.scorers.answer_scorer import MISSING
from etude.envs.scorers.checks_text import citations, parts, refuses, title
from etude.envs.splits import forms, one_form
from etude.records import Record
from etude.timed_regex import Matcher

Op = Literal[
    "section_present",
    "section_contains",
    "regex",
    "not_regex",
    "contains",
    "not_contains",
    "max_chars",
    "min_chars",
    "no_refusal",
    "tool_called",
    "tool_not_called",
    "min_citations",
]
Takes = Literal["a heading", "a text", "a pattern", "a number", "the name of a tool", "nothing"]

LONGEST_ARG = 1_000
"""Characters of an argument."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_EXPECTED: Mapping[Takes, str] = {
    "a heading": f"the words of one heading, at most {LONGEST_ARG:,} characters",
    "a text": f"a text of at most {LONGEST_ARG:,} characters",
    "a pattern": f"a pattern of at most {LONGEST_ARG:,} characters",
    "a number": "a whole number from 1 on",
    "the name of a tool": "a name of 1 to 64 letters, digits, '_', '.' and '-'",
    "nothing": "no 'arg'",
}


class Check(Record):
    """One thing that is required of an attempt. What each operator means: docs/scorers.md#checks."""

    op: Op
    arg: JsonValue = None
    """What the operator looks for; a text or a whole number from 1 on, as the operator takes it."""
    ignore_case: StrictBool | None = None
    """Whether upper and lower case are the same; None is the default of the operator."""
    multiline: StrictBool | None = None
    """Whether `^` and `$` of a pattern match at every line; None: they do not."""
    requirement: str = Field(default="", max_length=300)
    """What is required, in words; the optimizer reads it when the check fails."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        operator = OPERATORS[self.op]
        for name in ("ignore_case", "multiline"):
            if getattr(self, name) is not None and getattr(operator, name) is None:
                raise ValueError(f"{self.op} has no flag {name!r}")
        if not _fits(self.arg, operator.takes):
            raise ValueError(f"{self.op} takes {_EXPECTED[operator.takes]}, found {self.arg!r:.80}")
        if operator.takes == "a pattern":
            try:
                re.compile(str(self.arg), self.flags)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{self.op}: {self.arg!r} is not a regular expression: {error}") from None
        return self

    @property
    def folds(self) -> bool:
        """Whether upper and lower case are the same to it."""
        return bool(OPERATORS[self.op].ignore_case if self.ignore_case is None else self.ignore_case)

    @property
    def text(self) -> str:
        """The argument as text; without differences in case where they do not count."""
        return str(self.arg).casefold() if self.folds else str(self.arg)

    @property
    def number(self) -> int:
        """The argument of an operator that takes a number."""
        assert isinstance(self.arg, int)
        return self.arg

    @property
    def flags(self) -> int:
        """The flags of its pattern, as `re` has them."""
        return (re.IGNORECASE if self.folds else 0) | (re.MULTILINE if self.multiline else 0)

    @property
    def shown(self) -> str:
        """The check as it is written, for people."""
        given = [] if self.arg is None else [repr(self.arg)]
        given += [
            f"{name}={value}" for name in ("ignore_case", "multiline") if (value := getattr(self, name)) is not None
        ]
        return f"{self.op}({', '.join(given)})"


@dataclass(frozen=True)
class CheckSubject:
    """What a check looks at."""

    answer: str
    tools: tuple[str, ...]
    """Names of the tools that were called, once for each call."""
    matcher: Matcher

    def folded(self, check: Check) -> str:
        """The answer as the check compares it."""
        return self.answer.casefold() if check.folds else self.answer

    def matches(self, check: Check) -> bool:
        """Whether the pattern of a check is found in the answer."""
        pattern = str(check.arg)
        return any(self.matcher.matches(pattern, text, flags=check.flags) for text in forms(self.answer, pattern))

    def contains(self, check: Check) -> bool:
        """Whether the text of a check stands in the answer, in whatever Unicode form; where all of it is spaces or
        unseen, as it is."""
        wanted = one_form(check.text)
        within = self.folded(check)
        return check.text in within or (bool(wanted.strip()) and wanted in one_form(within))

    def called(self, check: Check) -> bool:
        """Whether the tool that a check names was called."""
        return check.text in (name.casefold() if check.folds else name for name in self.tools)

    @property
    def length(self) -> int:
        """Characters of the answer, without white space at its ends."""
        return len(self.answer.strip())


@dataclass(frozen=True)
class Operator:
    """What an operator takes, when it passes, and what a failure looks like."""

    takes: Takes
    passes: Callable[[Check, CheckSubject], bool]
    symptom: Callable[[Check, CheckSubject], str]
    """What is wrong, in words, for a reader who must not see the check itself."""
    ignore_case: bool | None = None
    """The default of the flag; None for an operator that has no such flag."""
    multiline: bool | None = None


def _section_present(check: Check, seen: CheckSubject) -> bool:
    wanted = title(str(check.arg))
    return any(part.filled and title(part.heading) == wanted for part in parts(seen.answer))


def _section_contains(check: Check, seen: CheckSubject) -> bool:
    headings = (part.heading for part in parts(seen.answer) if part.markdown)
    return any(check.text in (heading.casefold() if check.folds else heading) for heading in headings)


def _opposite(operator: Operator, symptom: Callable[[Check, CheckSubject], str]) -> Operator:
    """Passes where the operator does not."""

    def passes(check: Check, seen: CheckSubject) -> bool:
        return not operator.passes(check, seen)

    return replace(operator, passes=passes, symptom=symptom)


def _missing(check: Check, seen: CheckSubject) -> str:
    return MISSING


def _forbidden(check: Check, seen: CheckSubject) -> str:
    return "something is in the answer that must not be there"


_REGEX = Operator("a pattern", lambda check, seen: seen.matches(check), _missing, ignore_case=False, multiline=False)
_CONTAINS = Operator("a text", lambda check, seen: seen.contains(check), _missing, ignore_case=True)
_CALLED = Operator(
    "the name of a tool",
    passes=lambda check, seen: seen.called(check),
    symptom=lambda check, seen: f"the tool {check.arg} was not called",
    ignore_case=True,
)

OPERATORS: Mapping[Op, Operator] = {
    "section_present": Operator(
        "a heading",
        passes=_section_present,
        symptom=lambda check, seen: f"there is no section on {str(check.arg)!r}, or nothing in it",
    ),
    "section_contains": Operator(
        "a text",
        passes=_section_contains,
        symptom=lambda check, seen: f"no heading is about {str(check.arg)!r}",
        ignore_case=True,
    ),
    "regex": _REGEX,
    "not_regex": _opposite(_REGEX, _forbidden),
    "contains": _CONTAINS,
    "not_contains": _opposite(_CONTAINS, _forbidden),
    "max_chars": Operator(
        "a number",
        passes=lambda check, seen: seen.length <= check.number,
        symptom=lambda check, seen: f"the answer is too long: {seen.length:,} characters, at most {check.number:,}",
    ),
    "min_chars": Operator(
        "a number",
        passes=lambda check, seen: seen.length >= check.number,
        symptom=lambda check, seen: f"the answer is too short: {seen.length:,} characters, at least {check.number:,}",
    ),
    "no_refusal": Operator(
        "nothing",
        passes=lambda check, seen: not refuses(seen.answer),
        symptom=lambda check, seen: "the answer refuses the task",
    ),
    "tool_called": _CALLED,
    "tool_not_called": _opposite(_CALLED, lambda check, seen: f"the tool {check.arg} was called"),
    "min_citations": Operator(
        "a number",
        passes=lambda check, seen: len(citations(seen.answer)) >= check.number,
        symptom=lambda check, seen: (
            f"too few sources are cited: {len(citations(seen.answer))}, at least {check.number} are required"
        ),
    ),
}


def as_check(op: Op, arg: str, requirement: str) -> Check:
    """A check as a model writes it, its argument always as text. Raises ValidationError, a ValueError: it cannot be
    used."""
    takes = OPERATORS[op].takes
    number = takes == "a number" and arg.strip().isdecimal()
    given = None if takes == "nothing" else int(arg) if number else arg
    return Check(op=op, arg=given, requirement=requirement.strip())


_OPPOSITES: tuple[tuple[Op, Op], ...] = (
    ("regex", "not_regex"),
    ("contains", "not_contains"),
    ("tool_called", "tool_not_called"),
)


def impossible(checks: tuple[Check, ...]) -> str:
    """Why no answer can pass all of the checks; empty where no two of them are seen to exclude each other."""
    least = max((check.number for check in checks if check.op == "min_chars"), default=1)
    most = min((check.number for check in checks if check.op == "max_chars"), default=least)
    if most < least:
        return f"max_chars {most} is less than min_chars {least}"
    for asked, forbidden in _OPPOSITES:
        for check in checks:
            for other in checks:
                if check.op == asked and other.op == forbidden and _contradict(check, other):
                    return f"{check.shown} and {other.shown} exclude each other"
    return ""


def _contradict(check: Check, other: Check) -> bool:
    """Whether what `check` asks for is what `other` forbids."""
    if check.op == "regex":
        return (check.arg, check.flags) == (other.arg, other.flags)
    if check.folds and not other.folds and other.text != other.text.swapcase():
        return False  # written in another case it passes both
    if check.op == "contains":
        return other.text in (str(check.arg).casefold() if other.folds else str(check.arg))
    return other.text == (str(check.arg).casefold() if other.folds else str(check.arg))


def _fits(arg: JsonValue, takes: Takes) -> bool:
    """Whether an argument is what an operator takes."""
    if takes == "nothing":
        return arg is None
    if takes == "a number":
        return type(arg) is int and arg >= 1
    if not isinstance(arg, str) or not arg.strip() or len(arg) > LONGEST_ARG:
        return False
    if takes == "a heading":
        return "\n" not in arg and title(arg) != ""
    return takes != "the name of a tool" or _TOOL_NAME.fullmatch(arg) is not None


assert set(OPERATORS) == set(get_args(Op))
