"""More to train on than one night has: rewordings of its tasks, and similar tasks of earlier nights."""

import re
from collections.abc import Sequence

from etude.concurrency import together
from etude.envs.likeness import NEAR, likeness
from etude.envs.splits import fold
from etude.errors import UnusableReply
from etude.records import Split, digest
from etude.sleep.tasks.clusters import alike, near
from etude.sleep.tasks.mined import LONGEST_INTENT, SHORTEST_INTENT, MinedTask
from etude.sleep.tasks.mining import MiningResult, all_of
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

_LEAST_LIKE = 0.2
"""A task of an earlier night that has less in common with tonight's is no help."""
_QUOTED = re.compile(
    r"\"[^\"\n]+\"|\u201c[^\u201d\n]+\u201d|\u00ab[^\u00bb\n]+\u00bb|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)"
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


class _Rewordings(ReplyForm):
    rewordings: tuple[str, ...]


async def dream(tasks: Sequence[MinedTask], n: int, optimizer: Optimizer) -> MiningResult:
    """At most `n` rewordings of each real training task among `tasks`, with the same context and criteria, for
    training only; all tasks are asked about at the same time. A rewording is dropped when it loses a number or
    something in quotes, says what another one says, or comes near a held-out task.

    Raises:
        StopRun: a call failed. Answers are cached: the same call resumes.
    """
    if n < 1:
        return MiningResult()
    real = sorted((task for task in tasks if task.origin == "real" and task.split == "train"), key=lambda t: t.id)
    held = [task for task in tasks if task.split != "train"]
    results = await together(_reword(task, n, held, optimizer) for task in real)
    return all_of(results)


def recall(
    archive: Sequence[MinedTask],
    tasks: Sequence[MinedTask],
    k: int,
    side: Split = "train",
    least: float = _LEAST_LIKE,
) -> tuple[MinedTask, ...]:
    """The `k` tasks of a side in earlier nights that are most like one of tonight's in the same project; fewer where
    fewer have something in common with it, or `least` in likeness. Never one that is near a task of the other side,
    tonight's or then."""
    ids = {task.id for task in tasks}
    tonight = [task for task in tasks if task.split == side] or tasks
    other_side = [task for task in (*tasks, *archive) if task.split != side]
    found: list[tuple[float, str, MinedTask]] = []
    for task in archive:
        own = [alike(task, other) for other in tonight if other.project == task.project]
        if task.origin != "real" or task.split != side or task.id in ids or max(own, default=-1.0) < least:
            continue
        if not any(task.cluster == other.cluster != "" or near(task, other) for other in other_side):
            found.append((-max(own), task.id, task))
    best = [task for _, _, task in sorted(found, key=lambda row: row[:2])[: max(k, 0)]]
    if side != "train":
        return tuple(best)
    again = {"origin": "recall", "split": "train"}
    own = ({"id": f"recall:{task.id}", "derived_from": task.id} for task in best)
    return tuple(task.model_copy(update={**again, **names}) for task, names in zip(best, own, strict=True))


def kept_pieces(intent: str) -> frozenset[str]:
    """The numbers of a request, and what it has in quotes, quotes included: what no rewording may lose."""
    return frozenset((*_QUOTED.findall(intent), *_NUMBER.findall(_QUOTED.sub(" ", intent))))


async def _reword(task: MinedTask, n: int, held: Sequence[MinedTask], optimizer: Optimizer) -> MiningResult:
    asked = [f"# Rewordings wanted: {n}", fence("request", task.intent)]
    try:
        reply = await optimizer.ask("sleep_dream", asked, _Rewordings)
    except UnusableReply:
        return MiningResult()
    dreamt: list[MinedTask] = []
    dropped: list[str] = []
    said = {fold(task.intent)}
    for text in map(str.strip, reply.rewordings[:n]):
        reason = _unlike(task, text, said, held)
        if reason:
            dropped.append(reason)
            continue
        said.add(fold(text))
        name = f"{task.id}~{digest(text)[:6]}"
        change = {"id": name, "intent": text, "origin": "dream", "derived_from": task.id, "split": "train"}
        dreamt.append(task.model_copy(update=change))
    return MiningResult(tasks=tuple(dreamt), dropped=tuple(dropped))


def _unlike(task: MinedTask, text: str, said: set[str], held: Sequence[MinedTask]) -> str:
    """Why a rewording is not used; empty when it is."""
    if not SHORTEST_INTENT <= len(text) <= LONGEST_INTENT:
        return f"it has {len(text)} characters"
    if fold(text) in said:
        return "it says what another one says"
    lost = sorted(kept_pieces(task.intent) - kept_pieces(text))
    if lost:
        return f"it loses {lost[0]}"
    near = next((other.id for other in held if likeness(text, other.intent) >= NEAR), None)
    return f"it comes near the held-out task {near!r}" if near is not None else ""
