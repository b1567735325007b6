"""What a run reports while it runs: events, and the views of steps in the run folder."""

from collections.abc import Sequence, Set
from statistics import fmean

from etude.events import Decided, Notice, RunStarted, Stage, StageFinished, StageStarted
from etude.records import Attempt, Candidate, Evaluation, GateResult, Role, TrainState, role_of
from etude.records.doubts import Doubt
from etude.records.summary import Step
from etude.skill import token_count
from etude.stages.reflect import Reflection
from etude.stages.shared.doubts import Doubts
from etude.store.provenance import Changes
from etude.workbench import Workbench


def counted(count: int, what: str) -> str:
    """As in `1 edit`, `3 edits` or `2 analyses`."""
    several = what.removesuffix("is") + "es" if what.endswith("sis") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


class RunLog:
    """Emits events, writes views and tells the observer of the run. It decides nothing."""

    def __init__(self, bench: Workbench, steps: int) -> None:
        self._bench = bench
        self._steps = steps
        self._failed: set[str] = set()
        self.doubts = Doubts(self._doubt if not bench.dry else lambda doubt, withdrawn: None)
        """What the attempts say about the setup."""
        self.changes = Changes(bench.skill)
        """What changed the skill, and why."""
        self.curve: list[Step] = []
        """Step by step."""
        self._batch: float | None = None

    def started(self) -> None:
        """The run begins or resumes."""
        bench = self._bench
        models: dict[Role, str] = {}
        for place, model in bench.models.items():
            role = role_of(place)
            models[role] = f"{models[role]}, {model.name}" if role in models else model.name
        bench.emit(
            RunStarted(
                name=bench.config.run.name,
                folder=str(bench.folder.path),
                epochs=bench.config.train.epochs,
                steps=self._steps,
                resumed=bench.resumed,
                simulated=bench.simulated,
                dry=bench.dry,
                models=models,
            )
        )
        bench.folder.write_skill(0, bench.skill.text)
        self.changes.write(bench.folder, bench.skill, simulated=bench.simulated)

    def begin(self, stage: Stage, step: int, epoch: int, total: int = 0) -> None:
        """A stage begins."""
        self._bench.emit(StageStarted(stage=stage, step=step, epoch=epoch, total=total))

    def end(
        self, stage: Stage, step: int, note: str, *, idle: bool = False, attempts: Sequence[Attempt] = ()
    ) -> None:
        """A stage is done, or had nothing to work on (`idle`); what the run has cost follows."""
        ids = tuple(attempt.id for attempt in attempts)
        self._bench.emit(StageFinished(stage=stage, step=step, note=note, idle=idle, attempts=ids))
        self._bench.tell_spend()

    def write(self, name: str, value: object) -> None:
        """Write a view, as in `steps/0001/merged.json`."""
        self._bench.folder.write_json(name, value)

    def attempted(
        self, state: TrainState, attempts: Sequence[Attempt], note: str, failed: Set[str] = frozenset()
    ) -> None:
        """The rollout of a step is done. Tasks that were chosen because they had `failed` do not count for the mean
        of its batch."""
        self.write(f"steps/{state.step:04d}/rollout.json", attempts)
        self.end("rollout", state.step, note, attempts=attempts)
        self._bench.observer.attempted(attempts)
        scored = [attempt for attempt in attempts if attempt.score is not None]
        self._batch = self._mean([attempt for attempt in scored if attempt.task.id not in failed])
        self._failed.update(attempt.task.id for attempt in scored if not attempt.solved)
        self.doubts.attempted(state, scored, f"steps/{state.step:04d}/rollout.json")

    def reflected(self, step: int, reflections: Sequence[Reflection]) -> None:
        """The attempts of a step are analysed."""
        edits = sum(len(reflection.patch.edits) + len(reflection.reminders) for reflection in reflections)
        failed = [reflection for reflection in reflections if reflection.source == "failures"]
        if failed:
            self.doubts.reflected(edits, failed[0].unusable or failed[0].patch.reasoning)
        uncited = sum(reflection.uncited for reflection in reflections)
        rest = f"; {uncited} cited no attempt" if uncited else ""
        self.end("reflect", step, f"{counted(edits, 'edit')} from {counted(len(reflections), 'analysis')}{rest}")

    def made(self, place: str, state: TrainState, candidate: Candidate, skipped: str) -> None:
        """There is a candidate; `skipped` says why it will not be evaluated."""
        self.write(f"{place}/update.json", {"edits": candidate.edits, "skipped": skipped})
        if candidate.origin == "step":
            self.doubts.made(state, candidate, skipped)
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
        if after.current.hash != before.current.hash:
            self.changes.write(self._bench.folder, after.current, simulated=self._bench.simulated)
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
                batch=self._batch if candidate.origin == "step" else None,
                failed=len(self._failed),
                fixed=sum(task in after.earlier and after.earlier[task].solved for task in self._failed),
            )
        )

    def _mean(self, attempts: Sequence[Attempt]) -> float | None:
        gate = self._bench.config.gate
        values = [each.score.value(gate.metric, gate.mixed_weight) for each in attempts if each.score is not None]
        return fmean(values) if values else None

    def _doubt(self, doubt: Doubt, withdrawn: bool) -> None:
        self._bench.emit(Notice(level="info" if withdrawn else "warning", text=doubt.text, withdrawn=withdrawn))

    def mean(self, evaluation: Evaluation | None) -> float | None:
        """The number that the gate compares; None when no task has a score."""
        gate = self._bench.config.gate
        return None if evaluation is None else evaluation.mean(gate.metric, gate.mixed_weight)
