"""A scorer by regular expression, with a time limit."""

import asyncio
import re
from typing import ClassVar

from pydantic import Field, field_validator

from etude.config import Section
from etude.envs.scorers.answer_scorer import MISSING, AnswerScorer, accepted, graded
from etude.envs.splits import forms
from etude.errors import BoundaryError, DataError
from etude.records import Score, Task, Trajectory
from etude.timed_regex import Matcher


class RegexOptions(Section):
    """Settings of the regex scorer."""

    free: ClassVar[frozenset[str]] = frozenset({"seconds"})

    pattern: str = ""
    """The expression (Python `re`) that every answer must match; when empty, each task's gold is one, or several of
    which one must match. Flags stand in it, as in `(?im)^total`."""
    whole: bool = False
    """The whole answer must match; False looks for a match anywhere."""
    seconds: float = Field(default=5.0, gt=0)
    """Most CPU time one match may take. A match that takes longer leaves the attempt without a score, since
    that depends on the machine."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return value


class Regex(AnswerScorer[RegexOptions]):
    """1 when the answer matches, else 0. Matching happens in a process of its own, which is ended at the limit."""

    name = "regex"
    options_type = RegexOptions
    checks_gold = False

    def __init__(self, options: RegexOptions | None = None) -> None:
        super().__init__(options)
        self._matcher = Matcher(self.options.seconds)

    @property
    def needs_gold(self) -> bool:
        """Only when no pattern is set for all tasks."""
        return not self.options.pattern

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """hard = soft: 0 or 1. Raises DataError: a gold answer is not a regular expression; BoundaryError: the match
        took too long, or the process that does it died."""
        return await asyncio.to_thread(self.compare, task, trajectory.answer)

    def compare(self, task: Task, answer: str) -> Score:
        """The same, blocking for at most `seconds` for each pattern."""
        right = any(self._matches(pattern, answer) for pattern in self.patterns(task))
        return graded(right, float(right), MISSING if answer.strip() else "there is no answer")

    def check_task(self, task: Task) -> None:
        """Raises DataError when a gold answer is not a regular expression, or there is none."""
        self.patterns(task)

    def patterns(self, task: Task) -> tuple[str, ...]:
        """The one of the settings, else those of the task.
        Raises DataError: one is not a regular expression, or there is none."""
        patterns = (self.options.pattern,) if self.options.pattern else accepted(task)
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise DataError(
                    f"task {task.id!r}: gold {pattern!r} is not a regular expression: {error}",
                    hint="fix it; signs that are meant as text need a backslash, as in '1\\.5'",
                ) from None
        return patterns

    def _matches(self, pattern: str, answer: str) -> bool:
        try:
            return any(
                self._matcher.matches(pattern, text, whole=self.options.whole) for text in forms(answer, pattern)
            )
        except (TimeoutError, ChildProcessError) as error:
            raise BoundaryError(f"scorer 'regex', pattern {pattern!r}", error) from None
