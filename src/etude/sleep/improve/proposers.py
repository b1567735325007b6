"""Proposers: what makes the candidates of a night, and which of them is due.

All of them begin with one rewrite. `rewrite` adds nothing, `contrast` attempts each training task several times so
that attempts at one task are compared, `prune` also leaves out an old rule on trial. `auto` is the bandit UCB1 over
the nights of the project with a decision, of the gate or by a trial of a rule (Auer, Cesa-Bianchi and Fischer 2002):
no lot is drawn, so after the same nights it picks the same.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from etude.errors import ConfigError
from etude.models.handoff import ANSWERED_LATER
from etude.records import Record
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import DECIDED
from etude.sleep.improve.looks import target_of
from etude.sleep.state import SleepState, read_kept
from etude.store.journal import SqliteJournal
from etude.store.views import JOURNAL
from etude.workbench import Given

__all__ = [
    "PROPOSERS",
    "Pick",
    "Played",
    "Proposer",
    "Proposers",
    "applied",
    "credited",
    "fixed",
    "picked",
    "read_proposers",
]

PROPOSERS = "proposers.json"

Proposer = Literal["rewrite", "contrast", "prune"]

_ARMS: tuple[Proposer, ...] = get_args(Proposer)
_SETS: dict[Proposer, tuple[str, str, int]] = {"contrast": ("train", "attempts", 3), "prune": ("sleep", "retire", 1)}
"""Section, key and value of the one setting by which a proposer differs from `rewrite`."""


class Pick(Record):
    """The proposer of a night."""

    name: Proposer = "rewrite"
    why: str = ""
    """Why it is this one; empty where the settings leave it at the default."""

    @property
    def told(self) -> str:
        """For people; empty where the settings leave it at the default."""
        return f"{self.name}: {self.why}" if self.why else ""


class Played(Record):
    """A night with a decision, of the gate or by a trial of a rule, and what its proposer brought."""

    night: int
    proposer: Proposer
    accepted: bool
    """A candidate was accepted, other than one of an earlier night, or a rule is taken out."""
    attempts: int
    """Attempts of the target in the night: those to learn from, at held-out tasks, and for the verdicts."""
    tasks: int
    """Of the night, those for training and the held-out ones."""


class Proposers(Record):
    """`proposers.json` in the state folder."""

    version: int = 1
    nights: tuple[Played, ...] = Field(default=())

    def of(self, proposer: Proposer) -> tuple[Played, ...]:
        """The nights of a proposer."""
        return tuple(night for night in self.nights if night.proposer == proposer)

    def bounds(self) -> dict[Proposer, float]:
        """By proposer, what UCB1 maximizes: the share of its nights with an accepted proposal, divided by what it
        costs relative to the cheapest, and the width of what is unknown about that. Infinite where there is none."""
        costs: dict[Proposer, float] = {arm: _cost(self.of(arm)) for arm in _ARMS if self.of(arm)}
        cheapest = min(costs.values(), default=0.0)
        found: dict[Proposer, float] = dict.fromkeys(_ARMS, math.inf)
        for arm, cost in costs.items():
            mine = self.of(arm)
            share = sum(night.accepted for night in mine) / len(mine)
            relative = cheapest / cost if cost else 1.0
            found[arm] = share * relative + math.sqrt(2 * math.log(len(self.nights)) / len(mine))
        return found


def picked(config: SleepConfig, state: SleepState, given: Given | None = None) -> Pick:
    """The proposer that is due, and why. Writes nothing.

    Args:
        given: objects to use instead of those of the settings.

    Raises:
        ConfigError: the settings ask to compare attempts at one task, and a person answers.
        DataError: `proposers.json` is damaged.
    """
    known, asked, target = read_proposers(state), config.sleep.proposer, target_of(config, given or Given())
    for name, value, without in (("proposer", asked, "rewrite"), ("retire", config.sleep.retire, 0)):
        if value != without and target.startswith(ANSWERED_LATER):
            raise ConfigError(
                f"sleep.{name} = {value!r} compares attempts at one task, and a person answers each question once "
                f"({target!r})",
                hint=f"set sleep.{name}: {without}",
            )
    if asked != "auto":
        named = "proposer" in config.sleep.model_fields_set
        return Pick(name=asked, why="; ".join(["sleep.proposer names it", *_won(config, asked)]) if named else "")
    bounds = known.bounds()
    best = max(_ARMS, key=lambda arm: bounds[arm])  # the first of equal ones
    if math.isinf(bounds[best]):
        why = "auto: no night with a decision has tried it"
    else:
        shown = ", ".join(f"{arm} {bounds[arm]:.2f}" for arm in _ARMS)
        why = f"auto: the highest of {shown} after {len(known.nights)} nights with a decision"
    return Pick(name=best, why="; ".join([why, *_won(config, best)]))


def applied(config: SleepConfig, proposer: Proposer) -> SleepConfig:
    """The settings of a night with this proposer. What the user has set stays."""
    sets = _SETS.get(proposer)
    if sets is None or f"{sets[0]}.{sets[1]}" in fixed(config):
        return config
    section, key, value = sets
    return config.model_copy(update={section: getattr(config, section).model_copy(update={key: value})})


def fixed(config: SleepConfig) -> tuple[str, ...]:
    """Settings of proposers that the user has set, whatever to: they win over the proposer."""
    return tuple(
        f"{section}.{key}" for section, key, _ in _SETS.values() if key in getattr(config, section).model_fields_set
    )


def credited(state: SleepState, night: int, proposer: Proposer, statuses: Collection[str], tasks: int) -> None:
    """Count a night for its proposer, if anything was decided. Told again of the same night, as after a
    kill, nothing changes.

    Args:
        statuses: of the documents whose candidates the proposer has made: one of an earlier night is none of its;
            and of the trials of rules.
        tasks: of the night, those for training and the held-out ones.
    """
    known = read_proposers(state)
    if DECIDED.isdisjoint(statuses) or any(one.night == night for one in known.nights):
        return
    attempts = sum(_attempts(state.night(night)))
    played = Played(night=night, proposer=proposer, accepted="accepted" in statuses, attempts=attempts, tasks=tasks)
    now = known.model_copy(update={"nights": (*known.nights, played)})
    state.write(state.folder / PROPOSERS, now.model_dump_json(indent=1) + "\n")


def read_proposers(state: SleepState) -> Proposers:
    """What is known of the nights before.

    Raises:
        DataError: the file is damaged.
    """
    return read_kept(state.folder / PROPOSERS, Proposers) or Proposers()


def _won(config: SleepConfig, proposer: Proposer) -> Iterator[str]:
    """What the user has set in the place of what the proposer would."""
    sets = _SETS.get(proposer)
    if sets is None or (name := f"{sets[0]}.{sets[1]}") not in fixed(config):
        return
    value = getattr(getattr(config, sets[0]), sets[1])
    if value != sets[2]:
        yield f"{name} = {value} is set and wins over it"


def _cost(nights: Sequence[Played]) -> float:
    """Attempts for each task: a night of many tasks is no dearer proposer."""
    return sum(night.attempts for night in nights) / max(1, sum(night.tasks for night in nights))


def _attempts(night: Path) -> Iterator[int]:
    """Of each run folder. Facts and not calls are counted: a call that a kill cut off is sent a second time."""
    for path in sorted(night.rglob(JOURNAL)):
        with closing(SqliteJournal(path)) as journal:
            yield journal.counts().get("trajectory", 0)
