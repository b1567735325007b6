"""A proposal: new documents beside the old ones, with all that a person needs to decide, and nothing changed yet.

The folder `proposal` of a night holds the proposed files, `proposal.diff` and `report.md` to read, `rules.json` with
every rule and where it comes from, and `manifest.json`, which is written last: without it there is no proposal.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from etude.errors import InputError, SkillError
from etude.records import Record, digest
from etude.records.summary import ShipVerdict
from etude.skill import Document
from etude.skill.diff import unified_diff
from etude.skill.document import LEARNED
from etude.sleep.adoption.rules import Rule, Rules, active
from etude.sleep.adoption.structure import doubts, plain, visible
from etude.sleep.places import Kind, LiveDocument, read_document, sha256
from etude.sleep.state import write_private

__all__ = [
    "FOLDER",
    "MANIFEST",
    "Item",
    "Manifest",
    "Proposal",
    "Proposed",
    "again",
    "check_night",
    "escaped",
    "number_of",
    "outside_is_kept",
    "proposed_rules",
    "proposed_text",
    "read_proposal",
    "stage",
]

FOLDER = "proposal"
MANIFEST = "manifest.json"
RULES = "rules.json"
DIFF = "proposal.diff"
REPORT = "report.md"
UNVERIFIED = "unverified, the gate was off: it was not tried on held-out tasks"

_NIGHT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@^=])")
_TEXT_CHARS = 600
_RULE_CHARS = 2_000


class Proposed(Record):
    """One document and what it would become."""

    live: LiveDocument
    """As the night read it."""
    text: str
    rules: tuple[Rule, ...]
    """Of `text`, the retired ones too."""
    before: tuple[Rule, ...] = ()
    """Of the document as the night read it."""
    unverified: bool = False
    """It was not tried on held-out tasks: the gate was off."""


class Proposal(Record):
    """What a night has to offer."""

    night: str
    """Its name: letters, digits, `.`, `_` and `-`."""
    project: str
    """Absolute path."""
    documents: tuple[Proposed, ...]
    verdict: ShipVerdict | None = None
    """None when nothing was confirmed."""
    notes: tuple[str, ...] = ()
    """What else the report says, a paragraph each."""


class Item(Record):
    """A document in a manifest."""

    name: str
    """What it is called on the command line: the path in the project, else the absolute path."""
    kind: Kind
    path: str
    real: str
    """Where it was when the night read it, without links."""
    file: str
    """The proposed text, in the folder of the proposal."""
    sha256: str
    """Of the proposed file."""
    live_sha256: str | None
    """Of what it replaces; None for no file."""
    unverified: bool = False
    """It was not tried on held-out tasks: the gate was off."""


class Manifest(Record):
    """What a proposal consists of."""

    version: Literal[1] = 1
    night: str
    project: str
    verdict: ShipVerdict | None
    items: tuple[Item, ...]
    rules_sha256: str

    @property
    def titled(self) -> dict[str, Item]:
        """The items by what the report of the night calls them: `memory`, or the folder of a skill."""
        found: dict[str, Item] = {}
        for item in self.items:
            title = item.kind if item.kind == "memory" else Path(item.path).parent.name or item.kind
            while title in found:
                title += "-too"  # a skill of the same name elsewhere
            found[title] = item
        return found


class _Sealed(Record):
    manifest: Manifest
    sha256: str
    """Of the manifest as canonical JSON: shows that nobody has changed it by hand."""


def stage(night: Path, proposal: Proposal, allow: Iterable[Path] = ()) -> Path:
    """Write the proposal into the folder of the night; returns its own folder, which replaces an earlier one.

    Raises:
        InputError: the night's name cannot be a folder, or nothing is proposed; a document changed since the night
            read it, or what is proposed changes it outside of its learned block.
        StopRun: a file cannot be written, as when the disk is full. There is no proposal then.
    """
    check_night(proposal.night)
    if not proposal.documents:
        raise InputError(
            f"night {number_of(proposal.night)} proposes nothing", hint="stage a night that changed a document"
        )
    project, allowed = Path(proposal.project), tuple(allow)
    for one in proposal.documents:
        now = read_document(Path(one.live.path), one.live.kind, project, allowed)
        if (now.real, now.data) != (one.live.real, one.live.data):
            raise InputError(
                f"{one.live.path!r} changed during the night", hint="run it again: no session is used up"
            )
        if not outside_is_kept(one.live, one.text):
            raise InputError(
                f"{one.live.path!r}: the proposed text differs outside of its learned block",
                hint="only the inside of the block may change",
            )
    folder = night / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / MANIFEST).unlink(missing_ok=True)
    items: list[Item] = []
    for number, one in enumerate(proposal.documents):
        file = f"{number}-{Path(one.live.path).name}"
        write_private(folder / file, one.text)
        items.append(
            Item(
                name=_name(one.live.path, project),
                kind=one.live.kind,
                path=one.live.path,
                real=one.live.real,
                file=file,
                sha256=str(sha256(one.text.encode())),
                live_sha256=one.live.sha256,
                unverified=one.unverified,
            )
        )
    rules = Rules(documents={one.live.real: one.rules for one in proposal.documents}).model_dump_json(indent=1)
    write_private(folder / RULES, rules)
    write_private(folder / DIFF, visible(_diff(proposal)))
    write_private(folder / REPORT, _report(proposal))
    manifest = Manifest(
        night=proposal.night,
        project=proposal.project,
        verdict=proposal.verdict,
        items=tuple(items),
        rules_sha256=str(sha256(rules.encode())),
    )
    sealed = _Sealed(manifest=manifest, sha256=digest(manifest.model_dump(mode="json")))
    write_private(folder / MANIFEST, sealed.model_dump_json(indent=1))
    return folder


def read_proposal(folder: Path) -> Manifest:
    """The manifest of a proposal.

    Raises:
        InputError: there is none, it is of another version, or it was changed.
    """
    place = folder / MANIFEST
    try:
        sealed = _Sealed.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(folder)!r} holds no proposal", hint="give the proposal folder of a night") from None
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{str(place)!r} is not a manifest that this version can read", hint=again(folder.parent.name)
        ) from error
    manifest = sealed.manifest
    if digest(manifest.model_dump(mode="json")) != sealed.sha256:
        raise InputError(f"{str(place)!r} was changed after it was written", hint=again(folder.parent.name))
    check_night(manifest.night)
    reals = [item.real for item in manifest.items]
    if not reals or len(set(reals)) != len(reals):
        raise InputError(f"{str(place)!r} names no document, or one twice", hint=again(folder.parent.name))
    return manifest


def proposed_text(folder: Path, item: Item) -> str:
    """What is proposed for a document.

    Raises:
        InputError: the file is not the one that was proposed.
    """
    data = _sealed_file(folder, item.file, item.sha256)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{item.file!r} in {str(folder)!r} is not UTF-8", hint=again(folder.parent.name)) from error


def proposed_rules(folder: Path, manifest: Manifest) -> Rules:
    """The rules of all documents of a proposal.

    Raises:
        InputError: the file is not the one that was written, or is not of this version.
    """
    try:
        return Rules.model_validate_json(_sealed_file(folder, RULES, manifest.rules_sha256))
    except ValidationError as error:
        raise InputError(f"{RULES!r} in {str(folder)!r} cannot be read", hint=again(folder.parent.name)) from error


def outside_is_kept(live: LiveDocument, text: str) -> bool:
    """Whether `text` is the document with another inside of its learned block, which may be new."""
    try:
        before, after = Document.parse(live.opening), Document.parse(text)
    except SkillError:
        return False
    return after.learned is not None and _around(before.with_learned(before.learned or "")) == _around(after)


def again(night: str) -> str:
    """How there can be another proposal like that of a night, as a hint: its sessions are used up, its tasks are not.

    Args:
        night: its name.
    """
    return (
        f"`etude sleep tasks {number_of(night)} --to tasks.json`, read that file, note it with `etude sleep "
        "tasks --reviewed tasks.json`, then `etude sleep run --sleep.tasks tasks.json` proposes again"
    )


def number_of(night: str) -> str:
    """A night by its name as people write it: `1` for `0001`."""
    return night.lstrip("0") or night


def check_night(name: str) -> str:
    """The name of a night, if it can be one of a folder.

    Raises:
        InputError: it cannot.
    """
    if not _NIGHT.fullmatch(name):
        raise InputError(f"night {name!r} cannot be a folder", hint="use letters, digits, '.', '_' and '-'")
    return name


def escaped(text: str, limit: int = _TEXT_CHARS) -> str:
    """Untrusted text for Markdown: on one line, nothing hidden, nothing that Markdown or HTML acts on."""
    shown = _MARKDOWN.sub(r"\\\1", plain(text, limit)).replace("://", ":\\//")
    # What would begin a list: a backslash says nothing before a digit, but is shown.
    return re.sub(r"^(\d*)([-.])(?=[\s-]|$)", r"\1\\\2", shown)


def _around(document: Document) -> tuple[str, str]:
    region = next(region for region in document.regions if region.name == LEARNED)
    return document.text[: region.inner[0]], document.text[region.inner[1] :]


def _sealed_file(folder: Path, name: str, expected: str) -> bytes:
    path = folder / name
    if Path(name).name != name or path.is_symlink() or not path.is_file():
        raise InputError(f"{name!r} is not a file in {str(folder)!r}", hint=again(folder.parent.name))
    data = path.read_bytes()
    if sha256(data) != expected:
        raise InputError(
            f"{name!r} in {str(folder)!r} was changed after it was proposed", hint=again(folder.parent.name)
        )
    return data


def _name(path: str, project: Path) -> str:
    root = os.path.abspath(project)
    return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path


def _diff(proposal: Proposal) -> str:
    project = Path(proposal.project)
    parts: list[str] = []
    for one in proposal.documents:
        name = plain(_name(one.live.path, project), 200)
        before = "/dev/null" if one.live.data is None else f"a/{name}"
        if one.unverified:
            parts.append(f"{name}: {UNVERIFIED}\n")
        parts.append(unified_diff(one.live.text, one.text, before, f"b/{name}"))
    return "".join(parts)


def _report(proposal: Proposal) -> str:
    lines = [f"# Night {escaped(proposal.night)}", ""]
    lines += [f"Verdict of fresh attempts: {proposal.verdict or 'none was asked for'}.", ""]
    for one in proposal.documents:
        lines += [f"## {escaped(_name(one.live.path, Path(proposal.project)))}", ""]
        lines += [f"**{UNVERIFIED[0].upper()}{UNVERIFIED[1:]}.**", ""] if one.unverified else []
        known = {rule.id for rule in one.before}
        added = [rule for rule in active(one.rules) if rule.id not in known]
        there = {rule.id for rule in active(one.before)}
        gone = [rule for rule in one.rules if rule.status == "retired" and rule.id in there]
        for title, rules in (("New", added), ("Taken out", gone)):
            lines += [f"### {title}", "", *(line for rule in rules for line in _shown(rule)), ""] if rules else []
    lines += [line for note in proposal.notes for line in (escaped(note), "")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _shown(rule: Rule) -> Sequence[str]:
    evidence = rule.evidence
    lines = [f"- {escaped(rule.text, _RULE_CHARS)} ({rule.id})"]
    for title, names in (("tasks", evidence.tasks), ("attempts", evidence.attempts), ("sessions", evidence.sessions)):
        if names:
            lines.append(f"  - {title}: {', '.join(escaped(name) for name in names)}")
    if rule.ablation:
        lines.append(f"  - retired: {escaped(rule.ablation)}")
    if evidence.note:
        lines.append(f"  - why: {escaped(evidence.note)}")
    return [*lines, *(f"  - to look at: {escaped(doubt)}" for doubt in doubts(rule.text))]
