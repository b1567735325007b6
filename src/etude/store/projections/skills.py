"""The skill of a run, line by line: which edit put each line there. And how it came to be, step by step."""

from collections import Counter
from pathlib import Path

from etude.errors import DataError
from etude.records import Record, Skill, Standing
from etude.records.provenance import Provenance, ProvenEdit, ProvenLine
from etude.skill.diff import unified_diff
from etude.skill.folder import PROVENANCE
from etude.store.views import RunView, numbered, read_view, skill_text

_LEAST: tuple[Standing, ...] = ("proved", "trusted", "not tested")


class LineEvidence(Record):
    """What a line rests on: numbers of its edits taken together."""

    cites: int
    """Failed attempts that they cite."""
    solved: int
    """Cited tasks that did better with them."""
    needed: int
    """Tasks that did better in most attempts with one of them."""
    standing: Standing
    """`proved` where each of them is; else the least."""
    attempts: int
    """Attempts that this rests on."""


class BlamedLine(Record):
    """A line of the skill and where it comes from."""

    number: int
    line: ProvenLine
    source: str
    """As in `initial`, `step 3` or `tidy, step 19`."""
    place: str
    """The folder of the step, as in `steps/0003`; empty for a line of no step."""
    evidence: LineEvidence | None
    """None for lines that no edit put there."""


class SkillPage(Record):
    """The skill that a run hands out, or has so far."""

    provenance: Provenance
    lines: tuple[BlamedLine, ...]
    versions: tuple[int, ...]
    """Steps after which a skill was written down; 0 is the initial one."""


class Version(Record):
    """The skill after a step."""

    step: int
    text: str
    diff: str
    """Against the one before; empty when nothing changed."""


def provenance_of(run: RunView) -> Provenance:
    """Why each line is there. Raises DataError: the run has not written it yet, or it is damaged."""
    provenance = read_view(Path(run.path) / PROVENANCE, Provenance)
    if provenance is None:
        raise DataError(
            f"run {run.name!r} has no {PROVENANCE} yet",
            hint="it is written when a training run begins; run `train` again with the same settings",
        )
    return provenance


def skill_page(run: RunView) -> SkillPage:
    """The skill with its blame. Raises DataError: there is none yet, or it is damaged."""
    provenance = provenance_of(run)
    return SkillPage(
        provenance=provenance,
        lines=tuple(blamed(provenance, number) for number in range(1, len(provenance.lines) + 1)),
        versions=tuple(int(Path(name).stem) for name in run.skills),
    )


def version(run: RunView, step: int) -> Version:
    """The skill after a step. Raises DataError: there is none of that number."""
    steps = [int(Path(name).stem) for name in run.skills]
    if step not in steps:
        raise DataError(f"run {run.name!r} has no skill of step {step}", hint=f"it has {len(steps)} skills so far")
    text, at = _text(run, step), steps.index(step)
    before = text if at == 0 else _text(run, steps[at - 1])
    return Version(step=step, text=text, diff=unified_diff(before, text, "before", "after"))


def skill_names(path: Path) -> dict[str, str]:
    """What the skills of a run are called, by their hashes. One with files is not told by its text alone."""
    found = {Skill(text="").hash: "no skill"}
    for file in (*numbered(path, "skills/*.md"), *numbered(path, "steps/*/candidate.md")):
        if file.name == "candidate.md":
            name = f"candidate of step {int(file.parent.name)}"
        else:
            name = f"after step {int(file.stem)}" if int(file.stem) else "initial"
        found.setdefault(Skill(text=skill_text(file)).hash, name)
    return found


def edits_of(provenance: Provenance, line: ProvenLine) -> tuple[ProvenEdit, ...]:
    """The edits that a line comes from."""
    return () if line.change is None else tuple(provenance.changes[line.change].edits[n] for n in line.edits)


def blamed(provenance: Provenance, number: int) -> BlamedLine:
    """A line, counted from 1, with its source and evidence."""
    line = provenance.lines[number - 1]
    edits = edits_of(provenance, line)
    evidence = None
    if edits:
        evidence = LineEvidence(
            cites=len({name for edit in edits for name in edit.failures}),
            solved=len({name for edit in edits for name in edit.solved}),
            needed=len({name for edit in edits for name in edit.needed}),
            standing=_LEAST[max(_LEAST.index(edit.standing) for edit in edits)],
            attempts=sum(edit.attempts for edit in edits),
        )
    place = "" if line.change is None else provenance.changes[line.change].place
    return BlamedLine(number=number, line=line, source=_source(line, place), place=place, evidence=evidence)


def standings(provenance: Provenance) -> dict[Standing, int]:
    """How many lines that edits put there, blank ones aside, are known to help in each way."""
    lines = enumerate(provenance.lines, start=1)
    found = [blamed(provenance, number).evidence for number, line in lines if line.text.strip()]
    count = Counter(each.standing for each in found if each is not None)
    return {each: count[each] for each in _LEAST if count[each]}


def _source(line: ProvenLine, place: str) -> str:
    if line.change is None:
        return line.origin
    folder, _, number = place.partition("/")
    kind = {"tidy": "tidy, step", "slow_update": "slow update"}.get(line.origin, "step")
    return f"{kind} {int(number)}" if number else folder or kind


def _text(run: RunView, step: int) -> str:
    return skill_text(Path(run.path) / f"skills/{step:04d}.md")
