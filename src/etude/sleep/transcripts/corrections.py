"""The counts of corrections that nights leave to later ones, and what they say of the adoptions that stand."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from etude.records import Record
from etude.sleep.adoption.adopt import Adopted, receipts
from etude.sleep.adoption.canary import Canary, Corrections, corrections, watch
from etude.sleep.config import SleepSection
from etude.sleep.places import MEMORY, SKILLS, memory_path
from etude.sleep.state import SleepState, read_kept
from etude.sleep.transcripts.harvest import Harvested, in_scope

__all__ = ["CORRECTIONS", "canaries", "counted", "keep", "kept", "reads"]

CORRECTIONS = "corrections.json"
_KEPT = 1000
"""Parts of sessions that are kept, those that began last."""
_AGENTS = (*MEMORY, "codex")
"""Of each set of places that agents read one that reads there; `codex` for all that are named nowhere."""


class _Table(Record):
    version: Literal[1] = 1
    sessions: tuple[Corrections, ...] = ()


def counted(sleep: SleepSection, harvested: Iterable[Harvested]) -> tuple[Corrections, ...]:
    """The counts of what is new in the sessions that worked in the project. Transcripts that the user converted
    (`jsonl`) are taken for those of the agent whose documents are improved. A turn that the agent went on with was
    counted by the night that used it first."""
    scope = os.path.realpath(sleep.project)
    found = [
        corrections(
            one.session,
            sleep.agent if one.session.source == "jsonl" else one.session.source,
            one.new + one.again,
        )
        for one in harvested
        if in_scope(one.session.project, scope)
    ]
    return tuple(one for one in found if one is not None)


def kept(state: SleepState) -> tuple[Corrections, ...]:
    """The counts of what nights have used, in the order in which it began.

    Raises:
        DataError: the file is damaged.
    """
    hint = "move it away; adoptions are then watched anew"
    table = read_kept(state.folder / CORRECTIONS, _Table, hint)
    return () if table is None else table.sessions


def keep(state: SleepState, sessions: Sequence[Corrections]) -> None:
    """Remember counts; those of a part that is known are replaced, so that doing it again changes nothing.

    Raises:
        DataError: as `kept`.
        StopRun: the file cannot be written.
    """
    if sessions:
        table = _Table(sessions=_joined(kept(state), sessions))
        state.write(state.folder / CORRECTIONS, table.model_dump_json(indent=1) + "\n")


def canaries(state: SleepState, project: Path, tonight: Sequence[Corrections] = ()) -> tuple[Canary, ...]:
    """What is known of every adoption that stands. Writes nothing.

    Args:
        tonight: counts that are not kept yet.

    Raises:
        DataError: as `kept`.
        EtudeError: a receipt cannot be read.
    """
    known = _joined(kept(state), tonight)
    return watch(receipts(state.folder), known, lambda agent, document: reads(agent, document, project))


def reads(agent: str, document: Adopted, project: Path) -> bool:
    """Whether an agent reads a document of the project by itself. One that is in no place that any agent is known to
    read, since a setting names it, counts as read by all."""
    return _at_its_place(agent, document.real, project) or not any(
        _at_its_place(one, document.real, project) for one in _AGENTS
    )


def _joined(known: Sequence[Corrections], more: Sequence[Corrections]) -> tuple[Corrections, ...]:
    latest = {(one.source, one.id, one.at): one for one in (*known, *more)}
    return tuple(sorted(latest.values(), key=lambda one: (one.at, one.source, one.id))[-_KEPT:])


def _at_its_place(agent: str, real: str, project: Path) -> bool:
    skills = os.path.realpath(project / SKILLS.get(agent, ".agents/skills"))
    return real == os.path.realpath(memory_path(project, agent)) or Path(skills) in Path(real).parents
