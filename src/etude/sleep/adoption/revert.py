"""Taking back what was adopted: a night, or one rule."""

from collections.abc import Sequence
from pathlib import Path

from etude.errors import InputError
from etude.records import Record
from etude.skill import Document
from etude.skill.document import LEARNED
from etude.sleep.adoption.adopt import RULES, Receipt, kept_rules, receipts, record, replaced, taken_out
from etude.sleep.adoption.proposal import DocumentChange, opened
from etude.sleep.adoption.rules import BY_HAND, Rule, active, retired_by, rules_in, taken_back, with_rules
from etude.sleep.adoption.transaction import carry_out, locked, settle
from etude.sleep.live_documents import LiveDocument, read_document


class Reverted(Record):
    """What was taken back. Paths as they were named when the night was adopted."""

    restored: tuple[str, ...] = ()
    """Byte for byte as before the adoption; a file that had not been there is gone again."""
    cut: tuple[str, ...] = ()
    """Only the rules were taken out: the document changed since."""
    gone: tuple[str, ...] = ()
    """Texts of rules that were not found in the documents, or not as they were written."""
    not_put_back: tuple[str, ...] = ()
    """Texts of rules that the night had taken out of documents that changed since."""
    back: tuple[str, ...] = ()
    """Earlier texts of rules, which are there again in place of what was taken out."""


def revert(night: str, state: Path) -> Reverted:
    """Take back all that was adopted of a night's proposal. Ends an interrupted adoption first.

    A document that is still what the adoption wrote becomes what it was. From any other document only the rules of
    that night are taken out, those that are still there as they were written. A file that an adoption made is removed
    with the last rule that it brought.

    Raises:
        InputError: nothing of the night is adopted; another night took the place of one of its rules, and is to be
            taken back first; a document can no longer be read. Nothing was changed.
        LockedError: another process adopts or reverts.
        EtudeError: a file could not be written. Everything is as it was.
    """
    with locked(state):
        settle(state)
        work = _Work(state)
        mine = [one for one in work.receipts if one.night == night and not one.reverted]
        if not mine:
            nights = sorted({one.night for one in work.receipts if not one.reverted})
            raise InputError(
                f"nothing of night {night!r} is adopted",
                hint=f"adopted: {', '.join(nights)}" if nights else "no night is adopted",
            )
        documents = [one for receipt in reversed(mine) for one in receipt.documents]
        if later := work.instead(night, documents):
            what = f"night {later.lstrip('0')} put other rules in the place of some of night {night.lstrip('0')}"
            raise InputError(what, hint=f"`etude sleep revert {later.lstrip('0')}` first")
        for document in documents:
            work.take_back(document)
        return work.finish(mine)


def revert_rule(rule: str, state: Path) -> Reverted:
    """Take one rule out, by its id; out of each document that has it, when a night wrote it into several."""
    with locked(state):
        settle(state)
        work = _Work(state)
        found = [
            (work.adopted[real], one)
            for real, those in work.rules.items()
            if real in work.adopted and any(one.id == rule for one in those)
            for one in {one.id: one for one in (*active(those), *active(work.block(work.adopted[real])))}.values()
            if one.id == rule
        ]
        if not found:
            hint = "`etude sleep status` shows the ids"
            raise InputError(f"no adopted document has a rule {rule!r}", hint=hint)
        for document, one in found:
            work.cut(document, [one.text])
        return work.finish(())


class _Work:
    """A revert in the making, of a night or of one rule: what it writes, and what it reports."""

    def __init__(self, state: Path) -> None:
        self.receipts = receipts(state)
        self.adopted = {one.live.real: one for receipt in self.receipts for one in receipt.documents}
        """The last adoption of each document, by its real path."""
        self._kept = kept_rules(state)
        self.rules = dict(self._kept.documents)
        self._state = state
        self._said: dict[str, list[str]] = {name: [] for name in Reverted.model_fields}
        """What to report."""
        self._found: dict[str, LiveDocument] = {}
        self._after: dict[str, tuple[bytes | None, tuple[str, ...]]] = {}
        """What documents become, and folders that go with them."""
        self._how: dict[str, str] = {}
        """What came of each document, `restored` or `cut`."""

    def instead(self, night: str, documents: Sequence[DocumentChange]) -> str:
        """Another night that took out rules which a night had brought, and still stands; empty where none did."""
        here = {rule.id for those in self.rules.values() for rule in active(those)}
        brought = {rule.id for one in documents for rule in one.added} - here
        others = [(one.night, each) for one in self.receipts if not one.reverted for each in one.documents]
        found = (
            other
            for other, each in others
            if other != night and brought & {rule.id for rule in each.removed}
            if not each.added or here & {rule.id for rule in each.added}
        )
        return next(found, "")

    def block(self, document: DocumentChange) -> tuple[Rule, ...]:
        """The rules of a document as it is now."""
        return rules_in(self._now(document.live).text, self.rules.get(document.live.real, ()))

    def take_back(self, document: DocumentChange) -> None:
        """Put the old file back where nothing else happened to the document; else cut the rules."""
        now, real = self._now(document.live), document.live.real
        known = self.rules.get(real, ())
        if now.data == document.text.encode():
            there = {rule.id for rule in document.before}
            out = [retired_by(rule, BY_HAND) for rule in known if rule.id not in there]
            self.rules[real] = (*document.before, *out)
            self._put(document, document.live.data, document.made)
            return
        back = len(self._said["back"])
        gone = {rule.id for rule in known if taken_out(rule)}
        self.cut(document, [rule.text for rule in document.added if rule.id not in gone])
        there = self._said["back"][back:]
        self._said["not_put_back"] += [rule.text for rule in document.removed if rule.text not in there]

    def cut(self, document: DocumentChange, texts: Sequence[str]) -> None:
        """Take rules of these texts out, each of them once, and put the texts that they replaced back. The block goes
        too if an adoption brought it and nothing is left in it; so does the file."""
        now, real = self._now(document.live), document.live.real
        block = self.block(document)
        left, found = list(texts), list[str]()
        for rule in active(block):
            if rule.text in left:
                left.remove(rule.text)
                found.append(rule.id)
        self._said["gone"] += left
        if not found:  # what a person has made of the rules since, the next night reads from the file
            return
        after = taken_back(block, found)
        there = {rule.id for rule in active(block)}
        self._said["back"] += [rule.text for rule in active(after) if rule.id not in there]
        self.rules[real] = after
        self._put(document, *self._without_block(real, with_rules(now.text, after)))

    def finish(self, gone: Sequence[Receipt]) -> Reverted:
        """Write it all: documents, the receipts of which nothing is left, and the rules that are left."""
        reverted = [one.model_copy(update={"reverted": True}) for one in gone]
        records = [record(one.place(self._state), one) for one in reverted]
        rules = record(self._state / RULES, self._kept.model_copy(update={"documents": self.rules}))
        writes = [replaced(self._found[real], *after) for real, after in self._after.items()]
        carry_out(self._state, [*writes, *records, rules])
        for path, how in self._how.items():
            self._said[how].append(path)
        return Reverted(**{what: tuple(said) for what, said in self._said.items()})

    def _now(self, was: LiveDocument) -> LiveDocument:
        """A document as it is now, with what was taken back so far."""
        if was.real not in self._found:
            self._found[was.real] = _read_now(was)
        found = self._found[was.real]
        data, _ = self._after.get(was.real, (found.data, ()))
        return found.model_copy(update={"path": was.path, "data": data})

    def _put(self, document: DocumentChange, after: bytes | None, folders: tuple[str, ...]) -> None:
        _, earlier = self._after.get(document.live.real, (None, ()))
        self._after[document.live.real] = after, tuple(dict.fromkeys((*folders, *earlier)))
        self._how[document.live.path] = "restored" if after == document.live.data else "cut"

    def _without_block(self, real: str, text: str) -> tuple[bytes | None, tuple[str, ...]]:
        """The new bytes of the document, and folders to remove with it. An empty block that an adoption brought goes,
        and so does a file that an adoption made and that holds nothing else."""
        history = [one for receipt in self.receipts for one in receipt.documents if one.live.real == real]
        document = Document.parse(text)
        if document.learned or all(one.had_block for one in history):
            return text.encode(), ()
        bare = document.without_region(LEARNED).text
        for one in reversed(history):
            # A line end or blank lines may have come and gone with the block.
            if not one.had_block and opened(one.live).without_region(LEARNED).text == bare:
                return one.live.data, one.made
        return bare.encode(), ()


def _read_now(was: LiveDocument) -> LiveDocument:
    real = Path(was.real)
    live = read_document(real, was.kind, real.parent)
    if live.real != was.real:
        raise InputError(f"{was.real!r} is a link now", hint="move away what is there, then try again")
    return live.model_copy(update={"path": was.path})
