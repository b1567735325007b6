"""A skill whose files are trained, too: as one text, and as the folder that agents read.

The text is what edits, proofs and provenance are about: the document, the line `<!-- etude:files -->`, and below it
each file under `references/` and `scripts/` in the order of the paths. A file that cannot be text of the document
stands there with its path alone, so that no edit takes its place, and stays among the files of the skill.
"""

from pathlib import Path

from etude.errors import SkillError
from etude.records import File, Skill
from etude.skill.document import Document
from etude.skill.lines import line_end_of, lines_of
from etude.skill.markers import FILES, path_fault, pretends

MOST_FILES = 24
MOST_CHARS = 20_000
"""Of one file."""
FOLDERS = ("references/", "scripts/")
TRAINABLE = (
    f"what is trained is UTF-8 with LF line ends, a plain name, at most {MOST_CHARS:,} characters, no marker lines"
)


def gathered(skill: Skill) -> Skill:
    """The skill with its files in its text. Raises SkillError: the document cannot be read or has a `learned` block,
    or two files differ in upper and lower case only."""
    skill = laid_out(skill)
    if Document.parse(skill.text).learned is not None:
        raise SkillError(
            f"skill {skill.name!r} has a learned block, beside which nothing is edited",
            hint="leave skill.files out, or take the markers of the block out",
        )
    pieces, kept = [skill.text], dict(skill.files)
    if skill.text and not skill.text.endswith(("\n", "\r")):
        pieces.append(line_end_of(skill.text))
    pieces.append(f"{FILES}\n")
    for path, file in sorted(skill.files.items()):
        if path_fault(path):
            continue
        content = file.data.decode(errors="replace")
        fits = content.encode() == file.data and not unfit(content)
        says = " kept" if not fits else " +x" if file.executable else ""
        pieces.append(f"<!-- etude:file {path}{says} -->\n")
        if fits:
            pieces.append(content)
            del kept[path]
    try:
        Document.parse("".join(pieces))
    except SkillError as error:
        raise SkillError(f"skill {skill.name!r}, {error.message}", hint="rename one of the files") from None
    return Skill(name=skill.name, text="".join(pieces), files=kept)


def prepared(skill: Skill, files: bool) -> Skill:
    """The skill as it is trained: with its files in its text, or without. Raises SkillError: as these two."""
    return gathered(skill) if files else laid_out(skill)


def laid_out(skill: Skill) -> Skill:
    """The skill as a folder holds it: its files beside its document. Raises SkillError: the text cannot be read, or
    the skill has two files of one path."""
    document = Document.parse(skill.text) if FILES in skill.text else None
    if document is None or document.files_at is None:
        return skill
    files = dict(skill.files)
    for part in document.files:
        if (part.path in files) is not (part.says == "kept"):
            raise SkillError(
                f"skill {skill.name!r}: its text and its folder disagree about the file {part.path!r}",
                hint="take it out of one of them",
            )
        if part.says != "kept":
            data = skill.text[slice(*part.inner)].encode()
            files[part.path] = File(data=data, executable=part.says == "+x")
    return Skill(name=skill.name, text=skill.text[: document.files_at], files=files)


def as_trained(run: Path, skill: Skill) -> Skill:
    """A skill of a run as the run had it: with its files in its text where these were trained."""
    first = run / "skills" / "0000.md"
    trained = first.is_file() and Document.parse(first.read_bytes().decode(errors="replace")).files_at is not None
    return gathered(skill) if trained else skill


def unfit(content: str) -> str:
    """Why a file cannot stand in the text and be taken out of it again byte for byte; empty when it can."""
    if "\0" in content or "\r" in content:
        return "it holds characters other than those of plain text"
    if content and not content.endswith("\n"):
        return "its last line has no end"
    if any(pretends(line.text) for line in lines_of(content)):
        return "it holds a line that looks like a marker"
    return f"it has more than {MOST_CHARS:,} characters" if len(content) > MOST_CHARS else ""
