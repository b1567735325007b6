"""What a run reports while it runs: events, and the views of steps in the run folder."""

from collections.abc import Sequence

from etude.doubts import Doubts
from etude.events import Decided, Notice, RunStarted, Stage, StageFinished, StageStarted
from etude.readable import counted
from etude.records import Attempt, Candidate, Evaluation, GateResult, Role, TrainState, role_of
from etude.records.summary import Doubt
from etude.skill import token_count
from etude.stages.reflect import Reflection
from etude.store.provenance import Changes
from etude.store.views import TASKS, AskedTask
from etude.workbench import Workbench


class RunLog:
    """Emits events, writes views and tells the observer of the run. It decides nothing."""

    def __init__(self, bench: Workbench, steps: int) -> None:
        self._bench = bench
        self._steps = steps
        self.doubts = Doubts(self._doubt if not bench.dry else lambda doubt, withdrawn: None)
        """What the attempts say about the setup."""
        self.changes = Changes(bench.skill)
        """What changed the skill, and why."""

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
        # What people read a score with: of validation and test tasks no step keeps more than that.
        tasks = [task for split in bench.tasks.values() for task in split]
        self.write(TASKS, [AskedTask(id=task.id, input=task.text, gold=task.gold) for task in tasks])
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

    def attempted(self, state: TrainState, attempts: Sequence[Attempt], note: str) -> None:
        """The rollout of a step is done."""
        self.write(f"steps/{state.step:04d}/rollout.json", attempts)
        self.end("rollout", state.step, note, attempts=attempts)
        self._bench.observer.attempted(attempts)
        scored = [attempt for attempt in attempts if attempt.score is not None]
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
        self._bench.folder.write_skill(after.step, after.current.text)
        self._bench.emit(
            Decided(
                step=after.step,
                steps=self._steps,
                action=action,
                origin=candidate.origin,
                reason=reason,
                current=self.mean(after.current_val),
                best=self.mean(after.best_val),
                skill_tokens=token_count(after.current.text),
                solved=sum(attempt.solved for attempt in after.earlier.values()),
                tried=len(after.earlier),
                tasks=len(self._bench.tasks["train"]),
            )
        )

    def _doubt(self, doubt: Doubt, withdrawn: bool) -> None:
        self._bench.emit(Notice(level="info" if withdrawn else "warning", text=doubt.text, withdrawn=withdrawn))

    def mean(self, evaluation: Evaluation | None) -> float | None:
        """The number that the gate compares; None when no task has a score."""
        gate = self._bench.config.gate
        return None if evaluation is None else evaluation.mean(gate.metric, gate.mixed_weight)
