"""Rotation: after so many nights with a gate decision the train and val sides of clusters are drawn anew.

A project that is tried on the same held-out tasks night after night ends up with rules that are right for these. The
test side takes no part: what is in it stays locked for ever.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from pydantic import Field

from etude.records import Record, Split, digest
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.known import read_memory
from etude.sleep.adoption.rules import Rule, active, lineage
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import DECIDED
from etude.sleep.state import SleepState, read_kept
from etude.sleep.tasks.gather import archive, archived
from etude.sleep.tasks.mined import MinedTask, original_id

__all__ = ["ROTATION", "Rotation", "cited_tasks", "counted", "drawn_anew", "read_rotation", "rotated"]

ROTATION = "rotation.json"


class Rotation(Record):
    """How often sides were drawn, and the nights since: `rotation.json` in the state folder."""

    version: int = 1
    number: int = 0
    """How often all sides were drawn anew."""
    nights: tuple[int, ...] = Field(default=())
    """Nights with a gate decision since then."""
    night: int | None = None
    """The night in which it was done last."""
    before: int = 0
    """Nights with a gate decision between the last time and the one before it."""

    def due(self, after: int) -> bool:
        """Whether sides are to be drawn anew; never where `after` is 0."""
        return 0 < after <= len(self.nights)


def read_rotation(state: SleepState) -> Rotation:
    """As it stands.

    Raises:
        DataError: its file is damaged.
    """
    return read_kept(_path(state), Rotation) or Rotation()


def counted(state: SleepState, night: int, statuses: Iterable[str]) -> None:
    """Count a night, if the gate has decided on one of its documents. Told again of the same night, as after a kill,
    nothing changes."""
    rotation = read_rotation(state)
    if night not in rotation.nights and DECIDED & set(statuses):
        state.write(_path(state), _json(rotation.model_copy(update={"nights": (*rotation.nights, night)})))


def rotated(config: SleepConfig, state: SleepState, night: int) -> tuple[tuple[MinedTask, ...], tuple[str, ...]]:
    """The tasks of earlier nights, on new sides where it is time for that, and what to tell of it.

    A cluster that a standing rule rests on is for training in any case: its proposal may be older than the sides. So
    is one that a carried candidate was made from. The archive is written before the number of the rotation. Killed
    between the two, the next night draws again, and the same; killed later, the night that goes on tells it again.

    Args:
        night: this one.

    Raises:
        EtudeError: a file of the state is damaged.
    """
    tasks, rotation = archived(state), read_rotation(state)
    cited = cited_tasks(kept_rules(state.folder).documents.values()) | read_memory(state).made_from
    if rotation.due(config.sleep.rotate_nights):
        sleep = config.sleep
        rotation = Rotation(number=rotation.number + 1, night=night, before=len(rotation.nights))
        tasks = drawn_anew(tasks, cited, number=rotation.number, val=sleep.val_fraction, seed=config.train.seed)
        archive(state, tasks)
        state.write(_path(state), _json(rotation))
    notes: tuple[str, ...] = ()
    if rotation.night == night:
        decided = f"nights with a gate decision before: {rotation.before}"
        notes = (f"rotation {rotation.number}: it was drawn anew which clusters are trained on ({decided})",)
    learned = {task.cluster for task in tasks if task.id in cited}
    back = {task.id for task in tasks if task.split == "val" and task.cluster in learned}
    return tuple(task.model_copy(update={"split": "train"}) if task.id in back else task for task in tasks), notes


def drawn_anew(
    tasks: Sequence[MinedTask], cited: Collection[str], *, number: int, val: float, seed: int
) -> tuple[MinedTask, ...]:
    """The tasks of earlier nights with new sides, by cluster. It depends on the clusters, the seed and the number of
    the rotation, not on the sides before: drawing twice is drawing once.

    `test` stays `test`. A cluster of which a task is in `cited` is for training, whatever the lot says. Of the others
    so many are held out as `val` asks of all, and one at least of each where there are two.
    """
    clusters = {task.cluster for task in tasks if task.split != "test"} - {
        task.cluster for task in tasks if task.split == "test"
    }
    learned = {task.cluster for task in tasks if task.id in cited} & clusters
    free = sorted(clusters - learned, key=lambda cluster: (digest([seed, cluster, number]), cluster))
    held = round(val * len(clusters))
    if val and len(clusters) > 1:
        held = min(max(1, held), len(free) if learned else len(free) - 1)
    sides: dict[str, Split] = {name: "val" if at < held else "train" for at, name in enumerate(free)}
    sides |= dict.fromkeys(learned, "train")
    return tuple(task.model_copy(update={"split": sides.get(task.cluster, "test")}) for task in tasks)


def cited_tasks(documents: Iterable[Sequence[Rule]]) -> set[str]:
    """Ids of the tasks that rules rest on which stand in a document, or texts that these had before. A rewording or a
    recalled task stands for the one it is derived from."""
    named = {
        name
        for rules in documents
        for rule in active(rules)
        for one in lineage(rule, rules)
        for name in one.evidence.tasks
    }
    return {original_id(name) for name in named}


def _path(state: SleepState) -> Path:
    return state.folder / ROTATION


def _json(rotation: Rotation) -> str:
    return rotation.model_dump_json(indent=1) + "\n"
