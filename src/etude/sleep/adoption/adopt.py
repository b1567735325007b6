"""Adopting rules of a proposal: the documents are replaced together, and a receipt keeps what they were."""

import os
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import AwareDatetime

from etude.errors import InputError
from etude.records import Record
from etude.skill.anchors import LIST_MARK
from etude.sleep.adoption.proposal import DocumentChange, Proposal, again, fitted, read_proposal
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active, render, revised
from etude.sleep.adoption.splice import rules_now, spliced, standing
from etude.sleep.adoption.transaction import Recovery, Write, carry_out, locked, missing_folders, settle
from etude.sleep.live_documents import LiveDocument, places_in, read_document
from etude.sleep.state import Surroundings, as_json, read_kept

RULES = "rules.json"
_REDACTED = "[redacted:"
_ADOPTED = "adopted"


class Receipt(Record):
    """What an adoption did."""

    version: Literal[2] = 2
    night: str
    number: int
    """Counts the adoptions of the night, from 1."""
    documents: tuple[DocumentChange, ...]
    at: AwareDatetime
    """UTC."""
    reverted: bool = False

    def place(self, state: Path) -> Path:
        """The file that holds it."""
        return state / _ADOPTED / f"{self.night}~{self.number}.json"


def adopt(
    proposal: Path,
    project: Path,
    state: Path,
    *,
    rules: Collection[str] = (),
    words: Mapping[str, str] = MappingProxyType({}),
    allow: Iterable[Path] = (),
) -> Receipt:
    """Put rules of a proposal into the live documents as they are now, all or none. Ends an interrupted adoption
    first. What a person changed in a document stays, outside of the block and in it.

    Args:
        state: keeps receipts and rules; one for all nights of the project.
        rules: ids of the changes to adopt; by default all that are neither adopted nor rejected, and whose own line
            is as the night read it.
        words: other texts for new rules, by id.
        allow: files and folders outside of the project that the user named.

    Raises:
        InputError: the proposal cannot be read; a document is not the project's; a rule is not in the proposal, or
            the line that it changes is no longer there; there is nothing to adopt. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state)
        offered, kept = read_proposal(proposal), kept_rules(state)
        offered.named(rules)
        documents: list[DocumentChange] = []
        allowed = tuple(allow)
        for one in (_worded(one, words) for one in offered.documents):
            if rules and not {rule.id for rule in one.changes} & set(rules):
                continue
            live = _live(offered, one.live, project, allowed)
            now = rules_now(kept, live)
            states = standing(one, now, kept)
            chosen = {
                name
                for name, stands in states.items()
                if (name in rules if rules else stands in ("waits", "taken out"))
            }
            after, refused = spliced(now, one, chosen)
            for name in refused:
                what = f"rule {name} changes a line of {live.path!r} that was changed since night {offered.number}"
                hint = f"change that line yourself, or `etude sleep reject --rule {name}`"
                raise InputError(f"{what} read it", hint=hint)
            if render(after) != render(now):
                made = missing_folders(live.real)
                rules_then = fitted(after, now, live)
                documents.append(DocumentChange(live=live, rules=rules_then, before=now, made=made))
        if not documents:
            what = (
                f"{', '.join(rules)} of night {offered.number} is adopted already"
                if rules
                else f"nothing of night {offered.number} is left to adopt"
            )
            raise InputError(what, hint="`etude sleep status` shows how each rule stands")
        number = 1 + max((each.number for each in receipts(state) if each.night == offered.night), default=0)
        receipt = Receipt(night=offered.night, number=number, documents=tuple(documents), at=datetime.now(UTC))
        known = {**kept.documents, **{one.live.real: one.rules for one in documents}}
        rejected = tuple(rule for rule in kept.rejected if rule.id not in rules)
        records = (
            record(receipt.place(state), receipt),
            record(state / RULES, Rules(documents=known, rejected=rejected)),
        )
        writes = [replaced(one.live, one.text.encode(), one.made) for one in documents]
        carry_out(state, [*writes, *records])
        return receipt


def reject(proposal: Path, state: Path, rules: Collection[str]) -> tuple[Rule, ...]:
    """Remember that these changes of a proposal are not wanted; returns their rules. Later nights tell the optimizer,
    and propose none like them. Adopting one ends that.

    Raises:
        InputError: the proposal cannot be read or has no such rule; a rule is adopted.
        LockedError: another process adopts or reverts.
    """
    with locked(state):
        settle(state)
        chosen, kept = read_proposal(proposal).named(rules), kept_rules(state)
        known = {rule.id for those in kept.documents.values() for rule in active(those)}
        adopted = next((rule for rule in active(chosen) if rule.id in known), None)
        if adopted is not None:
            hint = f"`etude sleep revert --rule {adopted.id}` takes it out; then it can be rejected"
            raise InputError(f"rule {adopted.id} is adopted", hint=hint)
        before = tuple(rule for rule in kept.rejected if rule.id not in rules)
        after = kept.model_copy(update={"rejected": (*before, *chosen)})
        carry_out(state, [record(state / RULES, after)])
        return chosen


def replaced(live: LiveDocument, after: bytes | None, folders: tuple[str, ...]) -> Write:
    """The write that makes a document something else."""
    return Write(real=live.real, before=live.data, after=after, mode=live.mode, folders=folders)


def record(path: Path, value: Record) -> Write:
    """The write of a file of the state folder."""
    real = os.path.realpath(path)
    before = Path(real).read_bytes() if os.path.exists(real) else None
    folders = missing_folders(real)
    return Write(real=real, before=before, after=as_json(value).encode(), mode=0o600, folders=folders)


def recover(state: Path) -> Recovery | None:
    """End what an interrupted adoption or revert left; None when there is nothing."""
    with locked(state):
        return settle(state)


def receipts(state: Path) -> tuple[Receipt, ...]:
    """All adoptions, in the order of nights and numbers."""
    found = (read_kept(path, Receipt) for path in (state / _ADOPTED).glob("*.json"))
    return tuple(sorted(filter(None, found), key=lambda one: (one.night, one.number)))


def kept_rules(state: Path) -> Rules:
    """The rules of all documents as they were last adopted or reverted."""
    return read_kept(state / RULES, Rules) or Rules()


def taken_out(rule: Rule) -> bool:
    """Whether a person took the rule out."""
    return rule.status == "retired" and rule.retired == BY_HAND


def _worded(offer: DocumentChange, words: Mapping[str, str]) -> DocumentChange:
    """The changes of a document, with rules in other words: nothing was measured of those."""

    def one(rule: Rule) -> Rule:
        if rule.id not in words or rule.status == "retired":
            return rule
        mark, text = LIST_MARK.match(rule.text), words[rule.id].strip()
        if _REDACTED in text and _REDACTED not in rule.text:
            hint = "write what is to stand there, or take the rule as it is"
            raise InputError(f"{text!r} has a secret that is only shown in part", hint=hint)
        text = f"{mark[0]}{text}" if mark and not LIST_MARK.match(text) else text
        found = active(revised((), render([rule.model_copy(update={"text": text})]), BY_HAND))
        if len(found) != 1 or not text:
            raise InputError(f"{text!r} is not one rule", hint="write one line, or a paragraph without a blank line")
        behind = rule.evidence.model_copy(update={"trial": None})
        return rule.model_copy(update={"text": found[0].text, "evidence": behind})

    return offer.model_copy(update={"rules": tuple(map(one, offer.rules))})


def _live(offered: Proposal, was: LiveDocument, project: Path, allow: Collection[Path]) -> LiveDocument:
    live = read_document(Path(was.path), was.kind, project, allow)
    if was.kind == "memory" and offered.agent:
        path, found = Path(was.path), places_in(offered.agent, project, Surroundings())
        named = was.path in map(os.path.abspath, allow)
        if found.unread(path) or not (named or path in (found.memory, *found.files)):
            what = f"{offered.agent} does not read {was.path!r} as things are since night {offered.number}"
            raise InputError(f"{what}, but {str(found.memory)!r}", hint=again(offered.number))
    if live.real != was.real:
        raise InputError(
            f"{was.path!r} now leads to {live.real!r}, and not to {was.real!r}", hint=again(offered.number)
        )
    return live
