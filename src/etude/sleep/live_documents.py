"""Which documents of a project an agent reads, and how they are when a night begins."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from etude.errors import EtudeError, SkillError
from etude.programs.imports import read_text
from etude.programs.in_force import CLAUDE, InForce, in_force, opening_of
from etude.programs.project_paths import place_of
from etude.records import Record
from etude.redaction import Redactor
from etude.skill import Document
from etude.skill.folder import DOCUMENT
from etude.sleep.config import SleepSection
from etude.sleep.state import Surroundings

Kind = Literal["skill", "memory"]

_SUFFIXES = (".md", ".markdown", ".mdc")


class LiveDocument(Record):
    """A document as it is on disk. A missing file is an empty document."""

    kind: Kind
    path: str
    """Absolute, as it was named; may lead through links."""
    real: str
    """The same without links: where the bytes are."""
    data: bytes | None
    """None when there is no file."""
    mode: int | None
    """Permission bits; None when there is no file."""
    begins: str = ""
    """What a new file begins with, so that it puts no other out of force."""
    room: int | None = None
    """How many bytes of it the agent reads; None for all."""

    @property
    def text(self) -> str:
        """What is in the file."""
        return "" if self.data is None else self.data.decode()

    @property
    def opening(self) -> str:
        """What a night starts from: the text, or the front matter that a new file of this kind needs."""
        if self.data is not None:
            return self.text
        path = Path(self.path)
        if self.kind == "skill":
            about = "Rules learned from earlier work in this project. Read before any task here."
            return f"---\nname: {path.parent.name}\ndescription: {about}\n---\n"
        if path.suffix == ".mdc":
            return "---\ndescription: Rules learned from earlier work in this project\nalwaysApply: true\n---\n"
        return self.begins


def without_secrets(text: str) -> str:
    """What models and people are shown of a document. Addresses of people are not taken for secrets here."""
    sent, found = Redactor.for_transcripts(os.environ).redact_counted(text)
    return sent if found.keys() - {"email"} else text


def secrets_in(text: str) -> int:
    """How many secrets there are in a text."""
    found = Redactor.for_transcripts(os.environ).redact_counted(text)[1]
    return found.total() - found["email"]


def skill_paths(project: Path, agent: str) -> dict[str, Path]:
    """The agent's skills of the project that exist, by the name of their folder, sorted."""
    folder = project / place_of(agent).skills
    return {path.parent.name: path for path in sorted(folder.glob(f"*/{DOCUMENT}")) if path.is_file()}


def places_in(agent: str, project: Path, around: Surroundings) -> InForce:
    """The instructions that the version of an agent reads which is installed here."""
    asked = agent, project, around.home, around.environ
    found = in_force(*asked)
    if agent != CLAUDE or all(path.name != "AGENTS.md" for path in (found.memory, *found.files)):
        return found
    from etude.programs.claude_code import ClaudeCode  # only here: what asks no model is to be quick

    try:
        return in_force(*asked, ClaudeCode().version(ClaudeCode().find()))
    except EtudeError:
        return found


class ReadByAgent(NamedTuple):
    """What the agent of a project reads."""

    skill: LiveDocument
    memory: LiveDocument
    shared: tuple[Path, ...]
    """Files of instructions beside these two, which a night does not change."""

    @property
    def others(self) -> list[str]:
        """What is in them, without secrets."""
        return [without_secrets(text) for path in self.shared if (text := read_text(path) or "").strip()]


def documents_of(sleep: SleepSection, around: Surroundings) -> ReadByAgent:
    """The skill and the memory file of a night as they are now, whether or not they exist, and what is read besides;
    errors as of `read_document`."""
    project, named = Path(sleep.project), [Path(path) for path in sleep.named_paths]
    found = places_in(sleep.agent, project, around)
    path = Path(sleep.memory_path or project / os.path.relpath(found.memory, project))
    if sleep.memory and (setting := found.unread(path)):
        what = f"{sleep.agent} would not read {str(path)!r}: its setting {setting} keeps it from that"
        raise SkillError(what, hint="change that one, or let rules go into the skill with sleep.memory: false")
    skill = project / place_of(sleep.agent).skills / sleep.skill_name / DOCUMENT
    # The memory file first: it is there before any night, so what is wrong with it is reported first.
    memory = read_document(path, "memory", project, named)
    if path.absolute() == found.memory.absolute():
        memory = memory.model_copy(update={"room": found.room})
    imported = (path.absolute().with_name("AGENTS.md"),) if memory.begins else ()  # it is read once the new file is
    shared = tuple(dict.fromkeys(one for one in (*found.files, *imported) if one != path.absolute()))
    return ReadByAgent(read_document(Path(sleep.skill_path or skill), "skill", project, named), memory, shared)


def read_document(path: Path, kind: Kind, project: Path, allow: Iterable[Path] = ()) -> LiveDocument:
    """A document as it is now, in the project or in files and folders that the user named (`allow`).

    Raises:
        SkillError: as `located`; the file cannot be read, is not UTF-8, or is not a document (names the line).
    """
    place = Path(os.path.abspath(path))
    real = located(place, project, allow)
    try:
        with open(real, "rb") as file:
            data, mode = file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        begins = opening_of(real) if kind == "memory" else ""
        return LiveDocument(kind=kind, path=str(place), real=str(real), data=None, mode=None, begins=begins)
    except OSError as error:
        raise SkillError(f"{str(path)!r} cannot be read: {error}", hint="give a file that you may read") from error
    try:
        Document.parse(data.decode())
    except UnicodeDecodeError as error:
        raise SkillError(
            f"{str(path)!r} is not UTF-8: byte {error.start} is {data[error.start]:#04x}", hint="save it as UTF-8"
        ) from None
    except SkillError as error:
        raise SkillError(f"{str(path)!r}, {error.message}", hint=error.hint) from None
    return LiveDocument(kind=kind, path=str(place), real=str(real), data=data, mode=mode)


def check_writable(live: LiveDocument) -> None:
    """Refuse a document that adopting a proposal could not replace. Raises SkillError."""
    folder = next(above for above in Path(live.real).parents if above.exists())
    there = [folder] if live.data is None else [folder, Path(live.real)]
    effective = os.access in os.supports_effective_ids
    for path in there:
        if not os.access(path, os.W_OK, effective_ids=effective):
            raise SkillError(
                f"{live.path!r} could not be changed: {str(path)!r} is read-only for this user",
                hint=f"allow it, or set `sleep.{live.kind}` to another file, or to false",
            )


def located(path: Path, project: Path, allow: Iterable[Path] = ()) -> Path:
    """Where the document is without links, whether or not it exists.

    Raises:
        SkillError: that is outside of the project and of what is allowed, not a Markdown file, in version control, or
            something that is not a regular file; the path leads through a link to nothing.
    """
    place = Path(os.path.abspath(path))
    real = Path(os.path.realpath(place))
    if real != place and not real.exists() and os.path.lexists(place):
        raise SkillError(f"{str(path)!r} is a link to nothing", hint="remove the link, or make the file it leads to")
    roots = [Path(os.path.realpath(root)) for root in (project, *allow)]
    if not any(real == root or real.is_relative_to(root) for root in roots):
        raise SkillError(
            f"{str(path)!r} is at {str(real)!r}, outside of the project {str(project)!r}",
            hint="name that file itself in the settings if it is to be changed",
        )
    if {place.suffix.lower(), real.suffix.lower()} - set(_SUFFIXES) or ".git" in real.parts:
        raise SkillError(f"{str(path)!r} is not a Markdown document", hint=f"allowed: {', '.join(_SUFFIXES)}")
    above = next((folder for folder in real.parents if os.path.lexists(folder)), real.parent)
    if not above.is_dir() or (os.path.lexists(real) and not real.is_file()):
        raise SkillError(
            f"{str(path)!r} is not a regular file in a folder", hint="move away what is there, or give another file"
        )
    return real
