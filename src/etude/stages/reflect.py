"""Reflect: read attempts in minibatches and propose edits that cite them.

`shallow` reads failures and successes apart, each attempt on its own terms, in shuffled minibatches. `deep` reads
failures together with attempts that passed: of the same kind, and of the same task under an earlier skill or in an
earlier trial.
"""

import random
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from etude.config.sections import ReflectSection
from etude.errors import UnusableReply
from etude.records import Attempt, Edit, LedgerEntry, Patch, Record, Skill, Tally, TrainState
from etude.stages.shared.batch import batch_block, spread
from etude.stages.shared.citations import Citations
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms, PatchReply, Proposals, Source, valid_edits
from etude.stages.shared.render import Shared, attempt_block, edit_budget_line, fence, ledger_block, skill_block

_CONTRASTS = 3
"""Passing attempts of the same kind shown next to a group of failures: enough to refute a wrong cause, and short."""
_SILENT_STEPS = 2
"""Steps without a usable answer after which the search ends: one can be bad luck."""
_UNUSABLE_STEPS = 5
"""Steps without a proposal that can be tried after which it ends: single proposals often miss their place."""


class Reflection(Record):
    """What one optimizer call made of a minibatch."""

    source: Source
    attempts: tuple[str, ...]
    patch: Patch = Patch()
    dropped: tuple[Edit, ...] = ()
    """Edits and reminders that cite no attempt that was shown, or none that they can answer."""
    reminders: tuple[Edit, ...] = ()
    """What the agent is to be reminded of, where failures are routed to skill or agent."""
    lapses: tuple[str, ...] = ()
    """Failures that the skill is not to blame for, likewise."""
    unusable: str = ""
    """Why no answer could be read; empty when one was."""
    repaired: int = 0
    """Citations that named an attempt in another way than by its id."""
    uncited: int = 0
    """Proposals that cite no attempt that was shown: they count for all failures that were."""


class Context(NamedTuple):
    """What is known when attempts are read."""

    skill: Skill
    budget: int | None
    """Most edits one patch may have, as scheduled; None when there is no such limit."""
    ledger: Sequence[LedgerEntry]
    earlier: Mapping[str, Attempt]
    """The attempt before this one at each task, by task id."""
    forms: Forms = Forms(PatchReply, PatchReply, PatchReply)
    """What an analysis returns."""
    batch: Sequence[Attempt] = ()
    """All attempts of the step, to be counted; by default those that are read."""
    told: str = ""
    """What the agent is besides the skill, as `told_block` says it."""
    tallies: Sequence[Tally] = ()
    """How many tasks were solved in the steps before."""


class Minibatches(NamedTuple):
    """How attempts are divided among calls."""

    size: int
    """Attempts in one call."""
    seed: int
    """Of their order."""
    failures_only: bool
    """Leave out the attempts that succeeded."""


class _Group(NamedTuple):
    prompt: str
    source: Source
    attempts: Sequence[Attempt]
    contrasts: Sequence[Attempt] = ()


class Analysis(NamedTuple):
    """A call about a minibatch that is to be made or under way."""

    source: Source
    reflection: Coroutine[Any, Any, Reflection]


def analyses(
    optimizer: Optimizer,
    attempts: Sequence[Attempt],
    context: Context,
    settings: ReflectSection,
    minibatches: Minibatches,
) -> list[Analysis]:
    """One optimizer call for each minibatch, none of them begun. Each raises `OutageStop` where it fails."""
    scored = [attempt for attempt in attempts if attempt.score is not None]
    groups = make_groups(scored, context.earlier, minibatches, deep=settings.mode == "deep")
    context = context if context.batch else context._replace(batch=scored)
    return [Analysis(group.source, _read(optimizer, group, context, settings)) for group in groups]


def is_silent(reflections: Sequence[Reflection]) -> bool:
    """There were analyses, and not one gave a usable answer."""
    return bool(reflections) and all(reflection.unusable for reflection in reflections)


def after_reflection(state: TrainState, reflections: Sequence[Reflection], unusable: str = "") -> TrainState:
    """Count what the analyses of a step lacked; the search gives up where too many steps in a row gave nothing that
    could be tried.

    Args:
        reflections: all of the step.
        unusable: why none of what was proposed can be tried; empty when something can, or nothing was proposed.
    """
    silent = is_silent(reflections)
    steps = state.silent_steps + 1 if silent or unusable else 0
    gave_up = ""
    if silent and steps >= _SILENT_STEPS:
        gave_up = f"the optimizer gave no usable answer in {steps} steps in a row: {reflections[0].unusable}"
    elif steps >= _UNUSABLE_STEPS:
        gave_up = f"no proposal of the optimizer could be tried in {steps} steps in a row: {unusable}"
    return state.model_copy(
        update={
            "silent_steps": steps,
            "gave_up": gave_up,
            "repaired_cites": state.repaired_cites + sum(one.repaired for one in reflections),
            "uncited": state.uncited + sum(one.uncited for one in reflections),
        }
    )


def make_groups(
    attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], minibatches: Minibatches, *, deep: bool
) -> list[_Group]:
    """Shuffled minibatches of failures, then of successes.

    Args:
        deep: failures of one task type together, each with what passed: the same task earlier, then the same type.
            Types with few failures share a group, so that a call is never about less than it could be.
    """
    size, seed, failures_only = minibatches
    groups: list[_Group] = []
    successes: list[_Group] = []
    for kind in sorted({attempt.task.type for attempt in attempts}) if deep else [""]:
        same = [attempt for attempt in attempts if not deep or attempt.task.type == kind]
        failures = [attempt for attempt in same if not attempt.solved]
        passes = [attempt for attempt in same if attempt.solved]
        random.Random(seed).shuffle(failures)
        random.Random(seed + 1).shuffle(passes)
        # What failed before comes first: what changed is what helped.
        gained = sorted(passes, key=lambda one: one.task.id not in earlier or earlier[one.task.id].solved)[
            :_CONTRASTS
        ]
        for part in _chunks(spread(failures), size):
            before = [earlier[attempt.task.id] for attempt in part if attempt.task.id in earlier]
            lost = [attempt for attempt in before if attempt.solved]
            contrasts = [*lost, *gained][:_CONTRASTS] if deep else []
            if groups and len(groups[-1].attempts) + len(part) <= size:
                last = groups.pop()
                part, contrasts = [*last.attempts, *part], [*last.contrasts, *contrasts]
                random.Random(seed).shuffle(part)  # another seed shows another order, also where each kind has one
            prompt = "reflect_deep" if deep else "reflect_failures"
            groups.append(_Group(prompt, "failures", part, contrasts))
        if not failures_only:
            successes += [_Group("reflect_successes", "successes", part) for part in _chunks(passes, size)]
    return [*groups, *successes]


async def _read(optimizer: Optimizer, group: _Group, context: Context, settings: ReflectSection) -> Reflection:
    ids = tuple(attempt.id for attempt in group.attempts)
    form = context.forms.of(group.source)
    limit = settings.max_trajectory_chars
    sections = [
        Shared(context.told),
        skill_block(context.skill),
        ledger_block(context.ledger, settings.ledger_entries, {a.task.type for a in group.attempts}, context.skill),
        batch_block(context.batch, context.earlier, context.tallies),
        "" if context.budget is None else edit_budget_line(context.budget, form.noun),
        _attempts_section("Attempts", group.attempts, limit),
        _attempts_section("Attempts that passed, to compare with", group.contrasts, limit),
    ]
    failed = [attempt.id for attempt in group.attempts if not attempt.solved]
    citations = Citations(group.attempts, failed if group.source == "failures" else ids)
    try:
        reply = citations.read(await optimizer.ask(group.prompt, sections, form))
        if citations.uncited:
            reply, citations = await _cited(optimizer, group.prompt, sections, reply, citations)
    except UnusableReply as error:
        optimizer.warn(f"an analysis of {len(ids)} attempts gave no usable answer: {error.message}")
        return Reflection(source=group.source, attempts=ids, unusable=error.message)
    kept, dropped = valid_edits(reply.proposed(), ids)
    reminders, forgotten = valid_edits(reply.reminded(), ids)
    return Reflection(
        source=group.source,
        attempts=ids,
        patch=Patch(edits=kept[: context.budget], reasoning=reply.reasoning),
        dropped=(*dropped, *forgotten),
        reminders=reminders,
        lapses=tuple(attempt for attempt in ids if attempt in reply.lapses()),
        repaired=citations.repaired,
        uncited=citations.uncited,
    )


async def _cited(
    optimizer: Optimizer, prompt: str, sections: Sequence[str], reply: Proposals, citations: Citations
) -> tuple[Proposals, Citations]:
    """Ask once for the citations that are missing; what comes back counts where fewer are missing then."""
    ids = ", ".join(attempt.id for attempt in citations.shown)
    wrong = (
        f"# What was wrong with your answer\n\n{citations.uncited} proposals cite no attempt that is shown. Propose "
        "the same again, and cite ids in `cites`. "
        f"The ids are: {ids}.\n\n{fence('answer', reply.model_dump_json())}"
    )
    again = Citations(citations.shown, citations.meant)
    try:
        second = again.read(await optimizer.ask(prompt, [*sections, wrong], type(reply)))
    except UnusableReply:
        return reply, citations
    return (second, again) if again.uncited < citations.uncited and second.proposed() else (reply, citations)


def _attempts_section(title: str, attempts: Sequence[Attempt], limit: int) -> str:
    if not attempts:
        return ""
    return f"# {title}\n\n" + "\n\n".join(attempt_block(each, limit) for each in attempts)


def _chunks(attempts: Sequence[Attempt], size: int) -> list[Sequence[Attempt]]:
    return [attempts[start : start + size] for start in range(0, len(attempts), size)]
