"""A project with documents, and nights that propose to change them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from etude.skill import Document
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.proposal import DocumentChange, Proposal, read_proposal, stage
from etude.sleep.adoption.rules import Evidence, block_of, revised
from etude.sleep.live_documents import Kind, read_document

HAND = "# House rules\n\n\n\n- Written by hand.\n\n```sh\nmake\n\n\n\n```\n"


class Project(NamedTuple):
    """Folders of a test."""

    root: Path
    state: Path

    @property
    def memory(self) -> Path:
        return self.root / "CLAUDE.md"

    @property
    def skill(self) -> Path:
        return self.root / ".claude" / "skills" / "learned" / "SKILL.md"

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Everything in the project with its permission bits, folders as empty files."""
        return {
            path.relative_to(self.root).as_posix(): (
                path.read_bytes() if path.is_file() else b"",
                path.stat().st_mode & 0o777,
            )
            for path in sorted(self.root.rglob("*"))
        }


def project(folder: Path, memory: str | None = HAND) -> Project:
    """A project with a memory file and no skill."""
    made = Project(folder / "project", folder / "state")
    made.root.mkdir(parents=True)
    if memory is not None:
        made.memory.write_bytes(memory.encode())
        made.memory.chmod(0o640)
    return made


def proposed(
    place: Project, path: Path, block: str, *, night: str = "n1", evidence: Mapping[str, Evidence] | None = None
) -> DocumentChange:
    """A document with another block."""
    kind: Kind = "skill" if path.name == "SKILL.md" else "memory"
    live = read_document(path, kind, place.root)
    opening = Document.parse(live.opening)
    by_hand = revised(kept_rules(place.state).documents.get(live.real, ()), opening.learned or "", "")
    rules = revised(by_hand, block_of(opening.with_learned(block).text), night)
    known = {rule.id for rule in by_hand}
    rules = tuple(
        rule.model_copy(update={"evidence": evidence[rule.text]})
        if evidence and rule.id not in known and rule.text in evidence
        else rule
        for rule in rules
    )
    return DocumentChange(live=live, rules=rules, before=by_hand)


def offer(
    place: Project,
    blocks: Sequence[tuple[Path, str]],
    *,
    night: str = "n1",
    evidence: Mapping[str, Evidence] | None = None,
) -> Path:
    """A staged proposal; returns its folder."""
    documents = tuple(proposed(place, path, block, night=night, evidence=evidence) for path, block in blocks)
    proposal = Proposal(night=night, project=str(place.root), documents=documents)
    return stage(place.state / "nights" / night, proposal)


def both(place: Project, night: str = "n1", rule: str = "- Learned.") -> Path:
    """A proposal for the memory file and the skill."""
    return offer(place, [(place.memory, f"{rule}\n"), (place.skill, f"{rule}\n- Of the skill.\n")], night=night)


def ids(proposal: Path, where: str) -> list[str]:
    """Of the rules that a proposal brings to the documents whose path ends like this."""
    found = (one for one in read_proposal(proposal).documents if one.live.path.endswith(where))
    return [rule.id for one in found for rule in one.added]
