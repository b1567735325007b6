"""Verify a skill: what a run says about its lines, recomputed from its journal without a call."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple, Unpack

from etude.concurrency import synchronous
from etude.config import TrainConfig
from etude.errors import DataError, IdentityError, StopRun
from etude.records import Record, Skill, Standing, digest
from etude.records.provenance import Provenance, ProvenLine
from etude.skill import Document
from etude.skill.export import without_markers
from etude.skill.folder import PROVENANCE, best_skill, initial_skill
from etude.skill.lines import lines_of
from etude.skill.parts import gathered
from etude.store import SqliteJournal, read_run
from etude.store.projections.skills import standings
from etude.store.provenance import exported
from etude.store.views import JOURNAL, read_view
from etude.trainer import Trainer
from etude.workbench import Given


class Problem(Record):
    """Something in which a skill and its run disagree."""

    line: int | None
    """Number of the line of the skill, counted from 1; None where it is about no single line."""
    text: str = ""
    """The line."""
    what: str
    """What is wrong."""


class Verification(Record):
    """Whether a skill is what its run says."""

    agrees: bool
    problems: tuple[Problem, ...]
    lines: int
    changes: int
    """Changes of the skill that were looked at."""
    standings: dict[Standing, int]
    """Lines of the run's skill that edits put there, by how they are known to help."""


class _Replay(NamedTuple):
    text: str
    """The best skill."""
    provenance: Provenance
    stopped: str
    """Why the journal was not enough; empty when it was."""
    step: int


async def averify_skill(
    config: TrainConfig, trained: Skill, carried: Provenance | None = None, **given: Unpack[Given]
) -> Verification:
    """Run the training once more over a copy of the journal that `config.run` names, with nobody to ask, and compare
    what comes out with the skill: byte by byte, and what each line rests on.

    Args:
        trained: the skill, as the run or an export wrote it.
        carried: the provenance that came with it; by default that in the run folder.

    Raises:
        InputError: there is no journal, it cannot be read, the skill is of another run, or the run cannot be repeated
            here, as without its data.
    """
    folder = Path(config.run.folder) / config.run.name
    trained = gathered(trained) if config.skill.files else trained
    if not (folder / JOURNAL).exists():
        raise DataError(f"{str(folder / JOURNAL)!r} is missing: nothing can be recomputed", hint="restore the file")
    said = carried or read_view(folder / PROVENANCE, Provenance)
    summary = read_run(folder).summary
    was_stopped = summary is None or summary.stopped is not None
    with tempfile.TemporaryDirectory() as place:
        with closing(SqliteJournal(folder / JOURNAL, read_only=True)) as journal:
            journal.copy_to(Path(place) / config.run.name / JOURNAL)
            problems = ([] if said is None else _changed_facts(said, journal)) or _damaged(journal)
        if "skill" not in given and (initial := initial_skill(folder)) is not None:
            given["skill"] = initial
        again = None if problems else await _replayed(config, Path(place), given)
    if again is not None:
        said = said or again.provenance
        gap = again.stopped and not was_stopped
        problems = list(_beyond(said, again) if gap else _differing(trained, said, again))
    return Verification(
        agrees=not problems,
        problems=tuple(problems),
        lines=len(lines_of(trained.text)),
        changes=len(said.changes) if said is not None else 0,
        standings=standings(said) if said is not None else {},
    )


verify_skill = synchronous(averify_skill)


async def _replayed(config: TrainConfig, place: Path, given: Given) -> _Replay:
    run = config.run.model_copy(update={"folder": str(place)})
    test = config.test.model_copy(update={"no_skill": False})  # no line rests on it
    stopped, summary = "", None
    try:
        summary = await Trainer(
            config.model_copy(update={"run": run, "test": test}), **{**given, "offline": True}
        ).atrain()
    except StopRun as stop:
        stopped, summary = stop.message, stop.summary
    except IdentityError as error:
        differs = error.message.partition("\n")[2]
        hint = "check the skill where tasks and settings are as the run had them"
        raise DataError(f"the run cannot be repeated, as it was made otherwise:\n{differs}", hint=hint) from None
    if summary is None:
        raise DataError(f"the run cannot be repeated: {stopped}", hint="restore its journal")
    provenance = read_view(place / run.name / PROVENANCE, Provenance)
    assert provenance is not None
    best = best_skill(place / run.name)
    assert best is not None
    return _Replay(best.text, provenance, stopped, summary.steps)


def _changed_facts(said: Provenance, journal: SqliteJournal) -> list[Problem]:
    """Lines that rest on facts which the journal does not hold as they were.
    Raises DataError: the provenance is that of another run."""
    identity, folder = digest(journal.identity)[:16], str(journal.database.path.parent)
    if said.identity != identity:
        raise DataError(
            f"the skill comes from another run, {said.run!r} ({said.identity}); {folder!r} is {identity}",
            hint="give the run that trained it",
        )
    changed = {name: state for name, value in _facts(said) if (state := _state(journal, name, value))}
    return [
        Problem(line=number, text=line.text, what=f"it rests on the fact {name!r}, which {changed[name]}")
        for number, line in enumerate(said.lines, start=1)
        if line.text.strip() and (name := next((name for name in _rests_on(line, said) if name in changed), None))
    ] or [
        Problem(line=None, what=f"a change rests on the fact {name!r}, which {state}")
        for name, state in changed.items()
    ]


def _damaged(journal: SqliteJournal) -> list[Problem]:
    what = "the fact {!r} was changed in the journal; no line rests on it"
    return [Problem(line=None, what=what.format(name)) for name in journal.damaged()]


def _state(journal: SqliteJournal, name: str, value: str) -> str:
    """What has happened to a fact; empty if nothing has."""
    found = journal.digest_of(name)
    return "" if found == value else "the journal lacks" if found is None else "was changed in the journal"


def _facts(said: Provenance) -> Iterator[tuple[str, str]]:
    for change in said.changes:
        for part in (change, *change.edits):
            yield from part.facts.items()


def _rests_on(line: ProvenLine, said: Provenance) -> Iterator[str]:
    """Names of facts, those of its own edits first."""
    if line.change is not None:
        change = said.changes[line.change]
        for part in (*(change.edits[number] for number in line.edits), change):
            yield from part.facts


def _differing(trained: Skill, said: Provenance, again: _Replay) -> Iterator[Problem]:
    """Lines that the run did not write, lines that are missing, and lines of which something else is said than the
    journal says. Front matter may be what an export is recorded to have written."""
    bare = "etude:begin" not in trained.text and "etude:begin" in again.text
    run = Document.parse(again.text)
    wanted = _with_ends(run.front_matter + without_markers(run) if bare else again.text)
    there = _with_ends(trained.text)
    written = {line.text for line in said.lines if line.origin == "export"}
    fronts = [len(_with_ends(Document.parse(text).front_matter)) for text in (again.text, trained.text)]
    for kind, start, stop, first, last in SequenceMatcher(None, wanted, there, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for index in range(first, last):
            text = there[index].rstrip("\r\n")
            if text not in written or index > fronts[1]:
                yield Problem(line=index + 1, text=text, what="the run did not write it so")
        for index in range(start + last - first if kind == "replace" else start, stop):
            if index >= fronts[0] or not written:
                text = wanted[index].rstrip("\r\n")
                yield Problem(line=first + 1, text=text, what="the run wrote this line here, and it is missing")
    true, claimed = exported(again.provenance, trained.text), exported(said, trained.text)
    for number, (line, claim) in enumerate(zip(true.lines, claimed.lines, strict=True), start=1):
        if _evidence(line, true) != _evidence(claim, claimed):
            what = "the journal says something else about where it comes from, or what it rests on"
            yield Problem(line=number, text=line.text, what=what)
    for number, change in enumerate(said.changes):
        if change not in again.provenance.changes[number : number + 1]:
            yield Problem(line=None, what=f"the journal says something else about {change.place}")


def _beyond(said: Provenance, again: _Replay) -> Iterator[Problem]:
    """What the journal does not give, since it lacks something that the run needed."""
    yield Problem(line=None, what=f"the run cannot be repeated beyond step {again.step}: {again.stopped}")
    for number, line in enumerate(said.lines, start=1):
        if line.change is not None and line.change >= len(again.provenance.changes):
            yield Problem(line=number, text=line.text, what="it cannot be recomputed")


def _evidence(line: ProvenLine, of: Provenance) -> str:
    """All that is said about a line."""
    if line.change is None:
        return line.origin
    change = of.changes[line.change]
    edits = [change.edits[number].model_dump(mode="json") for number in line.edits]
    return json.dumps([change.place, change.origin, change.reason, change.facts, edits], sort_keys=True)


def _with_ends(text: str) -> list[str]:
    return [text[line.start : line.stop] for line in lines_of(text)]
