"""A scorer by checks: each task says what its answer must have and must not have."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from pydantic import Field, JsonValue

from etude.config import Section, parse
from etude.envs.scorers.answer_scorer import AnswerScorer, Judge, graded, in_words, shorten
from etude.envs.scorers.checks_operators import OPERATORS, Check, CheckSubject, impossible
from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.envs.scorers.text import Exact
from etude.errors import BoundaryError, ConfigError, DataError
from etude.readable import some
from etude.records import Record, Score, Task, Trajectory, canonical
from etude.timed_regex import Matcher

_SHOWN = 5


class Criteria(Record):
    """What is required of the answer to one task: checks, a rubric or exact answers; all that are there."""

    checks: tuple[Check, ...] = ()
    rubric: str = ""
    """What makes the answer good, in words, for a model to judge."""
    exact: tuple[str, ...] = ()
    """Answers of which each is right as a whole, case and white space apart."""


class ChecksOptions(Section):
    """Settings of the checks scorer."""

    free: ClassVar[frozenset[str]] = frozenset({"seconds"})

    multiline: bool = False
    """`^` and `$` of patterns match at every line, where a check does not say."""
    ignore_case: bool | None = None
    """Whether upper and lower case are the same, where a check does not say; None is what each operator does by
    itself."""
    threshold: float = Field(default=0.8, gt=0, le=1)
    """The grade from which a rubric is met."""
    seconds: float = Field(default=5.0, gt=0)
    """Most CPU time one match of a pattern may take. A match that takes longer leaves the attempt without a score."""


class Checks(AnswerScorer[ChecksOptions]):
    """hard is 1 when all checks of the task pass, soft the share that does; an empty answer passes none.

    The gold is a list of checks, as in `[{op: contains, arg: total}, {op: max_chars, arg: 900}]`, or a mapping
    `{checks: [...], rubric: ..., exact: [...]}`, whose rubric the judge grades and whose `exact` answers are right as
    a whole: then soft is the mean of the parts, and hard is 1 when each is met, a rubric by a grade from `threshold`
    on. Operators: docs/scorers.md#checks."""

    name = "checks"
    options_type = ChecksOptions
    checks_gold = False
    repeatable = False

    def __init__(self, options: ChecksOptions | None = None, judge: Callable[[], Judge] | None = None) -> None:
        super().__init__(options)
        self._judge = judge
        self._matcher = Matcher(self.options.seconds)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        return cls(parse(ChecksOptions, dict(options), where=where), judge)

    def check_task(self, task: Task) -> None:
        """As `requirements`."""
        self.requirements(task)

    def patterns(self, task: Task) -> tuple[str, ...]:
        """Those of its checks."""
        return _patterns(self.requirements(task).checks)

    def requirements(self, task: Task) -> Criteria:
        """What a task requires, with the flags of the settings. Raises DataError: an unknown operator, a broken
        pattern, a missing or wrong argument, checks that exclude each other, a rubric without a judge."""
        criteria = read_criteria(task.gold, f"task {task.id!r}", self.options)
        if criteria.rubric and self._judge is None:
            raise DataError(
                f"task {task.id!r} has a rubric, but there is no model to judge it",
                hint="add a `judge` section with a model, or leave the rubric out",
            )
        return criteria

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Checks and rubric of the task together. Raises DataError: the gold is not a list of checks; BoundaryError:
        a match took too long, or the process that does it died."""
        criteria = self.requirements(task)
        if not trajectory.answer.strip():
            return _nothing()
        found: list[Score] = []
        if criteria.checks:
            tools = tuple(call.name for message in trajectory.messages for call in message.tool_calls)
            found.append(await asyncio.to_thread(self.decide, criteria.checks, trajectory.answer, tools))
        if criteria.rubric:
            plain = task.model_copy(update={"gold": None})  # the judge should not see the checks
            found.append(await self._rubric(criteria.rubric).score(plain, trajectory))
        if criteria.exact:
            golds = task.model_copy(update={"gold": list(criteria.exact)})
            found.append(await Exact().score(golds, trajectory))
        return combined(found)

    def compare(self, task: Task, answer: str) -> Score:
        """The checks alone on an answer without tool calls; blocks for at most `seconds` for each pattern."""
        return self.decide(self.requirements(task).checks, answer, ())

    def decide(self, checks: Sequence[Check], answer: str, tools: Sequence[str]) -> Score:
        """The score of an answer by at least one check, with the names of the `tools` that were called; blocks as
        `compare` does. Raises BoundaryError: a match took too long, or the process that does it died."""
        if not answer.strip():
            return _nothing()
        seen = CheckSubject(answer, tuple(tools), self._matcher)
        failed = [check for check in checks if not self._passes(check, seen)]
        hidden = _patterns(checks)
        notes = list(dict.fromkeys(shorten(self._feedback(check, seen, hidden), 150) for check in failed))
        note = f"{len(failed)} of {len(checks)} requirements not met: {some(notes, _SHOWN, '; ')}"
        return graded(not failed, (len(checks) - len(failed)) / len(checks), note)

    def fingerprint(self) -> str:
        """Settings, operators and, where there is one, the judge."""
        rubric = self._rubric("").fingerprint() if self._judge is not None else ""
        return canonical([super().fingerprint(), rubric])

    def _rubric(self, text: str) -> Rubric:
        assert self._judge is not None
        return Rubric(RubricOptions(rubric=text, threshold=self.options.threshold), self._judge)

    def _passes(self, check: Check, seen: CheckSubject) -> bool:
        try:
            return OPERATORS[check.op].passes(check, seen)
        except (TimeoutError, ChildProcessError) as error:
            raise BoundaryError(f"scorer 'checks', {check.shown}", error) from None

    def _feedback(self, check: Check, seen: CheckSubject, hidden: Sequence[str]) -> str:
        return in_words(check.requirement, hidden, OPERATORS[check.op].symptom(check, seen))


def _patterns(checks: Sequence[Check]) -> tuple[str, ...]:
    return tuple(str(check.arg) for check in checks if OPERATORS[check.op].takes == "a pattern")


def combined(found: Sequence[Score]) -> Score:
    """One score of several for the same answer: hard is 1 when each is, soft their mean."""
    wrong = "; ".join(score.feedback for score in found if score.hard < 1 or score.soft < 1)
    return graded(all(score.hard >= 1 for score in found), sum(score.soft for score in found) / len(found), wrong)


def _nothing() -> Score:
    return Score(hard=0, soft=0, feedback="there is no answer")


def read_criteria(gold: JsonValue, where: str, options: ChecksOptions | None = None) -> Criteria:
    """The criteria in a gold: a list of checks, a mapping of `Criteria`, or either as JSON text. The
    `kind: rule` of published task files is understood. The flags of `options` hold where a check does not say.
    Raises DataError: it is none of these, or a check cannot be used; `where` is part of the message."""
    if isinstance(gold, str):
        try:
            gold = cast(JsonValue, json.loads(gold))
        except (ValueError, RecursionError):
            raise _no_criteria(gold, where) from None
    if isinstance(gold, list):
        gold = {"checks": gold}
    if not isinstance(gold, dict) or gold.get("kind", "rule") != "rule":
        raise _no_criteria(gold, where)
    try:
        found = parse(Criteria, {key: value for key, value in gold.items() if key != "kind"}, where=where)
    except ConfigError as error:
        raise DataError(error.message, hint=error.hint) from None
    if not found.checks and not found.rubric.strip() and not found.exact:
        raise DataError(f"{where} has no checks", hint="give it one, as in [{op: contains, arg: total}]")
    # Which checks exclude each other depends on the flags.
    checks = found.checks if options is None else tuple(_with_flags(check, options) for check in found.checks)
    if contradiction := impossible(checks):
        raise DataError(f"{where}: no answer passes all checks: {contradiction}", hint="remove one of the two")
    return Criteria(checks=checks, rubric=found.rubric.strip(), exact=found.exact)


def _with_flags(check: Check, options: ChecksOptions) -> Check:
    """The check with the flags of the settings where it says nothing itself."""
    operator = OPERATORS[check.op]
    flags: dict[str, bool] = {}
    if check.multiline is None and operator.multiline is not None and options.multiline:
        flags["multiline"] = True
    if check.ignore_case is None and operator.ignore_case is not None and options.ignore_case is not None:
        flags["ignore_case"] = options.ignore_case
    return check.model_copy(update=flags)


def _no_criteria(gold: JsonValue, where: str) -> DataError:
    shown = gold if isinstance(gold, str) else canonical(gold)
    return DataError(
        f"{where}: gold {shorten(shown, 80)!r} is neither a list of checks nor a mapping with 'checks' and 'rubric'",
        hint="as in [{op: contains, arg: total}]; all operators: docs/scorers.md#checks",
    )
