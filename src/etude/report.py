"""The end of a run: the best skill on disk and the summary next to it."""

from collections import Counter, defaultdict
from contextlib import suppress
from typing import NamedTuple

from etude.events import AttemptFinished, Event, RunFinished
from etude.protocols import Sink
from etude.records import Evaluation, Standing, TrainState
from etude.records.summary import Comparison, Cost, Doubt, Interval, Noise, NoSkill, SkillScores, Summary
from etude.records.tasks import CURES, Ended
from etude.stages.evaluation import FRESH, score_of
from etude.store.projections.skills import standings
from etude.store.provenance import Changes
from etude.store.views import SUMMARY
from etude.workbench import Workbench


class Measured(NamedTuple):
    """Evaluations that are not part of the training state."""

    initial_val: Evaluation | None
    comparison: Comparison | None = None
    """Of the initial and the best skill on the test tasks."""
    changes: Changes | None = None
    """What changed the skill."""
    no_skill: NoSkill | None = None
    """The test tasks without any skill."""
    doubts: tuple[Doubt, ...] = ()
    """About the setup."""
    noise: Noise | None = None
    """Of the training attempts."""


class _Made(NamedTuple):
    """All that is kept of an attempt."""

    attempt: str
    hard: float | None
    ended: Ended | None
    why: str


class TrainingAttempts(Sink):
    """Counts training attempts that are made again with nothing changed, and those whose last reply did not end by
    itself. A run that goes on tells of those before, too, so nothing is kept."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], dict[int, _Made]] = defaultdict(dict)
        """By task and skill: by trial."""

    def emit(self, event: Event) -> None:
        # The hand-out, whose trials are those of the hundred thousand from FRESH on, only keeps scores.
        if isinstance(event, AttemptFinished) and event.split == "train" and event.trial // FRESH != 1:
            made = _Made(event.attempt, event.hard, event.ended, event.reason)
            self._made[event.task, event.skill][event.trial] = made

    def noise(self) -> Noise | None:
        """What became of repeats. Only the first two attempts say how often one turns out otherwise: whether there
        is a third depends on them."""
        scored = [
            [each.hard >= 1 for _, each in sorted(trials.items()) if each.hard is not None]
            for trials in self._made.values()
        ]
        pairs = Counter((first, second) for first, second, *_ in (each for each in scored if len(each) > 1))
        if not pairs:
            return None
        attempts = sum(map(len, scored))
        return Noise(
            failed=pairs[False, False] + pairs[False, True],
            regained=pairs[False, True],
            passed=pairs[True, False] + pairs[True, True],
            lost=pairs[True, False],
            again=attempts - sum(map(bool, scored)),
            attempts=attempts,
        )

    def ended(self, how: Ended, state: TrainState, tested: Comparison | None, limit: int) -> Doubt | None:
        """How many last replies ended in this way, with those of the validation of the initial and the best skill,
        and of the test; None where none did. `limit` is the token limit of the target."""
        made = [(each, task) for (task, _), trials in self._made.items() for each in trials.values()]
        these = [(each.attempt, task, each.why) for each, task in made if each.ended == how]
        measured = {each.skill_hash: each.scores.values() for each in (state.initial_val, state.best_val) if each}
        val = [score.ended == how for tasks in measured.values() for scores in tasks for score in scores]
        test = (0, 0)
        if tested is not None:
            test = (tested.ended.get(how, 0), sum(len(task.a) + len(task.b) for task in tested.tried))
        counts = {"training": (len(these), len(made)), "validation": (sum(val), len(val)), "the test": test}
        found = [f"{some} of {of} replies in {where}" for where, (some, of) in counts.items() if some]
        if not found:
            return None
        attempt, task, why = min(these, default=("", "", "none in training"))
        why = f"at target.max_output_tokens = {limit}" if how == "cut off" else why
        return Doubt(
            what=f"{' and '.join(found)} were {how}",
            example=f"one of them: task {task} (attempt {attempt}), {why}" if attempt else why,
            todo=f"{CURES[how]} (in a fork)",
        )


def report(
    bench: Workbench, state: TrainState, measured: Measured, stopped: str | None, seconds: float | None
) -> Summary:
    """Write `best/`, its `provenance.json`, `ship.json` (the comparison, if there was one) and `summary.json`, tell
    the sinks, return the summary. `seconds` is how long the run took; None where everything was known, so that the
    time of the run that did the work stays."""
    best = bench.folder.write_best(state.best) / "SKILL.md"
    ship, none = measured.comparison, measured.no_skill
    if ship is not None:
        bench.folder.write_json("ship.json", ship)
    simulated = bench.simulated or any(each is not None and each.simulated for each in (ship, none))
    changes, lines = measured.changes, dict[Standing, int]()
    if changes is not None:
        lines = standings(changes.write(bench.folder, state.best, simulated=simulated))
    summary = Summary(
        name=bench.config.run.name,
        folder=str(bench.folder.path),
        simulated=simulated,
        dry=bench.dry,
        is_skill=bench.rollout.env.trains_skills,
        metric=bench.config.gate.metric,
        initial=SkillScores(
            skill="skills/0000.md",
            hash=bench.skill.hash,
            val=_score(bench, measured.initial_val),
            test=None if ship is None else ship.a.score,
            loaded=None if ship is None else ship.a.loaded,
        ),
        best=SkillScores(
            skill=str(best.relative_to(bench.folder.path)),
            hash=state.best.hash,
            val=_score(bench, state.best_val),
            test=None if ship is None else ship.b.score,
            loaded=None if ship is None else ship.b.loaded,
        ),
        test_gain=None if ship is None else ship.difference,
        verdict=None if ship is None else ship.verdict,
        claim="tasks like these" if ship is None else ship.claim,
        these=None if ship is None else ship.these,
        settle=None if ship is None else ship.settle,
        targets=() if ship is None else ship.targets,
        no_skill=none,
        test_openings=0 if ship is None else ship.test_openings,
        earlier_step=state.earlier_step,
        withheld="" if state.withheld is None else f"skills/{state.earlier_step or state.step:04d}.md",
        withheld_why=state.withheld_why,
        steps=state.step,
        accepted=state.accepted,
        rejected=state.rejected,
        new_lines=lines,
        skipped=state.skipped,
        missed_edits=state.missed_edits,
        repaired_cites=state.repaired_cites,
        uncited=state.uncited,
        voids=state.voids + sum(each.voids for each in (ship, none) if each is not None),
        noise=measured.noise,
        doubts=() if bench.dry else measured.doubts,
        judge=bench.judge_agrees,
        stopped=stopped,
        cost=_cost(bench, seconds),
    )
    path = bench.folder.write_json(SUMMARY, summary)
    bench.emit(RunFinished(stopped=stopped or "", summary=str(path)))
    return summary


def _score(bench: Workbench, evaluation: Evaluation | None) -> Interval | None:
    if evaluation is None or not any(evaluation.scores.values()):
        return None
    return score_of(evaluation, bench.tasks[evaluation.split], bench.config.gate)


def _cost(bench: Workbench, seconds: float | None) -> Cost:
    totals = bench.spend.totals()
    if seconds is None:
        seconds = 0.0
        with suppress(OSError, ValueError):  # there may be no summary yet, or a damaged one
            earlier = Summary.model_validate_json((bench.folder.path / SUMMARY).read_bytes())
            if earlier.stopped is None:  # what was sent since then was not sent by the training
                return earlier.cost
            seconds = earlier.cost.wall_seconds
    return Cost(
        target_calls=totals.calls.get("target", 0),
        optimizer_calls=totals.calls.get("optimizer", 0),
        judge_calls=totals.calls.get("judge", 0),
        tokens=totals.usage,
        usd=totals.usd if bench.rollout.agent.metered else None,
        wall_seconds=round(seconds, 3),
    )
