"""Which documents of a project a night improves together, and on which tasks."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from etude.envs.scorers.answer_scorer import Judge
from etude.errors import SkillError
from etude.readable import cut_middle
from etude.records import Skill
from etude.skill import token_count
from etude.sleep.adoption.proposal import DocumentChange, opened
from etude.sleep.adoption.rules import pieces
from etude.sleep.config import EACH, SleepConfig
from etude.sleep.improve.changes import PLACES, Place
from etude.sleep.improve.context import Documents
from etude.sleep.live_documents import (
    LiveDocument,
    check_writable,
    documents_of,
    read_document,
    secrets_in,
    skill_paths,
    without_secrets,
)
from etude.sleep.state import Surroundings
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.mined import MinedTask

_SHOWN = 8_000
"""Characters of a file of instructions that attempts are shown: they pay for them each time."""
_A_RULE = 50
"""Tokens that a rule has at least, its block with it."""


class DocumentGroup(NamedTuple):
    """Documents that are improved together, on tasks of their own."""

    name: str
    skill: LiveDocument
    memory: LiveDocument
    """Read by the agent in any case."""
    improves: tuple[Place, ...]
    tasks: tuple[MinedTask, ...]
    run: Path
    """Its run folders are below it."""
    others: tuple[str, ...] = ()
    """Other instructions that the agent reads, without secrets."""

    @property
    def documents(self) -> Documents:
        """As the agent reads them, without secrets, each with a block to write into."""
        skill, memory = (Skill(name=self.title(place), text=_sent(self.live(place))) for place in PLACES)
        return Documents(skill=skill, memory=memory, others=self.others)

    def live(self, place: Place) -> LiveDocument:
        """A document as it is on disk, with the rules that wait for it."""
        return self.skill if place == "skill" else self.memory

    def title(self, place: Place) -> str:
        """What reports call a document."""
        return self.name if place == "skill" else "memory"


def groups_of(
    config: SleepConfig,
    tasks: Sequence[MinedTask],
    around: Surroundings,
    runs: Path = Path(),
    waiting: Mapping[str, DocumentChange] = MappingProxyType({}),
) -> tuple[tuple[DocumentGroup, ...], tuple[str, ...]]:
    """The groups that have tasks, with run folders below `runs`; and which skills with tasks of their own cannot be
    improved, and why. Their tasks go to the documents of all. Documents have the rules that wait for them (`waiting`,
    by real path) as if they were adopted."""
    sleep, project = config.sleep, Path(config.sleep.project)

    def drafted(live: LiveDocument) -> LiveDocument:
        offer = waiting.get(live.real)
        return live if offer is None else live.model_copy(update={"data": offer.text.encode()})

    read = documents_of(sleep, around)
    learned, memory = drafted(read.skill), drafted(read.memory)
    others = tuple(cut_middle(text, _SHOWN) for text in read.others)
    found: list[DocumentGroup] = []
    notes = [
        f"{live.path} holds what looks like a secret ({count}): no model is sent it; take it out of the file"
        for live in (learned, memory)
        if (count := secrets_in(live.text))
    ]
    left = list(tasks)
    for name, path in skill_paths(project, sleep.agent).items() if sleep.skill == EACH else ():
        own = tuple(task for task in left if task.skill == name)
        if own and os.path.realpath(path) != learned.real:
            try:
                live = drafted(read_document(path, "skill", project))
                _check_usable(live, config)
            except SkillError as error:  # one skill out of order stops no other
                notes.append(f"the skill {name!r} is not improved: {error.message}")
                continue
            found.append(DocumentGroup(name, live, memory, ("skill",), own, runs / name, others))
            left = [task for task in left if task.skill != name]
    improves: tuple[Place, ...] = tuple(place for place in PLACES if getattr(sleep, place))
    if left:
        name = sleep.skill_name
        found.append(DocumentGroup(name, learned, memory, improves, tuple(left), runs / name, others))
    return tuple(found), tuple(notes)


def kept_from_models(block: str) -> frozenset[int]:
    """Which rules of a block, by their place, hold a secret, alone or together with those next to them: no model is
    sent them, so that none can write them again in another form."""
    rules = [text + below for text, below in pieces(block)]
    found = {at for at, rule in enumerate(rules) if secrets_in(rule)}
    for start in range(
        len(rules) if secrets_in("".join(rule for at, rule in enumerate(rules) if at not in found)) else 0
    ):
        stop = next((end for end in range(start + 2, len(rules) + 1) if secrets_in("".join(rules[start:end]))), start)
        found |= set(range(start, stop))
    return frozenset(found)


def _sent(live: LiveDocument) -> str:
    """What models are sent of a document: without secrets, and the rules of its block byte for byte or not at all."""
    document = opened(live)
    text, span = document.text, document.learned_span
    assert span is not None
    block = text[slice(*span)]
    kept = kept_from_models(block)
    rules = "".join(rule + below for at, (rule, below) in enumerate(pieces(block)) if at not in kept)
    return without_secrets(text[: span[0]]) + (rules if kept else block) + without_secrets(text[span[1] :])


def check_documents(config: SleepConfig, around: Surroundings) -> None:
    """Raises SkillError: a document that is to be improved has no room for a rule, or cannot be written."""
    for live in documents_of(config.sleep, around)[:2]:
        if getattr(config.sleep, live.kind):
            _check_usable(live, config)


def _check_usable(live: LiveDocument, config: SleepConfig) -> None:
    check_writable(live)
    tokens = token_count(live.opening)
    if tokens + _A_RULE > config.skill.max_tokens:
        raise SkillError(
            f"{live.path!r} has about {tokens:,} tokens: skill.max_tokens = {config.skill.max_tokens:,} leaves "
            "no room for a rule",
            hint="raise skill.max_tokens, shorten the document, or set sleep.memory or sleep.skill to false",
        )


def check_tasks(config: SleepConfig, tasks: Sequence[MinedTask], around: Surroundings) -> None:
    """Refuse tasks that no night can use, group by group: what one trains on another may hold out. Asks no model."""
    for group in groups_of(config, tasks, around)[0]:
        NightEnvironment(group.tasks, _asked_later)


def _asked_later() -> Judge:
    raise AssertionError("looking at tasks asks no judge")
