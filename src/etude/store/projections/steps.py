"""A step: what failed, what each reading proposed, what became of each edit, and why."""

from pathlib import Path

from etude.errors import DataError
from etude.records import AppliedEdit, Edit, Patch, Proof, Record, Tested
from etude.records.record import Lenient
from etude.store.projections.attempts import read_attempts
from etude.store.projections.runs import decisions
from etude.store.views import GateView, RunView, SelectedView, StepView, UntestedView, UpdateView, read_view, text_of


class OptimizerReading(Lenient):
    """What one optimizer call that read attempts came to: an entry of `patches.json`."""

    source: str = ""
    attempts: tuple[str, ...] = ()
    patch: Patch = Patch()
    dropped: tuple[Edit, ...] = ()
    unusable: str = ""


class BatchAttempt(Record):
    """An attempt at a training task in the batch of a step."""

    attempt: str
    task: str
    hard: float | None
    reason: str
    feedback: str


class EditRow(AppliedEdit):
    """An edit, what became of it and what the tests say about it."""

    tasks: tuple[str, ...]
    """Those of the attempts that it cites."""
    fixes: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


class StepPage(Record):
    """A step or a slow update."""

    place: str
    name: str
    last: int
    """The number of the last step of the run so far."""
    view: StepView
    attempts: tuple[BatchAttempt, ...]
    readings: tuple[OptimizerReading, ...]
    edits: tuple[EditRow, ...]
    left_out: tuple[UntestedView, ...]
    """Edits that were not tried, each with why."""
    tasks: tuple[Tested, ...]
    """Those that decided."""
    tested: bool
    """The edits were tested one by one, so that edits against failures are a matrix."""
    diff: str


def step_page(run: RunView, place: str) -> StepPage:
    """A step of a run, as far as it has come; `place` as in `steps/0003`. Raises DataError: there is none of that
    name, or one of its files is damaged."""
    decision = next((each for each in decisions(run) if each.place == place), None)
    if decision is None:
        raise DataError(f"run {run.name!r} has no {place!r}", hint=f"it has {len(run.steps)} steps so far")
    folder = Path(run.path) / place
    attempts = read_attempts(folder / "rollout.json")
    tasks = {attempt.id: attempt.task.id for attempt in attempts}
    update, gate = read_view(folder / "update.json", UpdateView), read_view(folder / "gate.json", GateView)
    selected, proof = read_view(folder / "selected.json", SelectedView), read_view(folder / "proof.json", Proof)
    evidence = {} if proof is None else {each.edit.id: each for each in proof.edits}
    rows: list[EditRow] = []
    for applied in () if update is None else update.edits:
        found = evidence.get(applied.edit.id)
        cited = dict.fromkeys(tasks[name] for name in applied.edit.cites if name in tasks)
        row = EditRow(edit=applied.edit, fate=applied.fate, detail=applied.detail, tasks=tuple(cited))
        rows.append(row if found is None else row.model_copy(update={"fixes": found.fixes, "needed": found.needed}))
    return StepPage(
        place=place,
        name=decision.name,
        last=run.steps[-1].number if run.steps else 0,
        view=decision.view,
        attempts=tuple(
            BatchAttempt(
                attempt=attempt.id,
                task=attempt.task.id,
                hard=None if attempt.score is None else attempt.score.hard,
                reason=attempt.reason,
                feedback="" if attempt.score is None else attempt.score.feedback,
            )
            for attempt in attempts
        ),
        readings=read_view(folder / "patches.json", tuple[OptimizerReading, ...]) or (),
        edits=tuple(rows),
        left_out=() if selected is None else selected.left_out,
        tasks=() if gate is None or gate.verdict is None else gate.verdict.tasks,
        tested=proof is not None,
        diff=text_of(folder / "candidate.diff") or "",
    )
