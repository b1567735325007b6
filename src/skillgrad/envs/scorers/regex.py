"""A scorer by regular expression, with a time limit."""

import asyncio
import json
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, ClassVar, Self, cast

from pydantic import Field

from skillgrad.config import Section
from skillgrad.envs.scorers.base import AnswerScorer, Judge, accepted, graded, shorten
from skillgrad.errors import BoundaryError, ConfigError, DataError
from skillgrad.records import Score, Task, Trajectory

# Python cannot interrupt a match under way, but it can end the process that does the matching.
_WORKER = """
import json, re, sys
for line in sys.stdin:
    pattern, flags, whole, text = json.loads(line)
    match = re.compile(pattern, flags)
    found = match.fullmatch(text) if whole else match.search(text)
    print(json.dumps(found is not None), flush=True)
"""


Question = tuple[str, int, bool, str]
"""Pattern, flags, whether all of the text must match, text."""
START_SECONDS = 60.0


class RegexOptions(Section):
    """Settings of the regex scorer."""

    free: ClassVar[frozenset[str]] = frozenset({"seconds"})

    pattern: str = ""
    """The expression (Python `re`) that every answer must match; when empty, each task's gold is one, or several of
    which one must match."""
    ignore_case: bool = False
    """Ignore case."""
    multiline: bool = False
    """`^` and `$` match at every line."""
    dotall: bool = False
    """The dot also matches line breaks."""
    whole: bool = False
    """The whole answer must match; False looks for a match anywhere."""
    seconds: float = Field(default=5.0, gt=0)
    """Longest one match may take. A match that takes longer leaves the attempt without a score: how long it takes
    depends on the machine, so it must not decide a score."""


class Regex(AnswerScorer):
    """1 when the answer matches, else 0. Matching happens in a process of its own, which is ended at the limit."""

    name = "regex"
    options_type = RegexOptions
    checks_gold = False

    def __init__(self, options: RegexOptions | None = None) -> None:
        self.options = options if options is not None else RegexOptions()
        super().__init__(self.options)
        flags = {re.I: self.options.ignore_case, re.M: self.options.multiline, re.S: self.options.dotall}
        self._flags = sum(int(flag) for flag, wanted in flags.items() if wanted)
        self._matcher = _Matcher()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """As for all scorers; the pattern is compiled, so that a broken one is found at once."""
        scorer = super().from_options(options, where, judge)
        try:
            re.compile(scorer.options.pattern, scorer._flags)
        except re.error as error:
            raise ConfigError(
                f"{where}: pattern = {scorer.options.pattern!r}: {error}", hint="mend the regular expression"
            ) from None
        return scorer

    @property
    def needs_gold(self) -> bool:
        """Only when no pattern is set for all tasks."""
        return not self.options.pattern

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """hard = soft: 0 or 1.

        Raises:
            DataError: a gold answer is no regular expression.
            BoundaryError: the match took too long, or the process that does it died.
        """
        return await asyncio.to_thread(self.compare, task, trajectory.answer)

    def compare(self, task: Task, answer: str) -> Score:
        """The same, blocking for at most `seconds` for each pattern."""
        patterns = (self.options.pattern,) if self.options.pattern else accepted(task)
        right = any(self._matches(task, pattern, answer) for pattern in patterns)
        shown = " or ".join(shorten(pattern, 150) for pattern in patterns[:3])
        got = shorten(answer, 200) if answer.strip() else "nothing"
        return graded(right, float(right), f"expected a match of: {shown}; got: {got}")

    def gold_answer(self, task: Task) -> str:
        """There is none: the gold is a pattern."""
        raise DataError(f"task {task.id!r}: a pattern is no answer")

    def _matches(self, task: Task, pattern: str, answer: str) -> bool:
        try:
            re.compile(pattern, self._flags)
        except re.error as error:
            raise DataError(f"task {task.id!r}: gold {pattern!r} is no regular expression: {error}") from None
        try:
            return self._matcher.match((pattern, self._flags, self.options.whole, answer), self.options.seconds)
        except (TimeoutError, ChildProcessError) as error:
            raise BoundaryError(f"scorer 'regex', pattern {pattern!r}", error) from None


class _Matcher:
    """A process that matches one text at a time; started when needed, and again after it had to be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._end: Callable[[], object] = bool

    def match(self, question: Question, seconds: float) -> bool:
        """Raises TimeoutError after `seconds`, ChildProcessError when the process broke."""
        with self._lock:
            if self._process is None:
                self._process = self._start()
                # A first trivial match keeps the start of the process out of the time that is measured.
                self._ask(self._process, ("", 0, False, ""), START_SECONDS)
            return self._ask(self._process, question, seconds)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, process)
        return process

    def _ask(self, process: subprocess.Popen[str], question: Question, seconds: float) -> bool:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            answer = _exchange(process, json.dumps(question))
        finally:
            timer.cancel()
            timer.join()
        if expired.is_set() or not answer:
            self._end()
            self._process = None
        if answer:
            return bool(json.loads(answer))
        if expired.is_set():
            raise TimeoutError(f"no result after {seconds:g} s; simplify nested or repeated wildcards")
        raise ChildProcessError("the process that matches regular expressions died")


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """The line the process answers with, empty when it has ended."""
    stdin, stdout = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
    with suppress(BrokenPipeError):
        stdin.write(line + "\n")
        stdin.flush()
    return stdout.readline()


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    with suppress(BrokenPipeError), process:
        pass
