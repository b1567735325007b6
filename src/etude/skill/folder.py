"""Skills on disk, in the Agent Skills format: a folder with SKILL.md and whatever files it needs."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from etude.errors import SkillError, raising
from etude.files import TEMPORARY, private_folder, write_atomically
from etude.records import File, Skill
from etude.skill.document import Document
from etude.skill.front_matter import disagreements, faults
from etude.skill.parts import as_trained, laid_out

DOCUMENT = "SKILL.md"
MAX_BYTES = 50_000_000
"""All files of a skill together. It is copied for every attempt, so more is a mistake: a data set, an environment."""

_PLAIN = (".md", ".markdown")
PROVENANCE = "provenance.json"
"""Why each line is there: next to the document of an exported skill, and not part of it."""
_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", "Thumbs.db", "desktop.ini", PROVENANCE})
_SETTINGS = "etude.yaml"
_FOLDERS = ("references", "scripts", "assets")
INITIAL = "initial"
"""The folder in that of a run which keeps the skill that it began with."""
DESCRIBED = "described"
"""The folder in that of a run which has skills with the descriptions that it trained."""
EVALS = "evals/evals.json"
"""Tasks that come with a skill."""
_EVALS = (EVALS, *(f"evals/{name}" for name in ("evals.jsonl", "evals.yaml", "evals.yml", "eval.yaml", "eval.yml")))
_MAX_NAME = 64


def place_of(skill: Path) -> Path:
    """The folder of a skill that is named by its folder or its document."""
    return skill if skill.is_dir() else skill.parent


def evals_of(folder: Path) -> Path:
    """The file of the tasks that come with a skill; where there is none, that of the usual name."""
    return next((file for name in _EVALS if (file := folder / name).is_file()), folder / EVALS)


def to_open(skill: Skill) -> list[str]:
    """What lies beside the document to be opened: folders, as `scripts/`, and the files that its body names."""
    body = Document.parse(skill.text).body.casefold()
    named = {path for path in skill.files if "/" not in path and path.casefold() in body}
    return sorted(named | {f"{path.partition('/')[0]}/" for path in skill.files if "/" in path})


def skills_in(folder: Path) -> list[Path]:
    """The folders in a folder that are skills, sorted."""
    return [path.parent for path in sorted(folder.glob(f"*/{DOCUMENT}"))]


def has_provenance(skill: Path) -> bool:
    """Whether a skill was trained and exported: the reasons of its lines stand beside its document."""
    return (place_of(skill) / PROVENANCE).exists()


def initial_skill(run: Path) -> Skill | None:
    """The skill that a run began with, as its folder keeps it; None where it was not read from a path.
    Raises SkillError: it cannot be read."""
    return next((load_skill(place) for place in skills_in(run / INITIAL)), None)


def best_skill(run: Path) -> Skill | None:
    """The skill in `best/` of a run, as the run last left it, however incomplete its front matter is; None where
    there is none."""
    for place in skills_in(run / "best"):
        files = read_folder(place)
        skill = Skill(name=place.name, text=_decoded(files.pop(DOCUMENT).data, place / DOCUMENT), files=files)
        return as_trained(run, skill)
    return None


def load_skill(path: Path | str | None) -> Skill:
    """Read a skill: a folder with SKILL.md, a path to a SKILL.md, a plain Markdown file, or None for an empty one.

    The tasks that come with a skill, `evals/` with its `evals.json`, are not part of it: an agent would read there
    what it is graded by.

    A folder brings all its files (`references/`, `scripts/`, assets) with their executable bits, except version
    control, `__pycache__` and what desktops leave behind. The name comes from the front matter, else from the folder
    or file. Front matter of a SKILL.md is read leniently: unknown keys, another name than the folder's and texts that
    are too long are left to `validate_skill`.

    Raises:
        SkillError: nothing is there, it cannot be read, is not UTF-8, is larger than 50 MB or links out of its
            folder; or the document or its front matter is invalid. Names the file, and the line or the key.
    """
    if path is None:
        return Skill(name="skill", text="")
    # Links are kept in the path: a skill is called what the user calls it.
    place = Path(os.path.abspath(os.path.expanduser(path)))
    with raising(SkillError, f"skill {str(path)!r} cannot be read", "give a file or folder that you may read"):
        if not str(path) or not place.exists():
            raise SkillError(
                f"skill {str(path)!r} does not exist",
                hint="give a skill folder, a SKILL.md or a Markdown file; leave it out to start with an empty skill",
            )
        if place.is_dir():
            return _load_folder(place)
        if place.name == DOCUMENT:
            return _load_folder(place.parent)
        return _load_plain(place)


def save_skill(skill: Skill, folder: Path, *, private: bool = False) -> Path:
    """Write `<folder>/<skill.name>/SKILL.md` and all files byte for byte; returns the path of SKILL.md.

    Each file is replaced in one piece, SKILL.md last. Other files that are already there stay. What is
    `private` is for its owner only.

    Raises:
        SkillError: the skill's name or a file's would lead out of the folder. Nothing was written.
    """
    skill = laid_out(skill)
    if PurePosixPath(skill.name).parts != (skill.name,) or not _is_inner(skill.name):
        raise SkillError(
            f"skill name {skill.name!r} is not a folder name", hint="use lowercase letters, digits and '-'"
        )
    base = folder / skill.name
    root = os.path.join(os.path.realpath(folder), skill.name)
    for name in (*skill.files, DOCUMENT):
        # A link that stands in the target folder must not carry a file elsewhere either.
        if not _is_inner(name) or not Path(os.path.realpath((base / name).parent)).is_relative_to(root):
            raise SkillError(
                f"file {name!r} of skill {skill.name!r} would be written outside of {str(base)!r}",
                hint="file names are relative paths with '/' and without '..'; links in the folder must stay in it",
            )
    if DOCUMENT in skill.files:
        raise SkillError(f"a file of skill {skill.name!r} is called {DOCUMENT}", hint="that is the skill's text")
    for name, file in (*skill.files.items(), (DOCUMENT, File(data=skill.text.encode()))):
        if private:
            private_folder((base / name).parent)
        else:
            (base / name).parent.mkdir(parents=True, exist_ok=True)
        mode = 0o777 if file.executable else 0o666
        write_atomically(base / name, file.data, mode=mode & 0o700 if private else mode)
    return base / DOCUMENT


def validate_skill(skill: Skill, strict: bool = False) -> list[str]:
    """What keeps `skill` from being a valid Agent Skill in a folder of its name; empty if fine.

    `strict` adds what other programs may stumble over: unknown keys, and a body over 500 lines or 5,000 tokens.
    """
    try:
        document = Document.parse(skill.text)
    except SkillError as error:
        return [error.message]
    if not document.front_matter:
        return ["there is no front matter; name and description are required"]
    meta = document.meta
    problems = [*faults(meta), *disagreements(document, strict)]
    if isinstance(meta.get("name"), str) and meta["name"] != skill.name:
        problems.append(f"name: {meta['name']!r} differs from the name of the folder, {skill.name!r}")
    return problems


def _load_plain(path: Path) -> Skill:
    if path.suffix.lower() not in _PLAIN:
        raise SkillError(
            f"skill {str(path)!r} is not Markdown", hint="give a .md file, or a folder that holds a SKILL.md"
        )
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SkillError(
            f"skill {str(path)!r} has {size:,} bytes; at most {MAX_BYTES:,} are allowed",
            hint="is it the right file? Move what is not read at every task into files next to SKILL.md",
        )
    text = _decoded(path.read_bytes(), path)
    _parsed(text, path)
    return Skill(name=_slug(path.stem), text=text)


def _load_folder(folder: Path) -> Skill:
    path = folder / DOCUMENT
    if not any(entry.name == DOCUMENT and entry.is_file() for entry in folder.iterdir()):
        raise SkillError(
            f"skill folder {str(folder)!r} has no {DOCUMENT}", hint=f"the document must be called {DOCUMENT}"
        )
    files = read_folder(folder)
    text = _decoded(files.pop(DOCUMENT).data, path)
    document = _parsed(text, path)
    name = _slug(folder.name)
    if document.front_matter:
        problems = faults(document.meta)
        if problems:
            raise SkillError(f"{str(path)!r}: front matter key {problems[0]}", hint="correct it in the file")
        name = document.meta["name"]
    return Skill(name=name, text=text, files=files)


def read_folder(folder: Path) -> dict[str, File]:
    """All files of a skill, its document included, by their path in the folder."""
    files: dict[str, File] = {}
    size = 0
    for path in _walk(folder, (folder.resolve(),)):
        name = path.relative_to(folder).as_posix()
        try:
            name.encode()
        except UnicodeEncodeError:
            raise SkillError(f"file name {name!r} in {str(folder)!r} is not UTF-8", hint="rename the file") from None
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SkillError(f"{str(path)!r} is neither a file nor a folder", hint="move it out of the skill")
        size += status.st_size
        if size > MAX_BYTES:
            raise SkillError(
                f"skill folder {str(folder)!r} is larger than {MAX_BYTES:,} bytes",
                hint="keep data sets and environments outside of the skill",
            )
        files[name] = File(data=path.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))
    return files


def _walk(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    """All files under `folder`, sorted. `above` holds the real paths from the skill's root down to this folder."""
    for path in sorted(folder.iterdir()):
        if path.name == "evals" and len(above) == 1 and evals_of(path.parent).is_file():
            continue
        if path.name in _LEFT_OUT or path.name.startswith(("._", TEMPORARY)):
            continue
        if len(above) == 1 and not _belongs(path):
            continue
        if path.is_symlink() and not path.exists():
            raise SkillError(f"{str(path)!r} is a link to nothing", hint="remove it or put the file there")
        real = path.resolve()
        if not real.is_relative_to(above[0]) or real in above:
            raise SkillError(
                f"{str(path)!r} links to {str(real)!r}, which is outside of the skill or holds the link itself",
                hint="copy what it links to into the skill folder",
            )
        if path.is_dir():
            yield from _walk(path, (*above, real))
        else:
            yield path


def _belongs(path: Path) -> bool:
    """Whether what lies beside a document is of the skill. Where a project lies there as well, its tasks have the
    right answers, and its runs change: of the skill are then the folders of the format, and files that it names."""
    if not (path.parent / _SETTINGS).is_file() or path.name in (DOCUMENT, *_FOLDERS):
        return True
    named = path.name.encode() in (path.parent / DOCUMENT).read_bytes()
    return named and path.is_file() and path.name != _SETTINGS


def _is_inner(name: str) -> bool:
    """Whether `name` is a plain relative path."""
    pure = PurePosixPath(name)
    return str(pure) == name != "." and not pure.is_absolute() and ".." not in pure.parts and "\0" not in name


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SkillError(
            f"{str(path)!r} is not UTF-8: byte {error.start} is {data[error.start]:#04x}", hint="save it as UTF-8"
        ) from None


def _parsed(text: str, path: Path) -> Document:
    try:
        return Document.parse(text)
    except SkillError as error:
        raise SkillError(f"{str(path)!r}, {error.message}", hint=error.hint) from None


def _slug(name: str) -> str:
    """A valid skill name near `name`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_MAX_NAME].rstrip("-") or "skill"
