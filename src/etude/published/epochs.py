"""The end of an epoch, from the second one on. Two epochs are compared: the same training tasks under both skills, in
four categories. From it come the slow update, guidance in a protected region of the skill, and then the meta skill:
what the optimizer remembers about optimizing, shown to it in the next epoch and never shipped."""

import random
from collections.abc import Sequence
from typing import Literal

from etude.concurrency import together
from etude.published.acceptance import Acceptance
from etude.published.asking import ask_or_warn
from etude.published.options import PaperOptions
from etude.records import Attempt, Candidate, Edit, LedgerEntry, Record, Skill, Task, TrainState
from etude.run_log import RunLog
from etude.skill import Document, revised, token_count
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import attempt_block, fence, ledger_block
from etude.stages.shared.rollout import Rollout
from etude.workbench import Workbench

Category = Literal["improved", "regressed", "persistent_fail", "stable_success"]
CATEGORIES: tuple[Category, ...] = ("regressed", "persistent_fail", "improved", "stable_success")
_CHANGED = ("improved", "regressed")


class Pair(Record):
    """One task under the previous and the current skill."""

    category: Category
    previous: Attempt
    current: Attempt


async def compare_epochs(
    rollout: Rollout,
    skills: tuple[Skill, Skill],
    tasks: Sequence[Task],
    options: PaperOptions,
    *,
    epoch: int,
    seed: int,
) -> tuple[Pair, ...]:
    """Attempt a sample of training tasks under (previous, current) skill.

    The sample is drawn with seed + 2000 * epoch. `mixed` keeps all of it; `unchanged` keeps persistent failures and
    stable successes; `changed` keeps improved and regressed tasks and continues with the other training tasks until
    it has as many as `slow_update_samples`. Tasks without a score under both skills are left out.
    """
    order = random.Random(seed + 2000 * epoch).sample(list(tasks), len(tasks))
    samples, kept = options.slow_update_samples, options.slow_update_pairs
    pairs = await _attempt_both(rollout, skills, order[:samples], epoch)
    if kept == "unchanged":
        return tuple(pair for pair in pairs if pair.category not in _CHANGED)
    if kept == "mixed":
        return tuple(pairs)
    changed = [pair for pair in pairs if pair.category in _CHANGED]
    for start in range(samples, len(order), samples):
        if len(changed) >= samples:
            break
        more = await _attempt_both(rollout, skills, order[start : start + samples], epoch)
        changed += [pair for pair in more if pair.category in _CHANGED]
    return tuple(changed[:samples])


async def _attempt_both(
    rollout: Rollout, skills: tuple[Skill, Skill], tasks: Sequence[Task], epoch: int
) -> list[Pair]:
    previous, current = await together(rollout.batch(tasks, skill, "train", step=-epoch) for skill in skills)
    return [
        Pair(category=_category(before.solved, after.solved), previous=before, current=after)
        for before, after in zip(previous, current, strict=True)
        if before.score is not None and after.score is not None
    ]


def _category(before: bool, after: bool) -> Category:
    if before:
        return "stable_success" if after else "regressed"
    return "improved" if after else "persistent_fail"


def pairs_block(pairs: Sequence[Pair], limit: int) -> str:
    """All four categories with their counts; attempts of both skills for all but the stable successes."""
    sections: list[str] = []
    for category in CATEGORIES:
        members = [pair for pair in pairs if pair.category == category]
        section = f"# {category}: {len(members)} tasks"
        if category != "stable_success":
            for pair in members:
                section += f"\n\nUnder the previous skill:\n{attempt_block(pair.previous, limit)}"
                section += f"\nUnder the current skill:\n{attempt_block(pair.current, limit)}"
        sections.append(section)
    return "\n\n".join(sections)


def skills_block(previous: Skill, current: Skill) -> str:
    """Both skills, whole."""
    return (
        f"# Previous skill\n\n{fence('skill', previous.text.strip())}\n\n"
        f"# Current skill\n\n{fence('skill', current.text.strip())}"
    )


_EDITS = 40
"""Ledger entries shown: a few epochs of a usual run."""


class _Memory(ReplyForm):
    reasoning: str
    memory: str


async def meta_skill(
    optimizer: Optimizer,
    skills: tuple[Skill, Skill],
    pairs: Sequence[Pair],
    ledger: Sequence[LedgerEntry],
    memory: str,
    limit: int,
) -> str:
    """The new memory; the old one when no answer could be used or it was empty.

    Args:
        skills: the previous and the current one.
    """
    sections = [
        skills_block(*skills),
        f"# Previous memory\n\n{fence('memory', memory)}" if memory else "",
        ledger_block(ledger, _EDITS),
        pairs_block(pairs, limit),
    ]
    otherwise = "the meta skill gave no usable answer and stays as it was"
    reply = await ask_or_warn(optimizer, "meta_skill", sections, _Memory, otherwise)
    return (reply.memory.strip() if reply else "") or memory


REGION = "slow_update"
"""Name of the protected region that holds the guidance."""


class _Guidance(ReplyForm):
    reasoning: str
    guidance: str


async def slow_update(
    optimizer: Optimizer, previous: Skill, current: Skill, pairs: Sequence[Pair], limit: int
) -> Candidate | None:
    """The current skill with new guidance in place of the old, as a candidate; None when there is none to try. In a
    document with a learned block, outside of which nothing changes, the guidance is added there."""
    document = Document.parse(current.text)
    earlier = document.region(REGION)
    sections = [
        skills_block(previous, current),
        f"# Previous guidance\n\n{fence('guidance', earlier.strip())}" if earlier else "",
        pairs_block(pairs, limit),
    ]
    otherwise = "the slow update gave no usable answer and is left out"
    reply = await ask_or_warn(optimizer, "slow_update", sections, _Guidance, otherwise)
    guidance = reply.guidance.strip() if reply else ""
    if not guidance:
        return None
    if document.learned is not None:
        rules = Edit(op="append", content=guidance)
        return Candidate(skill=revised(current, [rules]), origin="slow_update")
    text = document.with_region(REGION, guidance).text
    return Candidate(skill=current.with_text(text), origin="slow_update")


async def end_epoch(
    bench: Workbench, log: RunLog, state: TrainState, options: PaperOptions, acceptance: Acceptance
) -> TrainState:
    """Compare the skill with that of the epoch before; there is nothing to compare when they are the same."""
    config, epoch, previous, current = bench.config, state.epoch, state.epoch_skill, state.current
    optimizer = bench.optimizer()
    wanted = options.slow_update or options.meta_skill
    if previous is None or previous.hash == current.hash or not wanted:
        return state.model_copy(update={"epoch_skill": current})
    limit = config.reflect.max_trajectory_chars
    log.begin("slow_update", state.step, epoch, 2 * options.slow_update_samples)
    pairs = await compare_epochs(
        bench.rollout, (previous, current), bench.tasks["train"], options, epoch=epoch, seed=config.train.seed
    )
    log.write(f"epochs/{epoch:02d}/slow_update.json", pairs)
    if options.slow_update and pairs:
        candidate = await slow_update(optimizer, previous, current, pairs, limit)
        if candidate is not None:
            log.changes.tried([attempt for pair in pairs for attempt in (pair.previous, pair.current)])
            state = await acceptance.guided(state, candidate)
    log.end("slow_update", state.step, f"{len(pairs)} tasks compared")
    if options.meta_skill and pairs:
        log.begin("meta_skill", state.step, epoch)
        memory = await meta_skill(optimizer, (previous, current), pairs, state.ledger, state.meta_skill, limit)
        log.write(f"epochs/{epoch:02d}/meta_skill.json", {"memory": memory})
        state = state.model_copy(update={"meta_skill": memory})
        log.end("meta_skill", state.step, f"{token_count(memory)} tokens")
    return state.model_copy(update={"epoch_skill": state.current})
