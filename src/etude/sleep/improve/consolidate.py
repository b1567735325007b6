"""Consolidation: documents improved on tasks. The skill first, then the memory under the new skill, each by the
trainer, with what is left of the night's budget."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Unpack

from etude.config import TrainConfig
from etude.display import seen
from etude.envs.scorers.answer_scorer import Judge
from etude.errors import DataError, EtudeError
from etude.measure.compare import compare_alike
from etude.models import answered_by_hand
from etude.protocols import Environment
from etude.published.options import options_of
from etude.readable import CHARACTERS_PER_TOKEN
from etude.records import Record, Skill, Split
from etude.records.summary import Comparison, ShipVerdict
from etude.skill import Document, token_count
from etude.sleep.adoption.rules import block_of, with_block
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.improve.changes import PLACES, DocumentOutcome, Place
from etude.sleep.improve.context import Documents, InContext
from etude.sleep.improve.held_out import HeldOutObserver
from etude.sleep.limits import spent_in, within
from etude.sleep.report import Spent, Status
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.mined import MinedTask, learnable
from etude.stages.shared.contest import behind, exchanged
from etude.trainer import Trainer
from etude.workbench import Given, takes_given

BLOCK_TOKENS = 1_500
"""Room in the block, estimated as characters / 4: what is learned is read in every conversation."""
GATE_OFF = "the gate is off: it was not tried on held-out tasks"
NO_HELD_OUT = "nothing was held out: it was tried on the tasks that it comes from, and is not tested"

_DECIDED: Mapping[ShipVerdict, Status] = {
    "ship": "accepted",
    "do not ship": "rejected",
    "inconclusive": "inconclusive",
}

Tasks = Environment | Sequence[MinedTask]
C = TypeVar("C", bound=TrainConfig)


class Consolidation(Record):
    """What came of all documents."""

    changes: tuple[DocumentOutcome, ...]
    documents: Documents
    """With every change that is to be proposed."""

    @property
    def spent(self) -> Spent:
        """What was used for all of them."""
        return sum((change.spent for change in self.changes), Spent())

    def change(self, place: Place) -> DocumentOutcome | None:
        """Of one document; None when it was not to be improved."""
        return next((change for change in self.changes if change.place == place), None)


@takes_given
async def aconsolidate(
    tasks: Tasks,
    documents: Documents,
    config: SleepConfig | Mapping[str, Any],
    folder: Path | str,
    **given: Unpack[Given],
) -> Consolidation:
    """Improve the documents that are there on the tasks of an environment.

    A document with a block `learned` changes inside of it only (`etude.skill.Document`). Interrupted, the same
    call continues where it was: all that is paid for or decided is in the run folders under `folder`.

    Args:
        tasks: mined tasks, or an environment: training tasks to learn from, and held-out ones (`val`) for the gate.
            What was tried on no held-out task is proposed as not tested.
        documents: a missing document is not improved, nor is one that the settings switch off.
        config: settings of a night, `limits` for both documents together.
        folder: where the run folders `skill` and `memory` are.
        given: objects to use instead of building them from the settings, as for `Trainer`.

    Raises:
        InputError: tasks, documents or settings cannot be used; nothing was paid for.
        StopRun: a budget is used up, an endpoint is dead, or too many attempts errored.
        EtudeError: no attempt has an answer: the target says nothing, or its program never ends.
    """
    config = config if isinstance(config, SleepConfig) else make_sleep_config(config)
    tasks = tasks if isinstance(tasks, Environment) else learnable(tasks)
    if not tasks_on(tasks, "train"):
        raise DataError("there are no training tasks", hint="mine more sessions, or lower sleep.val_fraction")
    changes: list[DocumentOutcome] = []
    trials, held_out = _trials_of(config, given), tasks_on(tasks, "val")
    for place in PLACES:
        document = documents.at(place)
        if document is None or not getattr(config.sleep, place):
            continue
        left = within(config, sum((change.spent for change in changes), Spent())).for_run(Path(folder), place)
        parts = parts_of(config, tasks, documents, place, given)
        change = await _improve(left, place, trials, held_out, parts)
        changes.append(change)
        if change.proposed:
            documents = documents.with_document(place, change.after)
    return Consolidation(changes=tuple(changes), documents=documents)


consolidate = seen(aconsolidate)


def tasks_on(tasks: Tasks, split: Split) -> int:
    """How many tasks are on a side."""
    if isinstance(tasks, Environment):
        return len(tasks.tasks(split))
    return sum(task.split == split for task in tasks)


def parts_of(config: SleepConfig, tasks: Tasks, documents: Documents, place: Place, given: Given) -> Given:
    """What attempts with one of the documents in its place among the others need."""

    def make(judge: Callable[[], Judge]) -> Environment:
        env = tasks if isinstance(tasks, Environment) else NightEnvironment(tasks, judge)
        return InContext(env, documents, place, config.agent)

    document = documents.at(place)
    assert document is not None
    Document.parse(document.text)
    return {**with_judge(config, given), "env": make, "skill": document}


def with_judge(config: SleepConfig, given: Given) -> Given:
    """The given objects, and the optimizer as the judge where there is no other."""
    if config.judge is None and "optimizer" in given:
        return {"judge": given["optimizer"], **given}
    return given


def in_room(config: TrainConfig, document: Skill) -> TrainConfig:
    """The settings for a document with a block: `skill.max_tokens` is what the document has outside of the block and
    the room in it, and every call tells the optimizer how much room there is."""
    if Document.parse(document.text).learned is None:
        return config
    block = block_of(document.text)
    most = token_count(document.text[len(block) :] + "x" * BLOCK_TOKENS * CHARACTERS_PER_TOKEN)
    used = token_count(block)
    left = f"about {BLOCK_TOKENS - used:,} are left" if used <= BLOCK_TOKENS else "it has to become shorter"
    room = (
        f"The lines between the `learned` markers may have about {BLOCK_TOKENS:,} tokens in all, which are "
        f"{BLOCK_TOKENS * CHARACTERS_PER_TOKEN:,} characters. They had {used:,} before the first edit: {left}. What "
        "is longer is not tried. Sharpen or merge rules instead of saying a thing twice."
    )
    skill = config.skill.model_copy(update={"max_tokens": min(config.skill.max_tokens, most)})
    return preferring(config, room).model_copy(update={"skill": skill})


def preferring(config: C, *more: str) -> C:
    """The settings that tell the optimizer more of what the user prefers."""
    preferences = "\n\n".join(filter(None, [config.reflect.preferences.strip(), *more]))
    return config.model_copy(update={"reflect": config.reflect.model_copy(update={"preferences": preferences})})


async def _improve(
    plain: TrainConfig, place: Place, trials: int, held_out_tasks: int, parts: Given
) -> DocumentOutcome:
    before = parts.get("skill")
    assert isinstance(before, Skill)
    config, observer = in_room(plain, before), HeldOutObserver()
    summary = await Trainer(config, **{**parts, "observer": observer}).atrain()
    run, held_out = Path(summary.folder), observer.found
    if held_out.silent is not None:
        raise EtudeError(
            f"no attempt has an answer{f'; the last one: {held_out.silent}' if held_out.silent else ''}",
            hint="look at the target and its agent with `etude doctor`, then run it again",
        )
    reason, after, comparison, by_luck = held_out.reason, before, None, None
    status: Status = "unchanged" if held_out.accepted is None else "rejected"
    if config.skill.max_tokens < plain.skill.max_tokens:
        limit = f"skill.max_tokens = {config.skill.max_tokens}"
        reason = reason.replace(limit, f"the {BLOCK_TOKENS:,} that its learned block may have leave")
    if summary.best.hash != summary.initial.hash:
        best = (run / summary.best.skill).read_bytes().decode()
        # A file in a run folder lacks the values of keys, wherever they stood: only the block is taken from it.
        whole = Document.parse(before.text).learned is None
        after = before.with_text(best if whole else with_block(before.text, block_of(best)))
        status = "accepted"
        if summary.best.val is None or not held_out_tasks:
            status, reason = "unverified", GATE_OFF if held_out_tasks else NO_HELD_OUT
        elif trials:
            status, why, comparison, by_luck = await _confirmed(config, before, after, trials, parts)
            reason += why
    return DocumentOutcome(
        place=place,
        status=status,
        reason=reason,
        before=before,
        after=before if status == "rejected" else after,
        proposed=status == "accepted" or (status == "unverified" and not (held_out_tasks and options_of(plain).gate)),
        confirmed=comparison,
        by_luck=by_luck,
        held_out=held_out,
        baseline=None if summary.initial.val is None else summary.initial.val.mean,
        candidate=None if after is before or summary.best.val is None else summary.best.val.mean,
        spent=spent_in(run),
        simulated=summary.simulated,
    )


def _trials_of(config: SleepConfig, given: Given) -> int:
    """Fresh attempts at each task under each document. A person who answers by hand would give the same answer
    twice, so there are none then."""
    target = given.get("target")
    by_hand = answered_by_hand(config.target) if target is None else target.answered_by_hand
    return 0 if by_hand else config.sleep.confirm_trials


async def _confirmed(
    config: TrainConfig, before: Skill, after: Skill, trials: int, parts: Given
) -> tuple[Status, str, Comparison, float]:
    """Make fresh attempts at the held-out tasks under both documents and decide, since the candidate was selected on
    these tasks; also what to add to the reason, and on what it rests. One attempt at each task is enough where the
    candidate is behind."""
    found = await compare_alike(config, before, after, 1, parts)
    if trials > 1 and not behind(found.tried):
        found = await compare_alike(config, before, after, trials, parts)
    decided = await asyncio.to_thread(exchanged, found.tried, strict=options_of(config).no_regression)
    return _DECIDED[decided.verdict], decided.why and f", but {decided.why}", found, decided.p
