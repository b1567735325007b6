"""The history of training tasks: what passed and failed under the skill, and how noisy that is."""

from collections.abc import Iterable
from itertools import pairwise
from math import fsum, sqrt
from statistics import fmean
from typing import NamedTuple

from etude.config import GateSection
from etude.records import Attempt, Skill, TaskHistory, TrainState
from etude.stages.shared.noise import Outcomes, PassSpread

_REMEMBERED = 1
"""Times a task is taken to have passed under earlier skills, at most: it shows that the task can pass without an
edit, and how often it did says little about the skill of now."""
_KEPT = 40
"""Repeated tasks of earlier skills from which the noise is measured, too: as a skill gets better, those that still
fail do so for other reasons, so the last ones say most."""
_STEADY = 4
"""Tasks that are taken to score the same when they are repeated, before any was: of four, two that differ by one of
four criteria would say that no gain of one is to be told from luck."""


class Measure(NamedTuple):
    """How scores of this run are compared."""

    gate: GateSection
    noise: PassSpread
    spread: float
    """How far apart two attempts at a task are when nothing has changed: the root of the mean square."""

    def value(self, attempt: Attempt) -> float:
        """The number that counts of an attempt that has a score, in [0, 1]."""
        assert attempt.score is not None
        return attempt.score.value(self.gate.metric, self.gate.mixed_weight)

    def better(self, attempt: Attempt, failed: float) -> bool:
        """Whether an attempt does better than those that failed, of which the best scored this. Where scores are 0
        and 1, it passes."""
        return attempt.solved or self.value(attempt) > self.bar(failed)

    def bar(self, failed: float) -> float:
        """What is better than this scores more than so much: by more than the spread, or half of what there is to
        gain. Luck does that in one of six attempts (normal scores), and the noise tells how often. With 1.5 spreads,
        tasks of six criteria, one learnt at a time, reach .05 in place of .84 of the attainable (seeds 1 to 12)."""
        return failed + min(self.spread, (1 - failed) / 2)


def measured(state: TrainState, gate: GateSection) -> Measure:
    """From the history of all training tasks."""
    known = state.history.values()
    gaps = [each.gap for each in known if each.gap is not None]
    spread = sqrt(fsum(gap * gap for gap in gaps) / (len(gaps) + _STEADY))
    outcomes = [Outcomes(each.passed, each.failed) for each in known]
    return Measure(gate, PassSpread.measured([*outcomes, *(Outcomes(*each) for each in state.repeated)]), spread)


def without(known: TaskHistory) -> Outcomes:
    """What is known of a task without a further edit."""
    before = min(_REMEMBERED, known.before)
    # An edit has to do better than the best of these, so that none of them has.
    return (
        Outcomes(known.passed + before, known.failed)
        if known.solved
        else Outcomes(before, known.passed + known.failed)
    )


def noted(state: TrainState, attempts: Iterable[Attempt], measure: Measure, step: int) -> TrainState:
    """With further attempts, in the order of their trials. `step` is the last one whose edits their skill has."""
    history, repeated = dict(state.history), list(state.repeated)
    for attempt in attempts:
        known = history.get(attempt.task.id)
        if known is None or known.skill != attempt.skill_hash:
            if known is not None and known.passed + known.failed > 1:
                repeated.append((known.passed, known.failed))
            seen, gap = ((), None) if known is None else (known.seen, known.gap)
            known = TaskHistory(skill=attempt.skill_hash, seen=seen, gap=gap)
        if attempt.trial >= known.trials:
            history[attempt.task.id] = _with(known, attempt, measure, step)
    return state.model_copy(update={"history": history, "repeated": tuple(repeated[-_KEPT:])})


def seen_as_well(state: TrainState, attempts: Iterable[Attempt], measure: Measure, step: int) -> TrainState:
    """With attempts in trials of their own: what passes says that the edit which is gone had broken the task."""
    history = dict(state.history)
    for attempt in attempts:
        known = history.get(attempt.task.id)
        if known is not None and attempt.score is not None:
            passed = measure.better(attempt, known.best_failed or 0.0)
            history[attempt.task.id] = known.model_copy(update={"seen": (*known.seen, (step, passed))})
    return state.model_copy(update={"history": history})


def rivals(state: TrainState) -> list[Skill]:
    """The skills of earlier steps that the present one has to be compared with, those that stood longest first, since
    while a bad one stands more tasks fail, and something is mended. None where with none of them more tasks passed,
    of those attempted with both, than with the present one. Which tasks were attempted again depends on how they
    failed, so that is no more than a suspicion, and says little about which of them is best."""
    stood = dict[str, int]()
    for made, until in pairwise([*state.skills, state.step + 1]):
        name = state.skills[made].hash
        stood[name] = stood.pop(name, 0) + until - made
    stood.pop(state.current.hash, None)
    skills = {skill.hash: skill for skill in state.skills.values()}
    found = [skills[name] for name in reversed(stood)]
    now = _rates(state, state.current)
    ahead = [fsum(rate - now[name] for name, rate in _rates(state, skill).items() if name in now) for skill in found]
    return sorted(found, key=lambda skill: -stood[skill.hash]) if max(ahead, default=0.0) >= 1 else []


def _rates(state: TrainState, skill: Skill) -> dict[str, float]:
    """By task, the share of its attempts with a skill that passed."""

    def is_its(step: int) -> bool:
        made = max((one for one in state.skills if one <= step), default=0)
        return made > 0 and state.skills[made].hash == skill.hash

    seen = {name: [passed for step, passed in known.seen if is_its(step)] for name, known in state.history.items()}
    return {name: fmean(each) for name, each in seen.items() if each}


def _with(known: TaskHistory, attempt: Attempt, measure: Measure, step: int) -> TaskHistory:
    update: dict[str, object] = {"trials": attempt.trial + 1}
    if attempt.score is not None:
        value = measure.value(attempt)
        best = known.best_failed
        passed = attempt.solved if best is None else measure.better(attempt, best)
        # The first fraction is only what later ones are compared with: whether it counts as failed is not chance.
        if passed or best is not None or value <= 0:
            update["passed" if passed else "failed"] = (known.passed if passed else known.failed) + 1
            update["seen"] = (*known.seen, (step, passed))
        if not passed:
            update["best_failed"] = max(value, best or 0.0)
        update |= {"solved": True} if attempt.solved else {"best": max(value, known.best)}
        if best is not None and known.trials == 1:
            update["gap"] = abs(value - best)
    return known.model_copy(update=update)
