"""Consolidation: documents improved on tasks. The skill first, then the memory under the new skill, each by the
trainer, with what is left of the night's budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from etude.concurrency import run_to_end
from etude.envs.scorers.base import Judge
from etude.errors import DataError, EtudeError
from etude.protocols import Environment
from etude.records import Record, Skill
from etude.records.summary import Comparison
from etude.skill import Document
from etude.skill.document import LEARNED
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.improve.block import in_room, told_of_room
from etude.sleep.improve.changes import Change, Place, Status
from etude.sleep.improve.confirm import Fresh, confirmed, trials_of
from etude.sleep.improve.context import Documents, InContext
from etude.sleep.improve.held_out import HeldOut, HeldOutObserver
from etude.sleep.limits import Spent, spent_in, within
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.mined import MinedTask
from etude.trainer import Trainer
from etude.workbench import Given, MakeEnvironment, Past

__all__ = ["Consolidation", "aconsolidate", "consolidate", "in_context", "with_judge"]

GATE_OFF = "the gate is off: it was not tried on held-out tasks"
NO_HELD_OUT = "there are no held-out tasks to try it on"

Tasks = Environment | Sequence[MinedTask]


class _Work(NamedTuple):
    """One document that is to be improved."""

    config: SleepConfig
    """Its limits are what is left of the night's."""
    folder: Path
    place: Place
    past: Past


class Consolidation(Record):
    """What came of all documents."""

    changes: tuple[Change, ...]
    documents: Documents
    """With every change that is to be proposed."""

    def change(self, place: Place) -> Change | None:
        """Of one document; None when it was not to be improved."""
        return next((change for change in self.changes if change.place == place), None)


def consolidate(
    tasks: Tasks,
    documents: Documents,
    config: SleepConfig | Mapping[str, Any],
    folder: Path | str,
    known: Mapping[Place, Past] | None = None,
    **given: Unpack[Given],
) -> Consolidation:
    """`aconsolidate` for synchronous code; works inside a running event loop as well."""
    return run_to_end(aconsolidate(tasks, documents, config, folder, known, **given))


async def aconsolidate(
    tasks: Tasks,
    documents: Documents,
    config: SleepConfig | Mapping[str, Any],
    folder: Path | str,
    known: Mapping[Place, Past] | None = None,
    **given: Unpack[Given],
) -> Consolidation:
    """Improve the documents that are there on the tasks of an environment.

    A document with a block `learned` changes inside of it only (`etude.skill.Document`). Interrupted, the same
    call continues where it was: all that is paid for or decided is in the run folders under `folder`.

    Args:
        tasks: mined tasks, or an environment: training tasks to learn from, and held-out ones (`val`) for the gate,
            without which nothing is accepted.
        documents: a missing document is not improved, nor is one that the settings switch off.
        config: settings of a night, `limits` for both documents together.
        folder: where the run folders `skill` and `memory` are.
        known: what earlier nights know about each document.
        given: objects to use instead of building them from the settings, as for `Trainer`.

    Raises:
        InputError: tasks, documents or settings cannot be used; nothing was paid for.
        StopRun: a budget is used up, an endpoint is dead, or too many attempts errored.
        EtudeError: no attempt has an answer: the target says nothing, or its program never ends.
    """
    config = config if isinstance(config, SleepConfig) else make_sleep_config(config)
    if not trainable(tasks):
        raise DataError("there are no training tasks", hint="mine more sessions, or lower sleep.val_fraction")
    changes: list[Change] = []
    for place in _places(documents, config):
        left = within(config, sum((change.spent for change in changes), Spent()))
        work = _Work(left, Path(folder), place, (known or {}).get(place, Past()))
        change = await _improve(tasks, documents, work, given)
        changes.append(change)
        if change.proposed:
            documents = documents.with_document(place, change.after)
    return Consolidation(changes=tuple(changes), documents=documents)


def held_out_tasks(tasks: Tasks) -> int:
    """How many tasks there are for the gate."""
    if isinstance(tasks, Environment):
        return len(tasks.tasks("val"))
    return sum(task.split == "val" for task in tasks)


def trainable(tasks: Tasks) -> bool:
    """Whether there is anything to learn from."""
    if isinstance(tasks, Environment):
        return bool(tasks.tasks("train"))
    return any(task.split == "train" for task in tasks)


def in_context(tasks: Tasks, documents: Documents, place: Place, config: SleepConfig) -> MakeEnvironment:
    """The environment of a training run over one of the documents."""

    def make(judge: Callable[[], Judge]) -> Environment:
        unsafe = config.unsafe_no_sandbox
        env = tasks if isinstance(tasks, Environment) else NightEnvironment(tasks, judge, unsafe_no_sandbox=unsafe)
        return InContext(env, documents, place, config.own_agent)

    return make


def with_judge(config: SleepConfig, given: Given) -> Given:
    """The given objects, and the optimizer as the judge where there is no other."""
    if config.judge is None and "optimizer" in given:
        return {"judge": given["optimizer"], **given}
    return given


def _places(documents: Documents, config: SleepConfig) -> Iterator[Place]:
    if documents.skill is not None and config.sleep.skill:
        yield "skill"
    if documents.memory is not None and config.sleep.memory:
        yield "memory"


async def _improve(tasks: Tasks, documents: Documents, work: _Work, given: Given) -> Change:
    before = documents.skill if work.place == "skill" else documents.memory
    assert before is not None
    Document.parse(before.text)
    trials = trials_of(work.config, given)
    parts: Given = {
        **with_judge(work.config, given),
        "env": in_context(tasks, documents, work.place, work.config),
        "skill": before,
    }
    plainly = work.config.for_run(work.folder, work.place)
    if not held_out_tasks(tasks):  # nothing can be proposed: one rewrite shows what it would be
        plainly = plainly.model_copy(update={"train": plainly.train.model_copy(update={"epochs": 1})})
    config, observer = in_room(plainly, before), HeldOutObserver()
    summary = await Trainer(config, **{**parts, "past": work.past, "observer": observer}).atrain()
    run = Path(summary.folder)
    held_out = observer.found
    if held_out.silent:
        raise EtudeError(
            f"no attempt has an answer{_last_words(held_out)}",
            hint="look at the target and its agent with `etude doctor`, then run it again",
        )
    after = before
    if summary.best.hash != summary.initial.hash:
        after = before.with_text(_spliced(before.text, (run / summary.best.skill).read_bytes().decode()))
    gate_off = bool(held_out_tasks(tasks)) and not config.gate.enabled
    untried = "" if summary.best.val is not None else GATE_OFF if gate_off else NO_HELD_OUT
    status, reason = _status(before, after, held_out, untried)
    reason = told_of_room(reason, plainly, before)
    comparison: Comparison | None = None
    fresh: Fresh | None = None
    if status == "accepted" and trials:
        status, why, comparison, fresh = await confirmed(config, before, after, trials, parts)
        reason += why
        held_out = _judged(held_out, status)
    return Change(
        place=work.place,
        status=status,
        reason=reason,
        before=before,
        after=before if status == "rejected" else after,
        proposed=status == "accepted" or (status == "unverified" and gate_off),
        baseline=_mean_of([shown.hard for shown in held_out.initial]),
        candidate=_mean_of([shown.hard for shown in held_out.candidate]),
        confirmed=comparison,
        fresh=fresh,
        held_out=held_out,
        spent=spent_in(run),
        simulated=summary.simulated,
    )


def _judged(held_out: HeldOut, status: Status) -> HeldOut:
    """With edits that count as accepted only where fresh attempts bear them out: the next night is told of them."""
    verdict = {"rejected": False, "inconclusive": None}.get(status, True)
    judged = (entry.model_copy(update={"accepted": entry.accepted and verdict}) for entry in held_out.ledger)
    return held_out.model_copy(update={"ledger": tuple(judged)})


def _status(before: Skill, after: Skill, held_out: HeldOut, untried: str) -> tuple[Status, str]:
    if after.hash != before.hash:
        return ("unverified", untried) if untried else ("accepted", held_out.reason)
    return ("unchanged" if held_out.accepted is None else "rejected"), held_out.reason


def _spliced(before: str, best: str) -> str:
    """The document with the learned block of the best one. What stands outside of it is kept as it is: a file in a
    run folder lacks the values of keys, wherever they stood."""
    document = Document.parse(before)
    if document.learned is None:
        return best
    return document.with_region(LEARNED, Document.parse(best).learned or "").render()


def _last_words(held_out: HeldOut) -> str:
    told = [shown.why for shown in held_out.initial if shown.why]
    return f"; the last one: {told[-1]}" if told else ""


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
