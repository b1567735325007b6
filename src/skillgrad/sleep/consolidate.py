"""Consolidation: documents improved on tasks. The skill first, then the memory under the new skill, each by the
trainer, with what is left of the night's budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from pydantic import Field

from skillgrad.build import Given, MakeEnvironment, Past
from skillgrad.compare import acompare_skills
from skillgrad.config import LimitsSection
from skillgrad.envs.scorers.base import Judge
from skillgrad.errors import BudgetStop, DataError, SkillgradError
from skillgrad.protocols import Environment
from skillgrad.records import LedgerEntry, Record, Skill
from skillgrad.searches.rewrite_first import HeldOut
from skillgrad.skill import Document
from skillgrad.skill.document import LEARNED
from skillgrad.sleep.config import SleepConfig, make_sleep_config
from skillgrad.sleep.confirm import Fresh, fresh_of
from skillgrad.sleep.context import Documents, InContext
from skillgrad.sleep.environment import NightEnvironment
from skillgrad.sleep.room import in_room, told_of_room
from skillgrad.sleep.screen import block_of, named, screen
from skillgrad.sleep.tasks import MinedTask
from skillgrad.store import SqliteSpend
from skillgrad.store.journal import SqliteJournal
from skillgrad.store.views import JOURNAL
from skillgrad.summary import Comparison
from skillgrad.threads import run_to_end
from skillgrad.trainer import Trainer

__all__ = [
    "ANSWERED_LATER",
    "Change",
    "Consolidation",
    "Known",
    "Place",
    "Spent",
    "Status",
    "aconsolidate",
    "block_of",
    "consolidate",
    "in_context",
    "left_of",
    "spent_in",
    "with_judge",
]

ANSWERED_LATER = "handoff:"
"""What names of models begin with for which a person answers, in files."""

GATE_OFF = "the gate is off: nobody tried it on held-out tasks"
NO_HELD_OUT = "there are no held-out tasks to try it on"

Tasks = Environment | Sequence[MinedTask]
Place = Literal["skill", "memory"]
Status = Literal["accepted", "rejected", "inconclusive", "unverified", "unchanged"]


class Spent(Record):
    """What was used, over all processes that worked on it."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None when a price is unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spent(calls=self.calls + other.calls, tokens=self.tokens + other.tokens, usd=usd)


class Known(Record):
    """What earlier nights know about a document."""

    ledger: tuple[LedgerEntry, ...] = ()
    """Edits that were tried. They are for the optimizer, never for the agent."""
    before: Skill | None = None
    """The document that the last adopted proposal replaced; the slow update compares the document with it."""


class Change(Record):
    """What came of one document.

    accepted      better on held-out tasks, and worse on none; to be proposed
    rejected      a candidate was made and did not pass the gate, or fresh attempts show no gain
    inconclusive  a candidate passed the gate, and what fresh attempts show may be luck; not to be proposed
    unverified    a candidate was made and not tried: to be proposed where the gate is off, not where there are no
                  held-out tasks
    unchanged     there was no candidate
    """

    place: Place
    status: Status
    reason: str
    before: Skill
    after: Skill
    """As `before` unless accepted, inconclusive or unverified."""
    proposed: bool
    """It is to be proposed: accepted, or unverified because the gate is off."""
    baseline: float | None
    """Mean on the held-out tasks before; None when not measured."""
    candidate: float | None
    """Mean of the candidate, which selected on them; None when not measured."""
    confirmed: Comparison | None
    """Fresh attempts at the held-out tasks under both documents; None when none were asked for."""
    fresh: Fresh | None
    """Whether these show a gain that luck alone does not explain."""
    held_out: HeldOut
    spent: Spent
    simulated: bool
    """Answers came from the simulated world."""
    retired: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Rules that are taken out because nothing misses them: by id, what was measured."""

    @property
    def edits(self) -> tuple[LedgerEntry, ...]:
        """Edits that were tried, with what came of them."""
        return self.held_out.ledger


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
    known: Mapping[Place, Known] | None = None,
    **given: Unpack[Given],
) -> Consolidation:
    """`aconsolidate` for synchronous code; works inside a running event loop as well."""
    return run_to_end(aconsolidate(tasks, documents, config, folder, known, **given))


async def aconsolidate(
    tasks: Tasks,
    documents: Documents,
    config: SleepConfig | Mapping[str, Any],
    folder: Path | str,
    known: Mapping[Place, Known] | None = None,
    **given: Unpack[Given],
) -> Consolidation:
    """Improve the documents that are there on the tasks of an environment.

    A document with a block `learned` changes inside of it only (`skillgrad.skill.Document`). Interrupted, the same
    call goes on where it was: all that is paid for or decided is in the run folders under `folder`.

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
        StopRun: a budget is used up, an endpoint is dead, or too many attempts have no score.
        SkillgradError: no attempt has an answer: the target says nothing, or its program never ends.
    """
    config = config if isinstance(config, SleepConfig) else make_sleep_config(config)
    if not trainable(tasks):
        raise DataError("there are no training tasks", hint="mine more sessions, or lower sleep.val_fraction")
    changes: list[Change] = []
    for place in _places(documents, config):
        limits = left_of(config.limits, sum((change.spent for change in changes), Spent()))
        work = _Work(config, Path(folder), place, limits, (known or {}).get(place, Known()))
        change = await _improve(tasks, documents, work, given)
        changes.append(change)
        if change.proposed:
            documents = documents.with_document(place, change.after)
    return Consolidation(changes=tuple(changes), documents=documents)


class _Work(NamedTuple):
    """One document that is to be improved."""

    config: SleepConfig
    folder: Path
    place: Place
    limits: Mapping[str, Any]
    known: Known


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
        unsafe = config.sleep.unsafe_no_sandbox
        env = tasks if isinstance(tasks, Environment) else NightEnvironment(tasks, judge, unsafe_no_sandbox=unsafe)
        return InContext(env, documents, place, config.agent)

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
    plainly, tokens = work.config.for_run(work.folder, work.place, limits=work.limits), work.config.sleep.block_tokens
    config = in_room(plainly, before, tokens)
    past = Past(ledger=work.known.ledger, skill=work.known.before)
    parts: Given = {
        **with_judge(work.config, given),
        "env": in_context(tasks, documents, work.place, work.config),
        "skill": before,
        "past": past,
        "screen": screen(before),
    }
    summary = await Trainer(config, **parts).atrain()
    run = Path(summary.folder)
    held_out = HeldOut.model_validate_json((run / "held_out.json").read_text(encoding="utf-8"))
    if held_out.silent:
        raise SkillgradError(
            f"no attempt has an answer{_last_words(held_out)}",
            hint="look at the target and its agent with `skillgrad doctor`, then run it again",
        )
    after = before.with_text(_spliced(before.text, (run / summary.best.skill).read_bytes().decode()))
    gate_off = bool(held_out_tasks(tasks)) and not config.gate.enabled
    untried = "" if summary.best.val is not None else GATE_OFF if gate_off else NO_HELD_OUT
    status, reason = _status(before, after, held_out, untried)
    reason = told_of_room(reason, plainly, before, tokens)
    confirmed = fresh = None
    # What a person has answered is found again by its question: a second answer would be the first one.
    target = given["target"].name if "target" in given else config.target.model
    trials = 0 if target.startswith(ANSWERED_LATER) else work.config.sleep.confirm_trials
    if status == "accepted" and trials:
        confirmed = await acompare_skills(config, before, after, "val", trials, **parts)
        fresh = fresh_of(confirmed, work.config.sleep.alpha)
        status, why = _borne_out(confirmed, fresh)
        reason += why
        held_out = _judged(held_out, status)
    return Change(
        place=work.place,
        status=status,
        reason="; ".join([reason, *named(held_out.cut)]),
        before=before,
        after=before if status == "rejected" else after,
        proposed=status == "accepted" or (status == "unverified" and gate_off),
        baseline=_mean_of([shown.hard for shown in held_out.initial]),
        candidate=_mean_of([shown.hard for shown in held_out.candidate]),
        confirmed=confirmed,
        fresh=fresh,
        held_out=held_out,
        spent=spent_in(run),
        simulated=summary.simulated,
    )


def _borne_out(comparison: Comparison, fresh: Fresh) -> tuple[Status, str]:
    """What fresh attempts make of a candidate that passed the gate, and why where that is not accepted."""
    if comparison.difference.mean <= 0:
        return "rejected", ", but fresh attempts do not bear it out"
    if fresh.settled:
        return "accepted", ""
    return "inconclusive", f", but fresh attempts may be luck: p = {fresh.p:.2g}, above sleep.alpha = {fresh.alpha:g}"


def _judged(held_out: HeldOut, status: Status) -> HeldOut:
    """With edits that count as accepted only where fresh attempts bear them out: the next night is told of them."""
    verdict = {"rejected": False, "inconclusive": None}.get(status, True)
    judged = (entry.model_copy(update={"accepted": entry.accepted and verdict}) for entry in held_out.ledger)
    return held_out.model_copy(update={"ledger": tuple(judged)})


def _status(before: Skill, after: Skill, held_out: HeldOut, untried: str) -> tuple[Status, str]:
    if after.hash != before.hash:
        return ("unverified", untried) if untried else ("accepted", held_out.reason)
    tried = held_out.accepted is not None or held_out.cut
    return ("rejected" if tried else "unchanged"), held_out.reason


def _spliced(before: str, best: str) -> str:
    """The document with the regions of the best one. What stands outside of them is kept as it is: a file in a run
    folder lacks the values of keys, wherever they stood."""
    document, other = Document.parse(before), Document.parse(best)
    if LEARNED not in {region.name for region in document.regions}:
        return best
    for region in other.regions:
        document = document.with_region(region.name, region.content)
    return document.render()


def _last_words(held_out: HeldOut) -> str:
    told = [shown.why for shown in held_out.initial if shown.why]
    return f"; the last one: {told[-1]}" if told else ""


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def left_of(limits: LimitsSection, spent: Spent) -> Mapping[str, Any]:
    """The limits of a part of a night, after what the parts before it have used.

    Raises:
        BudgetStop: nothing is left.
    """
    left: dict[str, Any] = limits.model_dump(exclude_unset=True)
    for name, used in (("calls", spent.calls), ("tokens", spent.tokens), ("usd", spent.usd)):
        limit = left.get(name)
        if limit is None or used is None:
            continue
        left[name] = limit - used
        if left[name] <= 0:
            raise BudgetStop(
                f"limits.{name} = {limit:g} is used up by the parts of the night before this one",
                hint=f"raise limits.{name} and run the same command again",
            )
    return left


def spent_in(run: Path) -> Spent:
    """What was used in a run folder that is closed."""
    with closing(SqliteJournal(run / JOURNAL)) as journal:
        totals = SqliteSpend(journal, LimitsSection()).totals()
    return Spent(calls=totals.total_calls, tokens=totals.total_tokens, usd=totals.usd)
