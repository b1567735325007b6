"""`etude export`."""

import argparse
import os
from pathlib import Path

from etude.cli.lookup import RUNS, find_run, find_skill, is_run, skill_of
from etude.cli.parsing.usage import UsageError
from etude.cli.terminal import output
from etude.errors import SkillError
from etude.programs.places import PLACES
from etude.records import Skill
from etude.skill import save_skill
from etude.skill.export import check_replaceable, export_skill, prompt_text
from etude.skill.folder import DOCUMENT

_OWN_KEYS = frozenset({"claude"})
"""Programs that read front matter keys of their own."""
_FOLDER_OPTIONS = {
    "to": "--to",
    "places": "--for",
    "name": "--name",
    "description": "--description",
    "keep_markers": "--keep-markers",
    "force": "--force",
}
"""Arguments about the folder that is written."""


def run(args: argparse.Namespace) -> int:
    """Write a skill where programs find it, or print it as plain text."""
    if args.to is not None and args.places:
        raise UsageError("--to and --for both say where to write", hint="give one of them")
    idle = [option for name, option in _FOLDER_OPTIONS.items() if args.prompt and getattr(args, name)]
    if idle:
        raise UsageError(
            f"--prompt writes no folder and cannot be combined with {', '.join(idle)}", hint="give one or the other"
        )
    skill = _find(args.skill)
    if args.prompt:
        text = prompt_text(skill)
        if args.json:
            output.json_result({"prompt": text})
        else:
            output.line(text)
        return 0
    exported = export_skill(
        skill,
        name=args.name,
        description=args.description,
        keep_markers=args.keep_markers,
        own_keys=bool(args.places) and _OWN_KEYS.issuperset(args.places),
    )
    folders = [Path(PLACES[place].skills) for place in dict.fromkeys(args.places)] or [Path(args.to or ".")]
    for folder in folders:
        if args.force:
            check_replaceable(exported.skill, folder / exported.skill.name)
        else:
            _refuse_to_overwrite(exported.skill, folder)
    written = [str(_save(exported.skill, folder)) for folder in folders]
    if args.json:
        result = {"name": exported.skill.name, "hash": exported.skill.hash}
        output.json_result({**result, "files": written, "notes": exported.notes})
        return 0
    for text in exported.notes:
        output.note(f"note: {text}")
    for path in written:
        output.line(path)
    return 0


def _find(name: str) -> Skill:
    """The best skill of a run; else what the name says."""
    if is_run(Path(name)) or is_run(RUNS / name):
        return skill_of(find_run(name), "best").skill
    return find_skill(name).skill


def _refuse_to_overwrite(skill: Skill, folder: Path) -> None:
    """Raise if a file is there that differs from the one that would be written."""
    contents = {**{name: file.data for name, file in skill.files.items()}, DOCUMENT: skill.text.encode()}
    for name, data in contents.items():
        path = folder / skill.name / name
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == data):
            raise SkillError(
                f"{str(path)!r} exists and differs", hint="give --force to replace it, or another --name"
            )


def _save(skill: Skill, folder: Path) -> Path:
    try:
        return save_skill(skill, folder)
    except OSError as error:
        raise SkillError(
            f"{str(folder / skill.name)!r} cannot be written: {error.strerror}",
            hint="fix the permissions, or give another folder with --to",
        ) from None
