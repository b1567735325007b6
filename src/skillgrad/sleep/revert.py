"""Taking back what was adopted: a night, or one rule."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from skillgrad.errors import InputError, SkillError, SkillgradError
from skillgrad.records import Record
from skillgrad.skill import Document
from skillgrad.skill.document import LEARNED
from skillgrad.sleep.adopt import RULES, Adopted, Receipt, as_json, kept_rules, receipts
from skillgrad.sleep.places import sha256
from skillgrad.sleep.rules import BY_HAND, Rule, Rules, active, render, revised, taken_back
from skillgrad.sleep.transaction import OnWrite, Write, carry_out, locked, settle, silent

__all__ = ["Reverted", "revert", "revert_rule"]


class Reverted(Record):
    """What was taken back. Paths as they were named when the night was adopted."""

    restored: tuple[str, ...] = ()
    """Byte for byte as before the adoption; a file that had not been there is gone again."""
    cut: tuple[str, ...] = ()
    """Changed since by hand or by a later night: only the rules were taken out."""
    gone: tuple[str, ...] = ()
    """Texts of rules that are no longer in the documents, or not as they were written."""
    not_put_back: tuple[str, ...] = ()
    """Texts of rules that the night had taken out of documents that changed since."""
    back: tuple[str, ...] = ()
    """Earlier texts of rules, which stand there again in place of what was taken out."""


class _Plan(NamedTuple):
    write: Write | None
    """None when the file has nothing to take back."""
    rules: Rules
    report: Reverted


def revert(night: str, state: Path, *, on_write: OnWrite = silent) -> Reverted:
    """Take back all that was adopted from a night. Ends an interrupted adoption first.

    A document that is still what the adoption wrote becomes what it was. Of any other only the rules of that night
    are taken out of the block, those that still stand there as they were written.

    Raises:
        InputError: nothing of the night is adopted; a document can no longer be read. Nothing was changed.
        LockedError: another process adopts or reverts.
        SkillgradError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        mine = [one for one in receipts(state) if one.night == night and not one.reverted]
        if not mine:
            nights = sorted({one.night for one in receipts(state) if not one.reverted})
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
                plan = _plan(document, receipt, state, rules)
                writes += [plan.write] if plan.write else []
                rules, report = plan.rules, _joined(report, plan.report)
        records = {one.place(state): as_json(one.model_copy(update={"reverted": True})) for one in mine}
        records[state / RULES] = as_json(rules)
        carry_out(state, _backups(state, mine[-1].night), writes, records, on_write)
        return report


def revert_rule(rule: str, state: Path, *, on_write: OnWrite = silent) -> Reverted:
    """Take one rule out, by its id; out of each document that has it, when a night wrote it into several.

    Raises:
        InputError: no adopted document has it; a document can no longer be read. Nothing was changed.
        LockedError: another process adopts or reverts.
        SkillgradError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        rules, report = kept_rules(state), Reverted()
        adopted = {one.real: one for receipt in receipts(state) for one in receipt.documents}
        found = [
            (adopted[real], one.text)
            for real, those in rules.documents.items()
            for one in active(those)
            if one.id == rule and real in adopted
        ]
        if not found:
            raise InputError(f"no adopted document has a rule {rule!r}", hint="give an id from the report of a night")
        writes: list[Write] = []
        for document, text in found:
            plan = _cut(document, state, [text], rules)
            writes += [plan.write] if plan.write else []
            rules, report = plan.rules, _joined(report, plan.report)
        carry_out(state, _backups(state, f"rule-{rule}"), writes, {state / RULES: as_json(rules)}, on_write)
        return report


def _plan(document: Adopted, receipt: Receipt, state: Path, rules: Rules) -> _Plan:
    data, mode = _now(document.real)
    if sha256(data) != document.after:
        plan = _cut(document, state, document.added, rules)
        missing = tuple(text for text in document.removed if text not in plan.report.back)
        return plan._replace(report=plan.report.model_copy(update={"not_put_back": missing}))
    old = None
    if document.before is not None:
        place = receipt.folder(state) / document.backup
        old = place.read_bytes() if place.is_file() else None
        if sha256(old) != document.before:
            raise SkillgradError(
                f"{str(place)!r} is not the copy of {document.path!r} that was kept", hint="revert its rules by id"
            )
    write = Write(document.real, data, old, mode, tuple(reversed(document.made)) if old is None else ())
    kept = Rules(documents={**rules.documents, document.real: document.rules_before})
    return _Plan(write, kept, Reverted(restored=(document.path,)))


def _cut(document: Adopted, state: Path, texts: Sequence[str], rules: Rules) -> _Plan:
    """The document without rules of these texts, each of them once, with the texts that they replaced; and without
    the block, if an adoption brought it and nothing is left in it."""
    data, mode = _now(document.real)
    parsed = _parsed(document, data)
    span = parsed.learned_span
    known = rules.documents.get(document.real, ())
    block = revised(known, parsed.text[slice(*span)], BY_HAND) if span else ()
    left = list(texts)
    ids: list[str] = []
    for rule in active(block):
        if rule.text in left:
            left.remove(rule.text)
            ids.append(rule.id)
    if not span or not ids:  # what a person has made of the rules since, the next night reads from the file
        return _Plan(None, rules, Reverted(gone=tuple(left)))
    gone = {rule.id for rule in active(known) if rule.text in texts and rule.text not in left}
    kept = Rules(documents={**rules.documents, document.real: taken_back(known, gone)})
    after = taken_back(block, ids)
    there = {rule.id for rule in active(block)}
    back = tuple(rule.text for rule in active(after) if rule.id not in there)
    report = Reverted(cut=(document.path,), gone=tuple(left), back=back)
    adoptions = [one for receipt in receipts(state) for one in receipt.documents if one.real == document.real]
    text = _with(parsed, span, after, keep_block=all(one.had_block for one in adoptions))
    return _Plan(Write(document.real, data, text.encode(), mode), kept, report)


def _with(parsed: Document, span: tuple[int, int], rules: Sequence[Rule], *, keep_block: bool) -> str:
    start, stop = span
    block = render(rules)
    left = Document.parse(parsed.text[:start] + block + parsed.text[stop:])
    return (left if block or keep_block else left.without_region(LEARNED)).render()


def _parsed(document: Adopted, data: bytes | None) -> Document:
    try:
        return Document.parse("" if data is None else data.decode())
    except (UnicodeDecodeError, SkillError) as error:
        raise InputError(
            f"{document.path!r} can no longer be read: {error}", hint="mend the file, then revert again"
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
