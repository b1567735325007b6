"""What a run reports while it runs: events, and the views of steps in the run folder."""

import json
from collections.abc import Sequence
from statistics import fmean

from etude.events import Decided, Notice, RunStarted, Stage, StageFinished, StageStarted
from etude.prompts.cuts import cut_middle
from etude.records import Attempt, Candidate, Evaluation, TrainState
from etude.records.summary import Step
from etude.skill import token_count
from etude.stages.gate import GateResult
from etude.stages.reflect import Reflection
from etude.store.provenance import Changes
from etude.workbench import Workbench


def counted(count: int, what: str) -> str:
    """As in `1 edit`, `3 edits` or `2 analyses`."""
    several = what.removesuffix("is") + "es" if what.endswith("sis") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


_ZEROS = 20
"""Training attempts without success that are worth a word; half of them when they are two batches."""
_SHOWN_CHARS = 300
"""Of each part of the attempt that is shown."""


def _nothing_solved(tried: int, attempt: Attempt, place: str) -> str:
    """What it means that nothing is solved, and an attempt to look at."""
    task, score = attempt.task, attempt.score
    gold = task.gold if isinstance(task.gold, str) else json.dumps(task.gold, ensure_ascii=False)
    parts = {
        "task": task.text,
        "answer": attempt.trajectory.answer or attempt.reason or "(none)",
        "expected": "" if task.gold is None else gold,
        "feedback": "" if score is None else score.feedback,
    }
    shown = [f"{name}: {_line(text)}" for name, text in parts.items() if text]
    head = (
        f"none of the first {tried} training attempts scored above 0. The likelier causes are the target, the scorer "
        f"and the form of the answers, not the skill. Look at this attempt, {attempt.id} of {place}:"
    )
    return "\n".join([head, *shown])


def _line(text: str) -> str:
    return " ".join(cut_middle(" ".join(text.split()), _SHOWN_CHARS).split())


class RunLog:
    """Emits events, writes views and tells the observer of the run. It decides nothing."""

    def __init__(self, bench: Workbench, steps: int) -> None:
        self._bench = bench
        self._steps = steps
        self._failed: set[str] = set()
        self._batches, self._zeros = 0, 0
        self._hopeful = False
        """Something was solved, or a person was told that nothing is."""
        self.changes = Changes(bench.skill)
        """What changed the skill, and why."""
        self.curve: list[Step] = []
        """Step by step."""
        self._batch: float | None = None

    def started(self, calls: int = 0) -> None:
        """The run begins or resumes; it is expected to make this many calls."""
        bench = self._bench
        bench.emit(
            RunStarted(
                name=bench.config.run.name,
                folder=str(bench.folder.path),
                epochs=bench.config.train.epochs,
                steps=self._steps,
                resumed=bench.resumed,
                simulated=bench.simulated,
                calls=calls,
            )
        )
        bench.folder.write_skill(0, bench.skill.text)

    def begin(self, stage: Stage, step: int, epoch: int, total: int = 0) -> None:
        """A stage begins."""
        self._bench.emit(StageStarted(stage=stage, step=step, epoch=epoch, total=total))

    def end(self, stage: Stage, step: int, note: str, *, idle: bool = False) -> None:
        """A stage is done, or had nothing to work on (`idle`); what the run has cost follows."""
        self._bench.emit(StageFinished(stage=stage, step=step, note=note, idle=idle))
        self._bench.tell_spend()

    def write(self, name: str, value: object) -> None:
        """Write a view, as in `steps/0001/merged.json`."""
        self._bench.folder.write_json(name, value)

    def attempted(self, state: TrainState, attempts: Sequence[Attempt], note: str) -> None:
        """The rollout of a step is done."""
        self.write(f"steps/{state.step:04d}/rollout.json", attempts)
        self.end("rollout", state.step, note)
        self._bench.observer.attempted(attempts)
        scored = [attempt for attempt in attempts if attempt.score is not None]
        self._batch = self._mean(scored)
        self._failed.update(attempt.task.id for attempt in scored if not attempt.solved)
        self._warn_of_nothing(state, scored)

    def _warn_of_nothing(self, state: TrainState, scored: Sequence[Attempt]) -> None:
        """Say it once when nothing in the first batches scores above 0: that is rarely for want of a skill."""
        if self._hopeful or not scored:
            return
        self._batches += 1
        self._zeros += len(scored)
        self._hopeful = state.accepted > 0 or any(attempt.score and attempt.score.hard > 0 for attempt in scored)
        if not self._hopeful and self._zeros >= (_ZEROS if self._batches == 1 else _ZEROS // 2):
            self._hopeful = True
            place = f"steps/{state.step:04d}/rollout.json"
            self._bench.emit(Notice(level="warning", text=_nothing_solved(self._zeros, scored[0], place)))

    def reflected(self, step: int, reflections: Sequence[Reflection]) -> None:
        """The attempts of a step are analysed."""
        edits = sum(len(reflection.patch.edits) + len(reflection.reminders) for reflection in reflections)
        uncited = sum(reflection.uncited for reflection in reflections)
        rest = f"; {uncited} cited no attempt" if uncited else ""
        self.end("reflect", step, f"{counted(edits, 'edit')} from {counted(len(reflections), 'analysis')}{rest}")

    def made(self, place: str, state: TrainState, candidate: Candidate, skipped: str) -> None:
        """There is a candidate; `skipped` says why it will not be evaluated."""
        self.write(f"{place}/update.json", {"edits": candidate.edits, "skipped": skipped})
        self._bench.folder.write_candidate(place, state.current.text, candidate.skill.text)

    def decided(
        self,
        place: str,
        states: tuple[TrainState, TrainState],
        candidate: Candidate,
        result: GateResult | None,
        skipped: str,
    ) -> None:
        """The gate decided, or there was nothing to decide, between the two states."""
        before, after = states
        self._bench.observer.decided(candidate, result, skipped)
        action = "skipped" if result is None else "accepted" if result.verdict.accepted else "rejected"
        reason = skipped if result is None else result.verdict.reason
        self.write(
            f"{place}/gate.json",
            {
                "action": action,
                "reason": reason,
                "origin": candidate.origin,
                "best": after.best.hash != before.best.hash,
                "verdict": None if result is None else result.verdict,
            },
        )
        self.changes.decided(place, states, candidate, reason, self._bench.answers)
        self._bench.answers.clear()
        val = self.mean(after.current_val)
        if candidate.origin == "step":
            self.curve.append(Step(step=after.step, action=action, batch=self._batch, val=val))
        self._bench.folder.write_skill(after.step, after.current.text)
        self._bench.emit(
            Decided(
                step=after.step,
                steps=self._steps,
                action=action,
                origin=candidate.origin,
                reason=reason,
                current=val,
                best=self.mean(after.best_val),
                skill_tokens=token_count(after.current.text),
                failed=len(self._failed),
                fixed=sum(task in after.earlier and after.earlier[task].solved for task in self._failed),
            )
        )

    def _mean(self, attempts: Sequence[Attempt]) -> float | None:
        gate = self._bench.config.gate
        values = [each.score.value(gate.metric, gate.mixed_weight) for each in attempts if each.score is not None]
        return fmean(values) if values else None

    def mean(self, evaluation: Evaluation | None) -> float | None:
        """The number that the gate compares; None when no task has a score."""
        gate = self._bench.config.gate
        return None if evaluation is None else evaluation.mean(gate.metric, gate.mixed_weight)
