"""Provenance: what changed the skill of a run, and what each line of it rests on."""

from collections.abc import Mapping, Sequence

from etude.records import AppliedEdit, Attempt, Candidate, Edit, EditEvidence, Proof, Skill, Standing, TrainState
from etude.records.provenance import Change, Provenance, ProvenEdit, ProvenLine
from etude.records.record import digest
from etude.skill import token_count
from etude.skill.blame import INITIAL, Origin, blame, carried, texts_of
from etude.skill.folder import PROVENANCE
from etude.store.run import RunFolder

_UNSAID = "the search policy did not report this change"


class Changes:
    """What changed a skill so far, from the initial one on."""

    def __init__(self, skill: Skill) -> None:
        self._changes: list[Change] = []
        self._first = texts_of(skill.text)
        self._known = {skill.hash: [INITIAL] * len(texts_of(skill.text))}
        """By skill, the origins of its lines."""
        self._tried: Sequence[Attempt] = ()
        self._proof: Proof | None = None

    def tried(self, attempts: Sequence[Attempt], proof: Proof | None = None) -> None:
        """What the next decision rests on, in addition to the attempts that its edits cite."""
        self._tried, self._proof = attempts, proof

    def decided(
        self,
        place: str,
        states: tuple[TrainState, TrainState],
        made: Candidate,
        reason: str,
        answers: Mapping[str, str],
    ) -> None:
        """It was decided on a candidate, between the two states. Where it was not accepted nothing changes. `answers`
        are the optimizer's since the last decision, as facts."""
        tried, proof = self._tried, self._proof
        self._tried, self._proof = (), None
        old, new = states[0].current, states[1].current
        if new.hash == old.hash:
            return
        known = {attempt.id: attempt for attempt in (*states[0].earlier.values(), *tried)}
        evidence = {one.edit.id: one for one in proof.edits} if proof is not None else {}
        edits = [edit for edit in made.edits if edit.fate in ("applied", "repaired")] or [_guidance(tried)]
        if made.origin == "tidy":
            # What takes edits back has won a race; where there are several, they have won it together.
            won: Standing = "proved" if len(edits) == 1 else "trusted"
            evidence = {
                one.edit.id: EditEvidence(edit=one.edit, kept=True, standing=won, note=reason) for one in edits
            }
        proven = tuple(_proven(edit.edit, known, tried, evidence.get(edit.edit.id)) for edit in edits)
        before = self._origins(old)
        origins = blame(before, (old.text, new.text), edits, len(self._changes))
        self._changes.append(
            Change(place=place, origin=made.origin, reason=reason, edits=proven, facts=dict(sorted(answers.items())))
        )
        self._known[new.hash] = origins

    def of(self, skill: Skill, run: str, identity: str, *, simulated: bool) -> Provenance:
        """The provenance of one of the skills that there were."""
        origins = self._origins(skill)
        return Provenance(
            run=run,
            identity=identity,
            hash=skill.hash,
            simulated=simulated,
            tokens=token_count(skill.text),
            lines=tuple(map(self._line, texts_of(skill.text), origins)),
            changes=tuple(self._changes),
        )

    def write(self, folder: RunFolder, skill: Skill, *, simulated: bool) -> Provenance:
        """Write `provenance.json` for the skill that a run has now, or hands out."""
        made = self.of(skill, folder.name, digest(folder.journal.identity)[:16], simulated=simulated)
        folder.write_json(PROVENANCE, made)
        return made

    def _origins(self, skill: Skill) -> list[Origin]:
        if skill.hash not in self._known:
            self._changes.append(Change(place="", origin="step", reason=_UNSAID, edits=(), facts={}))
            unsaid, initial = Origin(len(self._changes) - 1), [INITIAL] * len(self._first)
            self._known[skill.hash] = carried(initial, self._first, texts_of(skill.text), unsaid)
        return self._known[skill.hash]

    def _line(self, text: str, origin: Origin) -> ProvenLine:
        tokens = token_count(text)
        if origin.change is None:
            return ProvenLine(text=text, origin="initial", tokens=tokens)
        change = self._changes[origin.change]
        edits = tuple(range(len(change.edits))) if origin.edit is None else (origin.edit,)
        return ProvenLine(text=text, origin=change.origin, change=origin.change, edits=edits, tokens=tokens)


def exported(provenance: Provenance, text: str) -> Provenance:
    """The provenance of a text that was made of the skill: a line that the skill does not have is the export's."""
    lines = carried(provenance.lines, [line.text for line in provenance.lines], texts_of(text), None)
    kept = [
        line or ProvenLine(text=own, origin="export", tokens=token_count(own))
        for line, own in zip(lines, texts_of(text), strict=True)
    ]
    return provenance.model_copy(update={"lines": tuple(kept), "tokens": token_count(text)})


def _proven(
    edit: Edit, known: Mapping[str, Attempt], tried: Sequence[Attempt], evidence: EditEvidence | None
) -> ProvenEdit:
    cited = [known[name] for name in edit.cites if name in known]
    solved, needed = (evidence.fixes, evidence.needed) if evidence is not None else ((), ())
    tasks = {attempt.task.id for attempt in cited} | {*solved, *needed}
    rests_on = {one.id: one for one in (*cited, *tried) if one.task.id in tasks or not edit.cites}
    facts = {name: value for attempt in rests_on.values() for name, value in attempt.facts.items()}
    return ProvenEdit(
        edit=edit,
        failures={attempt.id: attempt.task.id for attempt in cited},
        solved=solved,
        needed=needed,
        standing=(None if evidence is None else evidence.standing) or "not tested",
        tested="" if evidence is None else "; ".join(part for part in (evidence.counts, evidence.note) if part),
        attempts=len(rests_on),
        facts=dict(sorted(facts.items())),
    )


def _guidance(tried: Sequence[Attempt]) -> AppliedEdit:
    """For a change that is not made of edits, as guidance that passed the gate: it answers what failed."""
    failed = tuple(attempt.id for attempt in tried if attempt.score is not None and not attempt.solved)
    return AppliedEdit(edit=Edit(op="rewrite", cites=failed), fate="applied")
