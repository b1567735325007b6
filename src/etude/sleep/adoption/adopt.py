"""Adopting a proposal: the documents are replaced together, what they were is kept, and a receipt says what was
done."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from etude.errors import InputError, did_you_mean
from etude.records import Record
from etude.records.summary import ShipVerdict
from etude.skill import Document
from etude.sleep.adoption.proposal import (
    Item,
    Manifest,
    again,
    number_of,
    outside_is_kept,
    proposed_rules,
    proposed_text,
    read_proposal,
)
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active
from etude.sleep.adoption.structure import doubts
from etude.sleep.adoption.transaction import (
    OnWrite,
    Recovery,
    Write,
    carry_out,
    locked,
    missing_folders,
    settle,
    silent,
)
from etude.sleep.places import Kind, LiveDocument, read_document
from etude.sleep.state import read_kept

__all__ = [
    "RULES",
    "Adopted",
    "Receipt",
    "adopt",
    "adoptable",
    "as_json",
    "kept_rules",
    "receipts",
    "recover",
    "selected",
    "stands",
    "taken_out",
]

RULES = "rules.json"
_ADOPTED = "adopted"
_RECEIPT = "receipt.json"


class Adopted(Record):
    """One document that was replaced."""

    name: str
    kind: Kind
    path: str
    real: str
    before: str | None
    """SHA-256; None when there was no file."""
    after: str
    backup: str
    """File with the old bytes, beside the receipt; empty when there was none."""
    made: tuple[str, ...] = ()
    """Folders that were made for it, the outermost first."""
    had_block: bool
    """The document had a learned block before."""
    added: tuple[str, ...] = ()
    """Texts of the rules that the night brought."""
    removed: tuple[str, ...] = ()
    """Texts of the rules that it took out."""
    rules_before: tuple[Rule, ...] = ()


class Receipt(Record):
    """What an adoption did."""

    version: Literal[1] = 1
    night: str
    number: int
    """Counts the adoptions of the night, from 1."""
    documents: tuple[Adopted, ...]
    at: AwareDatetime | None = None
    """When it was; UTC. None where nobody noted it."""
    reverted: bool = False

    def folder(self, state: Path) -> Path:
        """Where the receipt and the old files are."""
        return state / _ADOPTED / f"{self.night}~{self.number}"

    def place(self, state: Path) -> Path:
        """The file that holds it."""
        return self.folder(state) / _RECEIPT


def adopt(
    proposal: Path,
    project: Path,
    state: Path,
    *,
    select: Sequence[str] = (),
    allow: Iterable[Path] = (),
    on_write: OnWrite = silent,
) -> Receipt:
    """Put the proposed documents in place of the live ones, all or none. Ends an interrupted adoption first.

    Args:
        state: keeps receipts, old files and rules; one for all nights of the project.
        select: names, titles or kinds of the documents to adopt; all by default.
        allow: files and folders outside of the project that the user named.
        on_write: is called before each write.

    Raises:
        InputError: the proposal or a document is not as it was when the night ended, or is not the project's; nothing
            is selected. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        manifest = read_proposal(proposal)
        rules = proposed_rules(proposal, manifest)
        allowed = tuple(allow)
        known = kept_rules(state)
        number = 1 + max((one.number for one in receipts(state) if one.night == manifest.night), default=0)
        receipt = Receipt(night=manifest.night, number=number, documents=(), at=datetime.now(UTC))
        documents: list[Adopted] = []
        writes: list[Write] = []
        for item in selected(manifest, select).values():
            live = _live(manifest.night, item, project, allowed)
            text = _checked_text(proposal, manifest.night, item, live)
            before, after = known.documents.get(live.real, ()), rules.documents.get(live.real, ())
            backup = "" if live.data is None else f"before-{len(writes)}"
            documents.append(_adopted(manifest.night, item, live, before, after, backup))
            writes.append(Write(real=live.real, before=live.data, after=text.encode(), mode=live.mode))
            known = Rules(documents={**known.documents, live.real: after})
        receipt = receipt.model_copy(update={"documents": tuple(documents)})
        records = {receipt.place(state): as_json(receipt), state / RULES: as_json(known)}
        carry_out(state, receipt.folder(state), writes, records, on_write)
        return receipt


def recover(state: Path, on_write: OnWrite = silent) -> Recovery | None:
    """End what an interrupted adoption or revert left; None when there is nothing.

    Raises:
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be put back; it can be tried again.
    """
    with locked(state):
        return settle(state, on_write)


def adoptable(rules: Sequence[Rule], verdict: ShipVerdict | None) -> tuple[str, ...]:
    """Why a proposal waits for a person; empty when it may be adopted at once.

    Args:
        rules: those that the night brought.
        verdict: of fresh attempts under both documents; None when there were none.
    """
    reasons: list[str] = []
    if verdict != "ship":
        said = "there was no verdict" if verdict is None else f"the verdict is {verdict!r}"
        reasons.append(f"{said}; only 'ship' is adopted without a person")
    for rule in active(rules):
        reasons += [f"rule {rule.id} {doubt}" for doubt in doubts(rule.text)]
    return tuple(reasons)


def receipts(state: Path) -> tuple[Receipt, ...]:
    """All adoptions, in the order of nights and numbers.

    Raises:
        EtudeError: a receipt cannot be read.
    """
    return tuple(sorted(_receipts(state), key=lambda one: (one.night, one.number)))


def kept_rules(state: Path) -> Rules:
    """The rules of all documents as they were last adopted or reverted.

    Raises:
        DataError: the file cannot be read.
    """
    return read_kept(state / RULES, Rules) or Rules()


def taken_out(night: str, rules: Rules) -> tuple[tuple[str, Rule], ...]:
    """The rules of a night that are kept and stand no longer, with none of a later night in their place; each with
    its document."""
    found = ((real, rule) for real, those in rules.documents.items() for rule in those)
    return tuple((real, rule) for real, rule in found if rule.night == night and _gone(rule))


def stands(document: Adopted, night: str, rules: Rules) -> bool:
    """Whether anything of what a night did to a document is left, rules that a later night took out among it."""
    known = rules.documents.get(document.real, ())
    there = {rule.text for rule in active(known)}
    mine = (rule for rule in known if rule.night == night)
    return any(not _gone(rule) for rule in mine) or any(text not in there for text in document.removed)


def _gone(rule: Rule) -> bool:
    return rule.status == "retired" and rule.retired == BY_HAND


def _receipts(state: Path) -> Iterator[Receipt]:
    for place in (state / _ADOPTED).glob(f"*/{_RECEIPT}"):
        receipt = read_kept(place, Receipt)
        if receipt is not None:
            yield receipt


def selected(manifest: Manifest, select: Sequence[str]) -> dict[str, Item]:
    """The documents of a proposal with these names, titles or kinds, by title; all without any.

    Raises:
        InputError: none is called so.
    """
    called = {title: {item.name, item.kind, title} for title, item in manifest.titled.items()}
    names = {name for those in called.values() for name in those}
    for name in select:
        if name not in names:
            raise InputError(
                f"night {number_of(manifest.night)} proposes nothing for {name!r}", hint=did_you_mean(name, names)
            )
    return {title: item for title, item in manifest.titled.items() if not select or called[title] & set(select)}


def _live(night: str, item: Item, project: Path, allow: Iterable[Path]) -> LiveDocument:
    live = read_document(Path(item.path), item.kind, project, allow)
    if live.real != item.real:
        raise InputError(f"{item.path!r} now leads to {live.real!r}, and not to {item.real!r}", hint=again(night))
    if live.sha256 != item.live_sha256:
        raise InputError(
            f"{item.path!r} changed since the night read it",
            hint=f"write the rules of its report into the file yourself, or {again(night)}",
        )
    return live


def _checked_text(folder: Path, night: str, item: Item, live: LiveDocument) -> str:
    text = proposed_text(folder, item)
    if not outside_is_kept(live, text):
        raise InputError(f"{item.file!r} differs from {item.path!r} outside of the learned block", hint=again(night))
    return text


def _adopted(
    night: str, item: Item, live: LiveDocument, before: Sequence[Rule], after: Sequence[Rule], backup: str
) -> Adopted:
    return Adopted(
        name=item.name,
        kind=item.kind,
        path=item.path,
        real=item.real,
        before=live.sha256,
        after=item.sha256,
        backup=backup,
        made=missing_folders(live.real),
        had_block=Document.parse(live.text).learned is not None,
        added=tuple(rule.text for rule in active(after) if rule.night == night),
        removed=tuple(rule.text for rule in after if rule.retired == night),
        rules_before=tuple(before),
    )


def as_json(record: Record) -> str:
    """What a file of the state holds."""
    return record.model_dump_json(indent=1) + "\n"
