"""`etude export`."""

import argparse
import json
import os
import shlex
from pathlib import Path

from etude.cli.lookup import NamedSkill, carried_by, find_run, find_skill, names_run, trained_skill
from etude.cli.parsing.verb import UsageError
from etude.cli.terminal import output
from etude.errors import DataError, SkillError, raising
from etude.files import write_atomically
from etude.programs.project_paths import PLACES
from etude.records import Skill
from etude.records.provenance import Provenance
from etude.skill import save_skill
from etude.skill.blame import texts_of
from etude.skill.export import check_replaceable, export_skill, prompt_text
from etude.skill.folder import DOCUMENT, PROVENANCE, to_open
from etude.skill.markers import FILES
from etude.skill.parts import laid_out, prepared
from etude.store.provenance import exported
from etude.store.views import read_view

_OWN_KEYS = frozenset({"claude"})
"""Programs that read front matter keys of their own."""
_FOLDER_OPTIONS = {
    "to": "--to",
    "places": "--for",
    "name": "--name",
    "description": "--description",
    "keep_markers": "--keep-markers",
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
    named = _find(args.skill)
    skill = named.skill
    said = _verdict(named, args.force)
    if args.prompt:
        text, beside = prompt_text(skill), " and ".join(to_open(laid_out(skill)))
        notes = [f"the prompt is the text alone, and the skill has {beside} to be opened"] if beside else []
        if args.json:
            output.json_result({"prompt": text, "notes": notes, "verdict": said})
            return 0
        for each in (said, *(f"note: {each}" for each in notes)):
            output.note(each)
        output.data(text)
        return 0
    ready = export_skill(
        skill,
        name=args.name,
        description=args.description,
        keep_markers=args.keep_markers,
        own_keys=bool(args.places) and _OWN_KEYS.issuperset(args.places),
    )
    folders = [Path(PLACES[place].skills) for place in dict.fromkeys(args.places)] or [Path(args.to or ".")]
    for folder in folders:
        _refuse_links(folder)
        if args.force:
            check_replaceable(ready.skill, folder / ready.skill.name)
        else:
            _refuse_to_overwrite(ready.skill, folder)
    written = [str(_save(ready.skill, folder, _provenance(named, ready.skill))) for folder in folders]
    if args.json:
        result = {"name": ready.skill.name, "hash": ready.skill.hash}
        output.json_result({**result, "files": written, "notes": ready.notes, "verdict": said})
        return 0
    for text in (said, *(f"note: {text}" for text in ready.notes)):
        if text:
            output.note(text)
    for path in written:
        output.line(path)
    return 0


def _find(name: str) -> NamedSkill:
    """The best skill of a run; else what the name says."""
    if names_run(name):
        return trained_skill(find_run(name), "best")
    return find_skill(name)


def _verdict(named: NamedSkill, force: bool) -> str:
    """What the run of a skill found out about it, in a sentence; empty for a skill of no run.
    Raises DataError: nothing about its best skill, which was not asked for by `force`."""
    run = named.run
    if run is None:
        return ""
    if not named.label.endswith(":best") and not named.label.startswith("best"):
        return f"no verdict: this is not the best skill of run {run.name!r}"
    found = run.summary
    if found is None or found.dry or (found.best.val is None and found.verdict is None):
        what = "was a dry run" if found is not None and found.dry else "has measured nothing"
        if force:
            return f"run {run.name!r} {what}: nobody knows whether this skill helps"
        raise DataError(
            f"run {run.name!r} {what}: there is no reason to use its skill",
            hint=f"`{output.program()} show {run.path}` says how it stands; --force exports the skill all the same",
        )
    simulated = ", with simulated models" if found.simulated else ""
    if found.best.hash == found.initial.hash:
        return f"run {run.name!r} kept no edit: this is the skill that it began with"
    if found.verdict is None or found.test_gain is None:
        return f"no verdict: run {run.name!r} made no test{simulated}"
    gain = found.test_gain
    return f"verdict: {found.answer.words}, test gain {gain.shown_change} over {gain.n} tasks{simulated}"


def _provenance(named: NamedSkill, skill: Skill) -> Provenance | None:
    """Of the lines of the exported skill; None for one that nothing is known of, or that was changed since."""
    path = None if named.run is None else Path(named.run.path) / PROVENANCE
    found = carried_by(named.label) if path is None else read_view(path, Provenance)
    texts = [] if found is None else [line.text for line in found.lines]
    files = FILES in texts
    if found is None or texts != texts_of(prepared(named.skill, files).text):
        return None
    return exported(found, prepared(skill, files).text)


def _refuse_links(folder: Path) -> None:
    """Raise if the folder is a link, or one above it in the current folder is: who wrote the project could have the
    skill written anywhere."""
    here, place = Path.cwd(), Path(os.path.abspath(folder))
    within = [above for above in place.parents if above.is_relative_to(here) and above != here]
    link = next((path for path in (place, *within) if path != here and path.is_symlink()), None)
    if link is not None:
        raise SkillError(
            f"{str(folder)!r} would be written through a link: {str(link)!r} leads to {os.path.realpath(link)!r}",
            hint=f"if that is what you want, give the real place: --to {shlex.quote(os.path.realpath(folder))}",
        )


def _refuse_to_overwrite(skill: Skill, folder: Path) -> None:
    """Raise if a file is there that differs from the one that would be written."""
    contents = {**{name: file.data for name, file in skill.files.items()}, DOCUMENT: skill.text.encode()}
    for name, data in contents.items():
        path = folder / skill.name / name
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == data):
            raise SkillError(
                f"{str(path)!r} exists and differs", hint="give --force to replace it, or another --name"
            )


def _save(skill: Skill, folder: Path, provenance: Provenance | None) -> Path:
    hint = "fix the permissions, or give another folder with --to"
    with raising(SkillError, f"{str(folder / skill.name)!r} cannot be written", hint):
        path = save_skill(skill, folder)
        path.with_name(PROVENANCE).unlink(missing_ok=True)  # that of another skill, which stood there
        if provenance is not None:
            text = json.dumps(provenance.model_dump(mode="json"), ensure_ascii=False, indent=2, sort_keys=True)
            write_atomically(path.with_name(PROVENANCE), f"{text}\n".encode(), mode=0o666)
        return path
