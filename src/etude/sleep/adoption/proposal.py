"""A proposal: what a night wants to change in documents, with all that a person needs to decide.

The folder `proposal` of a night holds it as `proposal.json`.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal

from pydantic import Field

from etude.errors import InputError, did_you_mean
from etude.files import private_folder
from etude.records import Record
from etude.skill import Document
from etude.skill.diff import unified_diff
from etude.skill.lines import with_line_ends
from etude.sleep.adoption.rules import Rule, active, lineage, with_rules
from etude.sleep.adoption.structure import plain, visible
from etude.sleep.live_documents import LiveDocument, without_secrets
from etude.sleep.state import as_json, read_kept, write_private

FOLDER = "proposal"
PROPOSAL = "proposal.json"


class DocumentChange(Record):
    """What changes in one document: its rules. Staging, adopting, reverting and retiring all read this record."""

    live: LiveDocument
    """As the night read it, its bytes too."""
    rules: tuple[Rule, ...]
    """After the change, the retired ones too."""
    before: tuple[Rule, ...] = ()
    """Before it."""
    made: tuple[str, ...] = ()
    """Folders that the adoption made for the file, the outermost first."""

    @property
    def text(self) -> str:
        """What the document becomes: what it is, with other rules in its learned block."""
        return with_rules(opened(self.live).text, self.rules)

    @property
    def had_block(self) -> bool:
        """The document had a learned block before."""
        return Document.parse(self.live.text).learned is not None

    @property
    def added(self) -> tuple[Rule, ...]:
        """The rules that the night brings."""
        known = {rule.id for rule in self.before}
        return tuple(rule for rule in active(self.rules) if rule.id not in known)

    @property
    def removed(self) -> tuple[Rule, ...]:
        """The rules that it takes out."""
        there = {rule.id for rule in active(self.before)}
        return tuple(rule for rule in self.rules if rule.status == "retired" and rule.id in there)

    @property
    def leaving(self) -> tuple[Rule, ...]:
        """Those of them that no other rule takes the place of."""
        replaced = {one.id for rule in active(self.rules) for one in lineage(rule, self.rules)[1:]}
        return tuple(rule for rule in self.removed if rule.id not in replaced)

    @property
    def changes(self) -> tuple[Rule, ...]:
        """All that a person decides on, rule by rule: what is added, and what leaves."""
        return (*self.added, *self.leaving)

    def with_new(self, change: Callable[[Rule], Rule]) -> "DocumentChange":
        """With something else in the place of each rule that the night brings."""
        new = {rule.id for rule in self.added}
        return self.model_copy(update={"rules": tuple(change(one) if one.id in new else one for one in self.rules)})

    def instead(self, rule: Rule) -> Rule | None:
        """The rule of the document whose place a new one takes."""
        there = {one.id for one in active(self.before)}
        return next((one for one in lineage(rule, self.rules)[1:] if one.id in there), None)


class Proposal(Record):
    """What a night has to offer, with the rules of earlier nights that waited when it ended."""

    version: Literal[3] = 3
    night: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Its name."""
    project: str
    """Absolute path."""
    agent: str = ""
    """Whose documents they are."""
    documents: tuple[DocumentChange, ...] = Field(min_length=1)

    @property
    def number(self) -> str:
        """The night as people write it."""
        return self.night.lstrip("0") or self.night

    def named(self, rules: Collection[str]) -> tuple[Rule, ...]:
        """The changes of these ids, each once. Raises InputError: one is not among them."""
        there = {rule.id: rule for one in self.documents for rule in one.changes}
        for name in rules:
            if name not in there:
                raise InputError(f"night {self.number} proposes no rule {name!r}", hint=did_you_mean(name, there))
        return tuple(there[name] for name in dict.fromkeys(rules))

    def name(self, document: DocumentChange) -> str:
        """What it is called on the command line: the path in the project, else the absolute path."""
        path, root = Path(document.live.path), os.path.abspath(self.project)
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else document.live.path


def opened(live: LiveDocument) -> Document:
    """A document with a learned block to write into."""
    document = Document.parse(live.opening)
    return document if document.learned is not None else document.with_learned("")


def fitted(rules: tuple[Rule, ...], before: tuple[Rule, ...], live: LiveDocument) -> tuple[Rule, ...]:
    """The rules after a change, of which those that stood there before keep their bytes, and all that is new has the
    line ends of the document."""
    line_end, known = opened(live).line_end, {rule.id: rule for rule in before}

    def one(rule: Rule) -> Rule:
        old = known.get(rule.id)
        text = rule.text if old is not None else with_line_ends(rule.text, line_end)
        after = rule.after if old is not None and old.after == rule.after else with_line_ends(rule.after, line_end)
        if (text, after) == (rule.text, rule.after):
            return rule
        return rule.model_copy(update={"text": text, "after": after})

    return tuple(map(one, rules))


def stage(night: Path, proposal: Proposal) -> Path:
    """Write the proposal into the folder of the night; returns its own folder, which replaces an earlier one."""
    folder = night / FOLDER
    private_folder(folder)
    write_private(folder / PROPOSAL, as_json(proposal))
    return folder


def read_proposal(folder: Path) -> Proposal:
    """A proposal that was staged."""
    found = read_kept(folder / PROPOSAL, Proposal, again(folder.parent.name.lstrip("0")))
    if found is None:
        raise InputError(f"{str(folder)!r} holds no proposal", hint="give the proposal folder of a night")
    return found


def again(number: str) -> str:
    """How there can be another proposal like that of a night, as a hint: its tasks are there, its sessions used."""
    return (
        f"`etude sleep show {number} --tasks --to tasks.json`, read that file, set 'reviewed' in it to true, then "
        "`etude sleep run --sleep.tasks tasks.json` proposes again"
    )


def readable(proposal: Proposal) -> str:
    """What it changes in its documents as a diff, for people: without secrets, and with every character visible."""
    parts: list[str] = []
    for one in proposal.documents:
        name = plain(proposal.name(one), 200)
        before = "/dev/null" if one.live.data is None else f"a/{name}"
        untested = [rule for rule in one.added if rule.evidence.trial is None]
        parts += [f"{name}: not tested: {plain(rule.text, 200)}\n" for rule in untested]
        parts.append(unified_diff(one.live.text, one.text, before, f"b/{name}"))
    return visible(without_secrets("".join(parts)))
