"""Taking back what was adopted: a night, or one rule."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from etude.errors import EtudeError, InputError, SkillError
from etude.records import Record
from etude.skill import Document
from etude.skill.document import LEARNED
from etude.sleep.adoption.adopt import RULES, Adopted, Receipt, as_json, kept_rules, receipts, stands
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active, lineage, render, revised, taken_back
from etude.sleep.adoption.transaction import OnWrite, Write, carry_out, locked, settle, silent
from etude.sleep.places import LiveDocument, sha256

__all__ = ["Reverted", "revert", "revert_rule"]


class Reverted(Record):
    """What was taken back. Paths as they were named when the night was adopted."""

    restored: tuple[str, ...] = ()
    """Byte for byte as before the adoption; a file that had not been there is gone again."""
    cut: tuple[str, ...] = ()
    """Changed since by hand or by a later night, or what was there before was of a night that is taken back, too:
    only the rules were taken out."""
    gone: tuple[str, ...] = ()
    """Texts of rules that are no longer in the documents, or not as they were written."""
    not_put_back: tuple[str, ...] = ()
    """Texts of rules that the night had taken out of documents that changed since."""
    back: tuple[str, ...] = ()
    """Earlier texts of rules, which stand there again in place of what was taken out."""


class _History(NamedTuple):
    """What happened to documents before."""

    state: Path
    receipts: tuple[Receipt, ...]
    dead: frozenset[str]
    """Nights of which everything is taken back, with what is about to be: their rules stay away."""

    @classmethod
    def of(cls, state: Path, night: str = BY_HAND) -> "_History":
        """As it is with that night taken back."""
        known = receipts(state)
        standing = {one.night for one in known if not one.reverted} - {night}
        return cls(state, known, frozenset(one.night for one in known) - standing)

    def adoptions(self, real: str) -> list[Adopted]:
        """Those of one document."""
        return [one for receipt in self.receipts for one in receipt.documents if one.real == real]


class _Plan(NamedTuple):
    write: Write | None
    """None when the file has nothing to take back."""
    rules: Rules
    report: Reverted


def revert(night: str, state: Path, *, on_write: OnWrite = silent) -> Reverted:
    """Take back all that was adopted from a night. Ends an interrupted adoption first.

    A document that is still what the adoption wrote becomes what it was. Of any other only the rules of that night
    are taken out of the block, those that still stand there as they were written. Rules of nights that were taken
    back earlier do not return, and a file that an adoption made goes with the last of what it brought.

    Raises:
        InputError: nothing of the night is adopted; a document can no longer be read. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        history = _History.of(state, night)
        mine = [one for one in history.receipts if one.night == night and not one.reverted]
        if not mine:
            nights = sorted({one.night for one in history.receipts if not one.reverted})
            raise InputError(
                f"nothing of night {night!r} is adopted",
                hint=f"adopted: {', '.join(nights)}" if nights else "no night is adopted",
            )
        rules, report = kept_rules(state), Reverted()
        writes: list[Write] = []
        for receipt in reversed(mine):
            for document in receipt.documents:
                if any(write.real == document.real for write in writes):
                    continue
                plan = _plan(document, receipt, history, rules)
                writes += [plan.write] if plan.write else []
                rules, report = plan.rules, _joined(report, plan.report)
        carry_out(state, _backups(state, mine[-1].night), writes, _records(state, mine, rules), on_write)
        return report


def revert_rule(rule: str, state: Path, *, on_write: OnWrite = silent) -> Reverted:
    """Take one rule out, by its id; out of each document that has it, when a night wrote it into several. A night of
    which nothing is left then is taken back.

    Raises:
        InputError: no adopted document has it, or another rule took its place; a document can no longer be read.
            Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        rules, report, history = kept_rules(state), Reverted(), _History.of(state)
        adopted = {one.real: one for receipt in history.receipts for one in receipt.documents}
        found = [
            (adopted[real], one)
            for real, those in rules.documents.items()
            for one in active(those)
            if one.id == rule and real in adopted
        ]
        if not found:
            raise _unknown(rule, rules)
        writes: list[Write] = []
        for document, one in found:
            plan = _cut(document, history, [one.text], rules)
            writes += [plan.write] if plan.write else []
            rules, report = plan.rules, _joined(report, plan.report)
        empty = _records(state, _emptied(history, {one.night for _, one in found}, rules), rules)
        carry_out(state, _backups(state, f"rule-{rule}"), writes, empty, on_write)
        return report


def _records(state: Path, gone: Sequence[Receipt], rules: Rules) -> dict[Path, str]:
    """What is noted: the rules that are left, and the receipts of which nothing is."""
    records = {one.place(state): as_json(one.model_copy(update={"reverted": True})) for one in gone}
    return {**records, state / RULES: as_json(rules)}


def _emptied(history: _History, nights: set[str], rules: Rules) -> list[Receipt]:
    """Receipts of those of these nights all of whose changes were taken back rule by rule. A rule that a later night
    took out counts as there: it comes back with what that night did."""
    standing = [one for one in history.receipts if not one.reverted and one.night in nights]
    full = {one.night for one in standing if any(stands(document, one.night, rules) for document in one.documents)}
    return [one for one in standing if one.night not in full]


def _unknown(rule: str, rules: Rules) -> InputError:
    """Why a rule cannot be taken out."""
    for those in rules.documents.values():
        for one in active(those):
            if rule in [before.id for before in lineage(one, those)[1:]]:
                return InputError(
                    f"rule {rule!r} stands in other words: rule {one.id!r} of night {one.night!r} took its place",
                    hint=f"take out rule {one.id!r}",
                )
    return InputError(f"no adopted document has a rule {rule!r}", hint="give an id from the report of a night")


def _plan(document: Adopted, receipt: Receipt, history: _History, rules: Rules) -> _Plan:
    data, mode = _now(document.real)
    if sha256(data) != document.after:
        plan = _cut(document, history, document.added, rules)
        others = {rule.text for rule in document.rules_before if rule.night in history.dead}
        missing = tuple(text for text in document.removed if text not in {*plan.report.back, *others})
        return plan._replace(report=plan.report.model_copy(update={"not_put_back": missing}))
    old = None
    if document.before is not None:
        place = receipt.folder(history.state) / document.backup
        old = place.read_bytes() if place.is_file() else None
        if sha256(old) != document.before:
            raise EtudeError(
                f"{str(place)!r} is not the copy of {document.path!r} that was kept", hint="revert its rules by id"
            )
    parsed = _parsed(document, old)
    block = _block(parsed, document.rules_before)
    dead = [rule.id for rule in active(block) if rule.night in history.dead]
    if dead:
        after = taken_back(block, dead, history.dead)
        kept = Rules(documents={**rules.documents, document.real: after})
        there = {rule.text for rule in active(_block(_parsed(document, data), ()))}
        back = tuple(one.text for one in active(after) if one.text not in there)
        write = _write(document, history, (data, mode), _with(parsed, after))
        return _Plan(write, kept, _told(document, write).model_copy(update={"back": back}))
    write = Write(document.real, data, old, mode, tuple(reversed(document.made)) if old is None else ())
    kept = Rules(documents={**rules.documents, document.real: document.rules_before})
    return _Plan(write, kept, Reverted(restored=(document.path,)))


def _cut(document: Adopted, history: _History, texts: Sequence[str], rules: Rules) -> _Plan:
    """The document without rules of these texts, each of them once, with the texts that they replaced; and without
    the block, if an adoption brought it and nothing is left in it."""
    data, mode = _now(document.real)
    parsed = _parsed(document, data)
    known = rules.documents.get(document.real, ())
    block = _block(parsed, known)
    left = list(texts)
    ids: list[str] = []
    for rule in active(block):
        if rule.text in left:
            left.remove(rule.text)
            ids.append(rule.id)
    if not ids:  # what a person has made of the rules since, the next night reads from the file
        return _Plan(None, rules, Reverted(gone=tuple(left)))
    gone = {rule.id for rule in active(known) if rule.text in texts and rule.text not in left}
    kept = Rules(documents={**rules.documents, document.real: taken_back(known, gone, history.dead)})
    after = taken_back(block, ids, history.dead)
    there = {rule.id for rule in active(block)}
    back = tuple(rule.text for rule in active(after) if rule.id not in there)
    write = _write(document, history, (data, mode), _with(parsed, after))
    return _Plan(write, kept, _told(document, write).model_copy(update={"gone": tuple(left), "back": back}))


def _told(document: Adopted, write: Write) -> Reverted:
    whole = write.after is None or sha256(write.after) == document.before
    return Reverted(restored=(document.path,)) if whole else Reverted(cut=(document.path,))


def _block(document: Document, known: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules of a document as they stand in it; none without a block."""
    span = document.learned_span
    return revised(known, document.text[slice(*span)], BY_HAND) if span else ()


def _with(parsed: Document, rules: Sequence[Rule]) -> Document:
    """The document with these rules in its block."""
    span = parsed.learned_span
    assert span is not None
    return Document.parse(parsed.text[: span[0]] + render(rules) + parsed.text[span[1] :])


def _write(document: Adopted, history: _History, now: tuple[bytes | None, int | None], text: Document) -> Write:
    """That text in place of what is there now; what adoptions brought beside the rules goes with the last of them:
    the block, then the file."""
    data, mode = now
    adoptions = history.adoptions(document.real)
    if not text.learned and not all(one.had_block for one in adoptions):
        text = text.without_region(LEARNED)
        made = [one for one in adoptions if one.before is None]
        opening = LiveDocument(
            kind=document.kind, path=document.path, real=document.real, data=None, mode=None
        ).opening
        if made and text.render() == opening:
            folders = dict.fromkeys(folder for one in made for folder in reversed(one.made))
            return Write(document.real, data, None, mode, tuple(folders))
        old = _before_block(document.real, history, text)
        if old is not None:
            return Write(document.real, data, old, mode)
    return Write(document.real, data, text.render().encode(), mode)


def _before_block(real: str, history: _History, text: Document) -> bytes | None:
    """What the document was before an adoption brought the block, if without it nothing else differs: a line end at
    the end or blank lines may have come and gone with the block. None where there is more, or no copy."""
    for receipt in reversed(history.receipts):
        for one in receipt.documents:
            place = receipt.folder(history.state) / one.backup
            if one.real != real or one.had_block or not one.backup or not place.is_file():
                continue
            old = place.read_bytes()
            brought = _parsed(one, old).with_learned("").without_region(LEARNED)
            if sha256(old) == one.before and brought.render() == text.render():
                return old
    return None


def _parsed(document: Adopted, data: bytes | None) -> Document:
    try:
        return Document.parse("" if data is None else data.decode())
    except (UnicodeDecodeError, SkillError) as error:
        raise InputError(
            f"{document.path!r} can no longer be read: {error}", hint="fix the file, then revert again"
        ) from error


def _now(real: str) -> tuple[bytes | None, int | None]:
    """What the file is now, and its permission bits.

    Raises:
        InputError: it is no regular file, or is now reached through a link.
    """
    if os.path.realpath(real) != real or (os.path.lexists(real) and not os.path.isfile(real)):
        raise InputError(f"{real!r} is no regular file any more", hint="move away what is there, then revert again")
    try:
        with open(real, "rb") as file:
            return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise InputError(f"{real!r} cannot be read: {error}", hint="see that you may read it") from error


def _joined(one: Reverted, other: Reverted) -> Reverted:
    return Reverted(
        restored=one.restored + other.restored,
        cut=one.cut + other.cut,
        gone=one.gone + other.gone,
        not_put_back=one.not_put_back + other.not_put_back,
        back=one.back + other.back,
    )


def _backups(state: Path, name: str) -> Path:
    """A folder of its own for what the revert replaces."""
    number = 1
    while (state / "reverted" / f"{name}~{number}").exists():
        number += 1
    return state / "reverted" / f"{name}~{number}"
