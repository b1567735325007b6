"""The gate: accept a candidate if and only if it scores strictly higher than the current skill.

Racing rejects early with the same verdict. Scores lie in [0, 1], so after a prefix of the tasks the best a candidate
can still reach is known; once that is no more than what the current skill has, the rest cannot change the verdict.
Tasks that the current skill does not solve go first: a lost candidate shows itself there soonest. With
`no_regression` a task that scores lower ends the race as well. The verdict is the one of the shortest deciding
prefix in this fixed order, so it does not depend on the order of arrival.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from fractions import Fraction
from typing import NamedTuple

from etude.config import GateSection
from etude.published.options import PaperOptions
from etude.readable import some
from etude.records import Attempt, Evaluation, GateResult, Skill, Task, Tested, Verdict, digest
from etude.skill import token_count
from etude.stages.shared.contest import SUSPECTED, losing
from etude.stages.shared.rollout import PlannedAttempt, Rollout, too_many_voids

_NAMED = 3
"""Most tasks that a reason names."""


class _Seen(NamedTuple):
    value: float | None
    void: str


class Race:
    """Collects candidate scores as they arrive and knows when the verdict is settled.

    Args:
        bar: the current skill's value on each task, in racing order. Tasks it has no score for are not compared.
        strict: a candidate also loses on the first task where it scores lower, or has no score.
        early: False settles nothing before the last task.
    """

    def __init__(self, bar: Sequence[float | None], *, strict: bool = False, early: bool = True) -> None:
        self._strict, self._early = strict, early
        self._bar = [None if value is None else Fraction(value) for value in bar]
        self._seen: dict[int, _Seen] = {}
        self._lead = Fraction(0)
        """Candidate minus current over the contiguous prefix."""
        self._room = sum((1 - value for value in self._bar if value is not None), Fraction(0))
        """The most that the rest can add to the lead."""
        self.prefix = 0
        """How many tasks, from the first on without a gap, have arrived."""
        self.lost_after: int | None = 0 if early and self._room <= 0 else None
        """Length of the shortest prefix that rules out a win."""
        self.regressed = False
        """What rules it out is a task that scores lower, while the mean might still be higher."""

    def add(self, index: int, value: float | None, void: str = "") -> None:
        """Take the candidate's value on the task at `index`; None for an attempt without a score, with its id."""
        self._seen[index] = _Seen(value, void)
        while self.prefix in self._seen:
            bar, here = self._bar[self.prefix], self._seen[self.prefix].value
            worse = bar is not None and (here is None or here < bar)
            if bar is not None:
                self._room -= 1 - bar
                self._lead += 0 if here is None else Fraction(here) - bar
            self.prefix += 1
            beaten = self._lead + self._room <= 0
            if self._early and self.lost_after is None and (beaten or (self._strict and worse)):
                self.lost_after, self.regressed = self.prefix, not beaten

    @property
    def voids(self) -> tuple[str, ...]:
        """Attempts without a score in what decides; as long as nothing does, in the prefix. What came back after it
        counts for nothing."""
        end = self.prefix if self.lost_after is None else self.lost_after
        return tuple(self._seen[i].void for i in range(end) if self._seen[i].value is None)

    def verdict(self) -> Verdict:
        """The decision of the shortest deciding prefix; over all tasks, which must have arrived, when none is."""
        if self.lost_after is None or self.lost_after == len(self._bar):
            return self._full_verdict()
        compared = [value for value in self._bar if value is not None]
        how = "could still win" if self.regressed else "could no longer win"
        return Verdict(
            accepted=False,
            reason=f"{how} after {self.lost_after} of {len(self._bar)} tasks",
            current=_mean(compared),
            compared=len(compared),
            decided_after=self.lost_after,
            voids=self.voids,
        )

    def _full_verdict(self) -> Verdict:
        pairs = [
            (bar, Fraction(value))
            for index, bar in enumerate(self._bar)
            if bar is not None and (value := self._seen[index].value) is not None
        ]
        accepted = sum((value - bar for bar, value in pairs), Fraction(0)) > 0
        current, candidate = _mean([bar for bar, _ in pairs]), _mean([value for _, value in pairs])
        return Verdict(
            accepted=accepted,
            reason=_reason(current, candidate),
            current=current,
            candidate=candidate,
            compared=len(pairs),
            decided_after=len(self._bar),
            voids=self.voids,
        )


def _mean(values: Sequence[Fraction]) -> float | None:
    return float(sum(values, Fraction(0)) / len(values)) if values else None


def _reason(current: float | None, candidate: float | None) -> str:
    if current is None or candidate is None:
        return "no task has a score under both skills"
    sign = ">" if candidate > current else "=" if candidate == current else "<"
    return f"candidate {candidate:.4f} {sign} current {current:.4f}"


def race_order(tasks: Sequence[Task], bar: Mapping[str, float]) -> list[Task]:
    """Lowest value under the current skill first; tasks of equal value keep their order."""
    return sorted(tasks, key=lambda task: bar.get(task.id, 1.0))


def reason_not_to_evaluate(candidate: Skill, current: Skill, rejected: Collection[str], max_tokens: int) -> str:
    """Why a candidate is not paid for; empty when it is worth it.

    A text that was rejected cannot win now either, unless the bar was lowered since: then `rejected` is empty.
    """
    if candidate.hash == current.hash:
        return "no edit changed anything"
    if candidate.hash in rejected:
        return "the same text was rejected before"
    tokens = token_count(candidate.text)
    if tokens > max_tokens:
        return f"about {tokens} tokens, more than skill.max_tokens = {max_tokens}"
    return ""


async def decide(
    rollout: Rollout,
    candidate: Skill,
    current: Evaluation,
    tasks: Sequence[Task],
    gate: GateSection,
    options: PaperOptions,
) -> GateResult:
    """Validate the candidate against the current skill's evaluation. The result is a decision and so a fact.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """
    bar = current.values(gate.metric, gate.mixed_weight)
    order = race_order(tasks, bar)
    racing = options.gate and options.racing

    async def work() -> GateResult:
        race = Race([bar.get(task.id) for task in order], strict=options.no_regression, early=racing)
        found: dict[int, Attempt] = {}
        sent = () if race.lost_after == 0 else order
        async with aclosing(rollout.stream([PlannedAttempt(task, candidate) for task in sent], "val")) as attempts:
            async for index, attempt in attempts:
                found[index] = attempt
                score = attempt.score
                value = None if score is None else score.value(gate.metric, gate.mixed_weight)
                race.add(index, value, attempt.id)
                voids = race.voids
                if len(voids) > rollout.allowed_voids(len(order), "max_void_eval"):
                    last = next(known for known in found.values() if known.id == voids[-1])
                    raise too_many_voids("val", last, len(voids), len(order), "max_void_eval")
                if race.lost_after is not None:
                    break
        verdict = race.verdict()
        tested = [_tested(task, bar, found[index], gate) for index, task in enumerate(order[: verdict.decided_after])]
        verdict = verdict.model_copy(update={"tasks": tuple(tested)})
        fallen = _regressed(tested) if options.no_regression and (verdict.accepted or race.regressed) else ""
        if fallen:
            verdict = verdict.model_copy(update={"accepted": False, "reason": f"{verdict.reason}, but {fallen}"})
        after = {one.task: one.after for one in tested if one.after is not None}
        loss = losing(order, bar, after, gate.allow_loss, SUSPECTED) if verdict.accepted else None
        if loss is not None:
            verdict = verdict.model_copy(
                update={"accepted": False, "reason": f"{verdict.reason}, but {loss.target} seems to do worse"}
            )
        if not options.gate:
            verdict = verdict.model_copy(update={"accepted": True, "reason": f"gate off: {verdict.reason}"})
        # A candidate that lost a race before its end was not seen in full, whatever happened to arrive.
        complete = verdict.decided_after == len(order)
        evaluation = Evaluation.of(candidate.hash, "val", [found[i] for i in sorted(found)]) if complete else None
        return GateResult(verdict=verdict, evaluation=evaluation)

    key = {
        "stage": "gate",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "candidate": candidate.hash,
        "current": current.model_dump(mode="json"),
        "tasks": digest([task.model_dump(mode="json") for task in tasks]),
        "rule": [options.gate, gate.metric, gate.mixed_weight, options.racing]
        + ["no regression"] * options.no_regression
        + [gate.allow_loss] * (gate.allow_loss > 0),
    }
    return await rollout.journal.once("decision", key, GateResult, work)


def _tested(task: Task, bar: Mapping[str, float], attempt: Attempt, gate: GateSection) -> Tested:
    value = None if attempt.score is None else attempt.score.value(gate.metric, gate.mixed_weight)
    return Tested(task=task.id, before=bar.get(task.id), after=value)


def _regressed(tasks: Sequence[Tested]) -> str:
    """The tasks that score lower than before, or have no score any more; empty when none does."""
    worse = [
        repr(one.task) for one in tasks if one.before is not None and (one.after is None or one.after < one.before)
    ]
    if not worse:
        return ""
    named = some(worse, _NAMED)
    return f"{len(worse)} of {len(tasks)} tasks score lower, and search.no_regression is set: {named}"
