"""Taking back what was adopted: a night, or one rule."""

import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from etude.errors import EtudeError, InputError, SkillError
from etude.records import Record
from etude.skill import Document
from etude.skill.document import LEARNED
from etude.sleep.adoption.adopt import RULES, Adopted, Receipt, as_json, kept_rules, receipts, stands, taken_out
from etude.sleep.adoption.rules import BY_HAND, Rule, Rules, active, lineage, render, revised, taken_back
from etude.sleep.adoption.transaction import OnWrite, Write, carry_out, locked, settle, silent
from etude.sleep.places import LiveDocument, sha256

__all__ = ["Reverted", "revert", "revert_rule"]


class Reverted(Record):
    """What was taken back. Paths as they were named when the night was adopted."""

    restored: tuple[str, ...] = ()
    """Byte for byte as before the adoption; a file that had not been there is gone again."""
    cut: tuple[str, ...] = ()
    """Only the rules were taken out: the document changed since, or held rules of a night that is taken back too."""
    gone: tuple[str, ...] = ()
    """Texts of rules that were not found in the documents, or not as they were written."""
    not_put_back: tuple[str, ...] = ()
    """Texts of rules that the night had taken out of documents that changed since."""
    back: tuple[str, ...] = ()
    """Earlier texts of rules, which are there again in place of what was taken out."""


def revert(night: str, state: Path, *, on_write: OnWrite = silent) -> Reverted:
    """Take back all that was adopted from a night. Ends an interrupted adoption first.

    A document that is still what the adoption wrote becomes what it was. From any other document only the rules of
    that night are taken out, those that are still there as they were written. Rules of nights that were taken back
    earlier do not return, and a file that an adoption made is removed with the last rule that it brought.

    Raises:
        InputError: nothing of the night is adopted; a document can no longer be read. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state, on_write)
        work = _Work(state, night)
        mine = [one for one in work.receipts if one.night == night and not one.reverted]
        if not mine:
            nights = sorted({one.night for one in work.receipts if not one.reverted})
            raise InputError(
                f"nothing of night {night!r} is adopted",
                hint=f"adopted: {', '.join(nights)}" if nights else "no night is adopted",
            )
        latest: dict[str, tuple[Adopted, Receipt]] = {}
        for receipt in reversed(mine):
            for document in receipt.documents:
                latest.setdefault(document.real, (document, receipt))
        for document, receipt in latest.values():
            work.take_back(document, receipt)
        work.finish(mine[-1].night, mine, on_write)
        return Reverted.model_validate(work.report)


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
        work = _Work(state)
        adopted = {one.real: one for receipt in work.receipts for one in receipt.documents}
        found = [
            (adopted[real], one)
            for real, those in work.rules.documents.items()
            for one in active(those)
            if one.id == rule and real in adopted
        ]
        if not found:
            raise _unknown(rule, work.rules)
        for document, one in found:
            work.cut(document, [one.text])
        # A rule that a later night took out counts as there: it comes back with what that night did.
        standing = [one for one in work.receipts if not one.reverted and one.night in {one.night for _, one in found}]
        full = {one.night for one in standing for each in one.documents if stands(each, one.night, work.rules)}
        work.finish(f"rule-{rule}", [one for one in standing if one.night not in full], on_write)
        return Reverted.model_validate(work.report)


def _unknown(rule: str, rules: Rules) -> InputError:
    """Why a rule cannot be taken out."""
    for those in rules.documents.values():
        for one in active(those):
            if rule in [before.id for before in lineage(one, those)[1:]]:
                return InputError(
                    f"rule {rule!r} was reworded: rule {one.id!r} of night {one.night!r} took its place",
                    hint=f"take out rule {one.id!r}",
                )
    return InputError(f"no adopted document has a rule {rule!r}", hint="give an id from the report of a night")


class _Work:
    """A revert in the making: what it writes, and what it reports.

    Args:
        night: the one that is taken back.
    """

    def __init__(self, state: Path, night: str = BY_HAND) -> None:
        self.state = state
        self.receipts = receipts(state)
        self.rules = kept_rules(state)
        self.report: dict[str, tuple[str, ...]] = {}
        self._writes: list[Write] = []
        standing = {one.night for one in self.receipts if not one.reverted} - {night}
        self._dead = frozenset(one.night for one in self.receipts) - standing
        """Nights of which everything is taken back: their rules stay away."""

    def take_back(self, document: Adopted, receipt: Receipt) -> None:
        """Put the old file back where nothing else happened to the document; else cut the rules."""
        now = _now(document.real)
        dead = {rule.text for rule in active(document.rules_before) if rule.night in self._dead}
        if sha256(now[0]) != document.after or dead:
            before = self.report.get("back", ())
            known = {rule.text for real, rule in taken_out(receipt.night, self.rules) if real == document.real}
            self.cut(document, document.added, known)
            there = {*self.report.get("back", ())[len(before) :], *dead}
            self._note("not_put_back", *(text for text in document.removed if text not in there))
            return
        old = _copy(receipt, document, self.state)
        if sha256(old) != document.before:
            place = receipt.folder(self.state) / document.backup
            raise EtudeError(
                f"{str(place)!r} is not the copy of {document.path!r} that was kept", hint="revert its rules by id"
            )
        drop = tuple(reversed(document.made)) if old is None else ()
        self._put(document, now, old, document.rules_before, drop)

    def cut(self, document: Adopted, texts: Sequence[str], known: Collection[str] = ()) -> None:
        """Take rules of these texts out, each of them once, and put the texts that they replaced back. The block goes
        too if an adoption brought it and nothing is left in it; so does the file.

        Args:
            known: texts of rules that were taken out before, which is not worth reporting.
        """
        now = _now(document.real)
        parsed = _parsed(document, now[0])
        kept = self.rules.documents.get(document.real, ())
        span = parsed.learned_span
        block = revised(kept, parsed.text[slice(*span)], BY_HAND) if span else ()
        left, found = list(texts), list[str]()
        for rule in active(block):
            if rule.text in left:
                left.remove(rule.text)
                found.append(rule.id)
        self._note("gone", *(text for text in left if text not in known))
        if span is None or not found:  # what a person has made of the rules since, the next night reads from the file
            return
        after = taken_back(block, found, self._dead)
        there = {rule.id for rule in active(block)}
        self._note("back", *(rule.text for rule in active(after) if rule.id not in there))
        gone = {rule.id for rule in active(kept) if rule.text in texts and rule.text not in left}
        text = Document.parse(parsed.text[: span[0]] + render(after) + parsed.text[span[1] :])
        new, drop = self._without_block(document, text)
        self._put(document, now, new, taken_back(kept, gone, self._dead), drop)

    def finish(self, name: str, gone: Sequence[Receipt], on_write: OnWrite) -> None:
        """Write it all: documents, the rules that are left, and the receipts of which nothing is left."""
        records = {one.place(self.state): as_json(one.model_copy(update={"reverted": True})) for one in gone}
        number, folder = 1, self.state / "reverted"
        while (folder / f"{name}~{number}").exists():
            number += 1
        records[self.state / RULES] = as_json(self.rules)
        carry_out(self.state, folder / f"{name}~{number}", self._writes, records, on_write)

    def _put(
        self,
        document: Adopted,
        now: tuple[bytes | None, int | None],
        after: bytes | None,
        rules: Sequence[Rule],
        drop: tuple[str, ...],
    ) -> None:
        self._writes.append(Write(real=document.real, before=now[0], after=after, mode=now[1], drop=drop))
        self.rules = Rules(documents={**self.rules.documents, document.real: tuple(rules)})
        self._note("restored" if after is None or sha256(after) == document.before else "cut", document.path)

    def _note(self, what: str, *texts: str) -> None:
        self.report[what] = (*self.report.get(what, ()), *texts)

    def _without_block(self, document: Adopted, text: Document) -> tuple[bytes | None, tuple[str, ...]]:
        """The new bytes of the document, and folders to remove with it. An empty block that an adoption brought goes,
        and so does a file that an adoption made and that holds nothing else."""
        history = [(one, each) for each in self.receipts for one in each.documents if one.real == document.real]
        if text.learned or all(one.had_block for one, _ in history):
            return text.render().encode(), ()
        text = text.without_region(LEARNED)
        made = [one for one, _ in history if one.before is None]
        new = LiveDocument(kind=document.kind, path=document.path, real=document.real, data=None, mode=None)
        if made and text.render() == new.opening:
            return None, tuple(dict.fromkeys(folder for one in made for folder in reversed(one.made)))
        for one, receipt in reversed(history):
            old = _copy(receipt, one, self.state)
            if old is None or one.had_block or sha256(old) != one.before:
                continue
            # A line end or blank lines may have come and gone with the block.
            if _parsed(one, old).with_learned("").without_region(LEARNED).render() == text.render():
                return old, ()
        return text.render().encode(), ()


def _copy(receipt: Receipt, document: Adopted, state: Path) -> bytes | None:
    """What the document was before that adoption; None where there was no file, or the copy is lost."""
    place = receipt.folder(state) / document.backup
    return place.read_bytes() if document.backup and place.is_file() else None


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
        InputError: it is not a regular file, or is now reached through a link.
    """
    if os.path.realpath(real) != real or (os.path.lexists(real) and not os.path.isfile(real)):
        raise InputError(f"{real!r} is not a regular file any more", hint="move away what is there, then try again")
    try:
        with open(real, "rb") as file:
            return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise InputError(f"{real!r} cannot be read: {error}", hint="see that you may read it") from error
