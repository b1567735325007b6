"""Adopting a proposal: the documents are replaced together, and a receipt keeps what they were."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from etude.errors import EtudeError, InputError, SkillError, did_you_mean
from etude.records import Record
from etude.records.summary import ShipVerdict
from etude.sleep.adoption.proposal import Proposal, Proposed, again, read_proposal
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active
from etude.sleep.adoption.structure import doubts
from etude.sleep.adoption.transaction import (
    PENDING,
    Recovery,
    Write,
    begun,
    carry_out,
    locked,
    missing_folders,
    settle,
)
from etude.sleep.places import LiveDocument, located, read_document
from etude.sleep.state import as_json, read_kept

RULES = "rules.json"
_ADOPTED = "adopted"


class Receipt(Record):
    """What an adoption did."""

    version: Literal[2] = 2
    night: str
    number: int
    """Counts the adoptions of the night, from 1."""
    documents: tuple[Proposed, ...]
    at: AwareDatetime
    """UTC."""
    reverted: bool = False

    def place(self, state: Path) -> Path:
        """The file that holds it."""
        return state / _ADOPTED / f"{self.night}~{self.number}.json"


def adopt(
    proposal: Path, project: Path, state: Path, *, select: Sequence[str] = (), allow: Iterable[Path] = ()
) -> Receipt:
    """Put the proposed documents in place of the live ones, all or none. Ends an interrupted adoption first.

    Args:
        state: keeps receipts and rules; one for all nights of the project.
        select: names, titles or kinds of the documents to adopt; all by default.
        allow: files and folders outside of the project that the user named.

    Raises:
        InputError: the proposal cannot be read; a document is not as it was when the night read it, or is not the
            project's; nothing is selected. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state)
        offered = read_proposal(proposal)
        allowed, known = tuple(allow), dict(kept_rules(state).documents)
        documents: list[Proposed] = []
        writes: list[Write] = []
        for one in selected(offered, select).values():
            live = _live(offered.night, one.live, project, allowed)
            one = one.model_copy(update={"live": live, "made": missing_folders(live.real)})
            documents.append(one)
            writes.append(replaced(live, one.text.encode(), one.made))
            known[live.real] = one.rules
        number = 1 + max((each.number for each in receipts(state) if each.night == offered.night), default=0)
        receipt = Receipt(night=offered.night, number=number, documents=tuple(documents), at=datetime.now(UTC))
        records = record(receipt.place(state), receipt), record(state / RULES, Rules(documents=known))
        carry_out(state, [*writes, *records])
        return receipt


def replaced(live: LiveDocument, after: bytes | None, folders: tuple[str, ...]) -> Write:
    """The write that makes a document something else."""
    return Write(real=live.real, before=live.data, after=after, mode=live.mode, folders=folders)


def record(path: Path, value: Record) -> Write:
    """The write of a file of the state folder."""
    real = os.path.realpath(path)
    before = Path(real).read_bytes() if os.path.exists(real) else None
    folders = missing_folders(real)
    return Write(real=real, before=before, after=as_json(value).encode(), mode=0o600, folders=folders)


def recover(state: Path, project: Path, allow: Iterable[Path] = ()) -> Recovery | None:
    """End what an interrupted adoption or revert left; None when there is nothing. A state folder can come with a
    project: EtudeError where that would change anything but the state and documents as of `adopt`."""
    with locked(state):
        inside, allowed = os.path.realpath(state), tuple(allow)
        for write in begun(state):
            try:
                linked = os.path.realpath(write.real) != write.real  # then it is left as it is
                if not linked and not Path(write.real).is_relative_to(inside):
                    located(Path(write.real), project, allowed)
                fault = "" if write.plain else f"{write.real!r} is written by way of another place"
            except SkillError as error:
                fault = error.message
            if fault:
                raise EtudeError(
                    f"what was begun in {str(state / PENDING)!r} is not finished: {fault}",
                    hint="if you began no adoption there, remove the folder; else name that file in the settings",
                )
        return settle(state)


def adoptable(rules: Sequence[Rule], verdict: ShipVerdict | None) -> tuple[str, ...]:
    """Why a proposal with these new rules waits for a person; empty when it may be adopted at once."""
    reasons: list[str] = []
    if verdict != "ship":
        said = "there was no verdict" if verdict is None else f"the verdict is {verdict!r}"
        reasons.append(f"{said}; only 'ship' is adopted without a person")
    for rule in active(rules):
        trial = rule.evidence.trial
        if trial is None or not trial.missed:
            reasons.append(f"rule {rule.id} was not tested on its own")
        if not rule.evidence.quotes:
            reasons.append(f"rule {rule.id}: no words of a user ask for it")
        reasons += [f"rule {rule.id} {doubt}" for doubt in doubts(rule.text)]
    return tuple(reasons)


def receipts(state: Path) -> tuple[Receipt, ...]:
    """All adoptions, in the order of nights and numbers."""
    found = (read_kept(path, Receipt) for path in (state / _ADOPTED).glob("*.json"))
    return tuple(sorted(filter(None, found), key=lambda one: (one.night, one.number)))


def kept_rules(state: Path) -> Rules:
    """The rules of all documents as they were last adopted or reverted."""
    return read_kept(state / RULES, Rules) or Rules()


def taken_out(night: str, rules: Rules) -> tuple[tuple[str, Rule], ...]:
    """The rules of a night that a person took out, each with the path of its document."""
    found = ((real, rule) for real, those in rules.documents.items() for rule in those)
    return tuple((real, rule) for real, rule in found if rule.night == night and _gone(rule))


def stands(document: Proposed, night: str, rules: Rules) -> bool:
    """Whether anything of what a night did to a document is left, rules that a later night took out among it."""
    known = rules.documents.get(document.live.real, ())
    there = {rule.text for rule in active(known)}
    mine = (rule for rule in known if rule.night == night)
    return any(not _gone(rule) for rule in mine) or any(rule.text not in there for rule in document.removed)


def _gone(rule: Rule) -> bool:
    return rule.status == "retired" and rule.retired == BY_HAND


def selected(proposal: Proposal, select: Sequence[str]) -> dict[str, Proposed]:
    """The documents of a proposal with these names, titles or kinds, by title; all without any."""
    called = {title: {proposal.name(one), one.live.kind, title} for title, one in proposal.titled.items()}
    names = {name for those in called.values() for name in those}
    for name in select:
        if name not in names:
            night = proposal.night.lstrip("0")
            raise InputError(f"night {night} proposes nothing for {name!r}", hint=did_you_mean(name, names))
    return {title: one for title, one in proposal.titled.items() if not select or called[title] & set(select)}


def _live(night: str, was: LiveDocument, project: Path, allow: Iterable[Path]) -> LiveDocument:
    live = read_document(Path(was.path), was.kind, project, allow)
    if live.real != was.real:
        raise InputError(f"{was.path!r} now leads to {live.real!r}, and not to {was.real!r}", hint=again(night))
    if live.data != was.data:
        raise InputError(
            f"{was.path!r} changed since the night read it",
            hint=f"write the rules of its report into the file yourself, or {again(night)}",
        )
    return live
