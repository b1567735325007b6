"""Reflect: read attempts in minibatches and propose edits that cite them.

`shallow` reads failures and successes apart, each attempt on its own terms, in shuffled minibatches. `deep` reads
failures of one kind together with attempts that passed: of the same kind, and of the same task under an earlier skill
or in an earlier trial.
"""

import random
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from etude.concurrency import together
from etude.config.sections import ReflectSection
from etude.errors import OutageStop, UnusableReply
from etude.records import Attempt, Edit, LedgerEntry, Patch, Record, Skill
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms, PatchReply, Source, valid_edits
from etude.stages.shared.render import attempt_block, edit_budget_line, ledger_block, skill_block

__all__ = [
    "Analysis",
    "Context",
    "Reflection",
    "analyses",
    "count_silence",
    "deep_groups",
    "is_silent",
    "reflect",
    "shallow_groups",
]

_CONTRASTS = 3
"""Passing attempts of the same kind shown next to a group of failures: enough to refute a wrong cause, and short."""

_SILENT_STEPS = 2
"""Steps without a usable answer after which the run stops: one can be bad luck."""


class Reflection(Record):
    """What one optimizer call made of a minibatch."""

    source: Source
    attempts: tuple[str, ...]
    patch: Patch = Patch()
    dropped: tuple[Edit, ...] = ()
    """Edits and reminders that cite no attempt that was shown, or none that they can answer."""
    reminders: tuple[Edit, ...] = ()
    """What the agent is to be reminded of, with `reflect.skill_aware`."""
    lapses: tuple[str, ...] = ()
    """Failures that the skill is not to blame for, likewise."""
    unusable: str = ""
    """Why no answer could be read; empty when one was."""


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
    optimizer: Optimizer, attempts: Sequence[Attempt], context: Context, settings: ReflectSection, seed: int
) -> list[Analysis]:
    """One optimizer call for each minibatch, none of them begun."""
    scored = [attempt for attempt in attempts if attempt.score is not None]
    make_groups = deep_groups if settings.mode == "deep" else shallow_groups
    groups = make_groups(scored, context.earlier, settings, seed)
    return [Analysis(group.source, _read(optimizer, group, context, settings)) for group in groups]


async def reflect(
    optimizer: Optimizer, attempts: Sequence[Attempt], context: Context, settings: ReflectSection, seed: int
) -> tuple[Reflection, ...]:
    """One optimizer call for each minibatch, all at the same time.

    Raises:
        OutageStop: a call failed.
    """
    calls = analyses(optimizer, attempts, context, settings, seed)
    return tuple(await together(analysis.reflection for analysis in calls))


def is_silent(reflections: Sequence[Reflection]) -> bool:
    """There were analyses, and not one gave a usable answer."""
    return bool(reflections) and all(reflection.unusable for reflection in reflections)


def count_silence(reflections: Sequence[Reflection], before: int) -> int:
    """How many steps in a row gave no usable answer, with this one.

    Args:
        reflections: all of the step.
        before: how many there were until now.

    Raises:
        OutageStop: continuing is no use.
    """
    if not is_silent(reflections):
        return 0
    if before + 1 >= _SILENT_STEPS:
        raise OutageStop(
            f"optimizer: no usable answer in {_SILENT_STEPS} steps in a row: {reflections[0].unusable}",
            hint="with --fork try optimizer.structured = 'prompt', a larger max_output_tokens or another model",
        )
    return before + 1


def shallow_groups(
    attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], settings: ReflectSection, seed: int
) -> list[_Group]:
    """Shuffled minibatches of failures, then of successes."""
    del earlier
    failures = [attempt for attempt in attempts if not attempt.solved]
    successes = [] if settings.failure_only else [attempt for attempt in attempts if attempt.solved]
    random.Random(seed).shuffle(failures)
    random.Random(seed + 1).shuffle(successes)
    size = settings.minibatch_size
    return [_Group("reflect_failures", "failures", part) for part in _chunks(failures, size)] + [
        _Group("reflect_successes", "successes", part) for part in _chunks(successes, size)
    ]


def deep_groups(
    attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], settings: ReflectSection, seed: int
) -> list[_Group]:
    """Failures of one task type together, each group with what passed: the same task earlier, then the same type."""
    groups: list[_Group] = []
    for kind in sorted({attempt.task.type for attempt in attempts}):
        same = [attempt for attempt in attempts if attempt.task.type == kind]
        failures = [attempt for attempt in same if not attempt.solved]
        passes = [attempt for attempt in same if attempt.solved]
        random.Random(seed).shuffle(failures)
        random.Random(seed + 1).shuffle(passes)
        for part in _chunks(failures, settings.minibatch_size):
            before = [earlier[attempt.task.id] for attempt in part if attempt.task.id in earlier]
            lost = [attempt for attempt in before if attempt.solved]
            groups.append(
                _Group("reflect_deep", "failures", part, [*lost, *_gained_first(passes, earlier)][:_CONTRASTS])
            )
        if not settings.failure_only:
            rest = _chunks(passes, settings.minibatch_size)
            groups += [_Group("reflect_successes", "successes", part) for part in rest]
    return groups


def _gained_first(passes: Sequence[Attempt], earlier: Mapping[str, Attempt]) -> list[Attempt]:
    """Attempts whose task failed before go first: what changed is what helped."""
    return sorted(passes, key=lambda a: a.task.id not in earlier or earlier[a.task.id].solved)


async def _read(optimizer: Optimizer, group: _Group, context: Context, settings: ReflectSection) -> Reflection:
    ids = tuple(attempt.id for attempt in group.attempts)
    form = context.forms.of(group.source)
    sections = [
        skill_block(context.skill),
        ledger_block(context.ledger, settings.ledger_entries, {a.task.type for a in group.attempts}),
        "" if context.budget is None else edit_budget_line(context.budget, form.noun),
        _attempts_section("Attempts", group.attempts, settings.max_trajectory_chars),
        _attempts_section("Attempts that passed, to compare with", group.contrasts, settings.max_trajectory_chars),
    ]
    try:
        reply = await optimizer.ask(group.prompt, sections, form)
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
    )


def _attempts_section(title: str, attempts: Sequence[Attempt], limit: int) -> str:
    if not attempts:
        return ""
    return f"# {title}\n\n" + "\n\n".join(attempt_block(attempt, limit) for attempt in attempts)


def _chunks(attempts: Sequence[Attempt], size: int) -> list[Sequence[Attempt]]:
    return [attempts[start : start + size] for start in range(0, len(attempts), size)]
