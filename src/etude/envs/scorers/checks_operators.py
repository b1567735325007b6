"""The operators of checks: what each of them looks at, and when it passes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, cast, get_args

from pydantic import StrictInt, StrictStr, model_validator

from etude.envs.scorers.checks_text import citations, parts, refuses, title
from etude.records import Record, canonical
from etude.timed_regex import Matcher

__all__ = ["OPERATORS", "TOOL_NAME", "Check", "Op", "Operator", "Seen", "impossible"]

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

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What a tool in a check may be called."""
LONGEST_ARG = 1_000
"""Characters of an argument."""
LONGEST_REQUIREMENT = 300


class Check(Record):
    """One thing that is required of an attempt. What each operator means: `OPERATORS`."""

    op: Op
    arg: StrictStr | StrictInt | None = None
    """What the operator looks for; a text or a whole number from 1 on, as the operator takes it."""
    ignore_case: bool | None = None
    """Whether upper and lower case are the same; None is what the operator does by itself."""
    multiline: bool | None = None
    """Whether `^` and `$` of a pattern match at every line; None: they do not."""
    requirement: str = ""
    """What is required, in words; told to the optimizer when it is not met. At most 300 characters."""

    @model_validator(mode="before")
    @classmethod
    def _of_the_right_types(cls, data: Any) -> Any:
        problem = _wrong_type(data)
        if problem:
            raise ValueError(problem)
        return data

    @model_validator(mode="after")
    def _usable(self) -> Self:
        problem = _problem(self)
        if problem:
            raise ValueError(problem)
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
class Seen:
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
        return self.matcher.matches(str(check.arg), self.answer, flags=check.flags)

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
    meaning: str
    passes: Callable[[Check, Seen], bool]
    symptom: Callable[[Check, Seen], str]
    """What is wrong, in words, for a reader who must not see the check itself."""
    ignore_case: bool | None = None
    """The default of the flag; None for an operator that has no such flag."""
    multiline: bool | None = None
    form: bool = False
    """It looks at the shape of an answer only: an answer without any content can be made to pass."""


def _section_present(check: Check, seen: Seen) -> bool:
    wanted = title(str(check.arg))
    return any(part.filled and title(part.heading) == wanted for part in parts(seen.answer))


def _section_contains(check: Check, seen: Seen) -> bool:
    headings = (part.heading for part in parts(seen.answer) if part.markdown)
    return any(check.text in (heading.casefold() if check.folds else heading) for heading in headings)


_MISSING = "something that is required is not in the answer"
_FORBIDDEN = "something is in the answer that must not be there"

OPERATORS: Mapping[Op, Operator] = {
    "section_present": Operator(
        takes="a heading",
        meaning="A heading says exactly this, and there is text below it. A heading is a line that "
        "begins with 1 to 6 `#`, a line in bold, or a line that ends with a colon, outside of"
        " fenced code. Case, numbers, signs and emphasis around it and a remark in "
        "parentheses behind it do not count.",
        passes=_section_present,
        symptom=lambda check, seen: f"there is no section on {str(check.arg)!r}, or nothing in it",
        form=True,
    ),
    "section_contains": Operator(
        takes="a text",
        meaning="A Markdown heading (`#` to `######`) outside of fenced code contains the text.",
        passes=_section_contains,
        symptom=lambda check, seen: f"no heading is about {str(check.arg)!r}",
        ignore_case=True,
        form=True,
    ),
    "regex": Operator(
        takes="a pattern",
        meaning="The pattern (Python `re`) is found anywhere in the answer.",
        passes=lambda check, seen: seen.matches(check),
        symptom=lambda check, seen: _MISSING,
        ignore_case=False,
        multiline=False,
    ),
    "not_regex": Operator(
        takes="a pattern",
        meaning="The pattern is found nowhere in the answer.",
        passes=lambda check, seen: not seen.matches(check),
        symptom=lambda check, seen: _FORBIDDEN,
        ignore_case=False,
        multiline=False,
    ),
    "contains": Operator(
        takes="a text",
        meaning="The text is in the answer.",
        passes=lambda check, seen: check.text in seen.folded(check),
        symptom=lambda check, seen: _MISSING,
        ignore_case=True,
    ),
    "not_contains": Operator(
        takes="a text",
        meaning="The text is not in the answer.",
        passes=lambda check, seen: check.text not in seen.folded(check),
        symptom=lambda check, seen: _FORBIDDEN,
        ignore_case=True,
    ),
    "max_chars": Operator(
        takes="a number",
        meaning="The answer has at most this many characters, without white space at its ends.",
        passes=lambda check, seen: seen.length <= check.number,
        symptom=lambda check, seen: f"the answer is too long: {seen.length:,} characters, at most {check.number:,}",
        form=True,
    ),
    "min_chars": Operator(
        takes="a number",
        meaning="The answer has at least this many characters, without white space at its ends.",
        passes=lambda check, seen: seen.length >= check.number,
        symptom=lambda check, seen: f"the answer is too short: {seen.length:,} characters, at least {check.number:,}",
        form=True,
    ),
    "no_refusal": Operator(
        takes="nothing",
        meaning="The answer does not begin with a refusal (in English), or has 600 characters or more.",
        passes=lambda check, seen: not refuses(seen.answer),
        symptom=lambda check, seen: "the answer refuses the task",
        form=True,
    ),
    "tool_called": Operator(
        takes="the name of a tool",
        meaning="The tool was called at least once.",
        passes=lambda check, seen: seen.called(check),
        symptom=lambda check, seen: f"the tool {check.arg} was not called",
        ignore_case=True,
    ),
    "tool_not_called": Operator(
        takes="the name of a tool",
        meaning="The tool was never called.",
        passes=lambda check, seen: not seen.called(check),
        symptom=lambda check, seen: f"the tool {check.arg} was called",
        ignore_case=True,
    ),
    "min_citations": Operator(
        takes="a number",
        meaning="The answer cites at least this many different sources: targets of Markdown links, "
        "numbers in brackets (`[3]`), pages such as `wiki/some-page`. Code and pictures cite "
        "nothing.",
        passes=lambda check, seen: len(citations(seen.answer)) >= check.number,
        symptom=lambda check, seen: (
            f"too few sources are cited: {len(citations(seen.answer))}, at least {check.number} are required"
        ),
    ),
}

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


def _wrong_type(row: Any) -> str:
    """What is of another type than it has to be, in the words of a task file; empty when nothing is."""
    data: Mapping[str, Any] = cast(Mapping[str, Any], row) if isinstance(row, Mapping) else {}
    for name in ("ignore_case", "multiline"):
        if not isinstance(data.get(name), bool | None):
            return f"{name!r} must be true or false, found {canonical(data[name])}"
    op, arg = data.get("op"), data.get("arg")
    if op not in get_args(Op) or arg is None or type(arg) in (str, int):
        return ""
    operator = OPERATORS[cast(Op, op)]
    takes = {"a number": "a whole number from 1 on", "nothing": "no 'arg'"}.get(operator.takes, operator.takes)
    return f"{op} takes {takes}, found {canonical(arg)}"


def _problem(check: Check) -> str:
    """What is wrong with a check, empty when nothing is."""
    operator = OPERATORS[check.op]
    if len(check.requirement) > LONGEST_REQUIREMENT:
        return f"'requirement' has {len(check.requirement)} characters, at most {LONGEST_REQUIREMENT} are allowed"
    for name in ("ignore_case", "multiline"):
        if getattr(check, name) is not None and getattr(operator, name) is None:
            return f"{check.op} has no flag {name!r}"
    if operator.takes == "nothing":
        return "" if check.arg is None else f"{check.op} takes no 'arg', found {check.arg!r}"
    if check.arg is None:
        return f"{check.op} needs an 'arg': {operator.takes}"
    if operator.takes == "a number":
        right = isinstance(check.arg, int) and check.arg >= 1
        return "" if right else f"{check.op} takes a whole number from 1 on, found {check.arg!r}"
    if not isinstance(check.arg, str) or not check.arg.strip():
        return f"{check.op} takes {operator.takes}, found {check.arg!r}"
    if len(check.arg) > LONGEST_ARG:
        return f"{check.op}: 'arg' has {len(check.arg)} characters, at most {LONGEST_ARG} are allowed"
    return _wrong_text(check, operator.takes, check.arg)


def _wrong_text(check: Check, takes: Takes, arg: str) -> str:
    if takes == "a heading" and ("\n" in arg or not title(arg)):
        return f"{check.op} takes the words of one heading, found {arg!r}"
    if takes == "the name of a tool" and not TOOL_NAME.fullmatch(arg):
        return f"{check.op} takes a name of 1 to 64 letters, digits, '_', '.' and '-', found {arg!r}"
    if takes == "a pattern":
        try:
            re.compile(arg, check.flags)
        except (re.error, OverflowError, RecursionError) as error:
            return f"{check.op}: {arg!r} is not a regular expression: {error}"
    return ""


assert set(OPERATORS) == set(get_args(Op))
