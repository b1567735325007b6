"""Proof: test edits on the failures they should fix, instead of asking for a higher mean over everything.

A mean over a hundred noisy tasks is a blunt instrument for a rule that touches five of them. So the edits are tried
together on the failures; what passes then is evidence for all of them. Then each edit is left out on a task that it
fixes, and stays only if the task fails without it, in two of three attempts. Where no edit alone is missed, because
several cover for each other or because citations are wrong, a smallest set that fixes the task is found.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from etude.concurrency import together
from etude.config import GateSection
from etude.records import Attempt, Edit, EditEvidence, Proof, Skill, Task, Tested, digest
from etude.stages.shared.explain import explain
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_DIFFERENT = 0.1
"""Least difference of two scores of a task that counts, in [0, 1]: fractional scores waver by less than this."""

Variant = Callable[[Sequence[int]], Skill]
"""The skill with the edits of these numbers."""


_Fixed = tuple[Attempt, float]
"""A failure, and what its task scores with all edits."""


class ProofInput(NamedTuple):
    """What is to be proved."""

    edits: Sequence[Edit]
    variant: Variant
    """Makes the skills to test; without any edit it is the current skill."""
    failures: Sequence[Attempt]
    """Attempts with the current skill that failed."""
    witnesses: Sequence[Attempt] = ()
    """Attempts that solved their task: a deletion that fixes nothing stays where these tasks are still solved."""
    copied: Mapping[int, Collection[str]] = MappingProxyType({})
    """By the number of an edit, ids of tasks whose gold answer it holds: that it fixes them says nothing for it."""


class Proved(NamedTuple):
    """The outcome of a proof."""

    proof: Proof
    kept: Sequence[int]
    """Numbers of the edits that stay; none when the proof is not accepted."""
    attempts: Sequence[Attempt]
    """What was attempted with just these edits."""
    tried: Sequence[Attempt]
    """All that was attempted."""
    tasks: tuple[Tested, ...]
    """What each task scored before and with these edits; with all edits where it was not attempted with these."""


async def prove(rollout: Rollout, given: ProofInput, gate: GateSection, step: int) -> Proved:
    """Test edits.

    Args:
        gate: which score counts.

    Raises:
        VoidStop: too many attempts errored.
    """
    proving = Proving(rollout, given, gate, step)
    proof, kept = await proving.prove()
    skill = given.variant(kept).hash
    with_these = [attempt for attempt in proving.attempts if kept and attempt.skill_hash == skill]
    return Proved(proof, kept, with_these, proving.attempts, tuple(proving.tested(kept)))


@dataclass
class Proving:
    """The tests of one proof, and all that was attempted for them."""

    rollout: Rollout
    given: ProofInput
    gate: GateSection
    step: int
    attempts: list[Attempt] = field(default_factory=list[Attempt])

    @property
    def voids(self) -> int:
        return len({attempt.id for attempt in self.attempts if attempt.score is None})

    def tested(self, kept: Sequence[int]) -> Iterator[Tested]:
        """What the tasks scored before and after, the failures first."""
        after: dict[str, float] = {}
        everything = range(len(self.given.edits))
        for numbers in (everything, kept or everything):
            skill = self.given.variant(numbers).hash
            scored = (attempt for attempt in self.attempts if attempt.score is not None)
            after |= {attempt.task.id: self._value(attempt) for attempt in scored if attempt.skill_hash == skill}
        for attempt in (*self.given.failures, *self.given.witnesses):
            if attempt in self.given.failures or attempt.task.id in after:
                name = attempt.task.id
                yield Tested(task=name, before=self._value(attempt), after=after.get(name))

    async def prove(self) -> tuple[Proof, Sequence[int]]:
        edits, failures = self.given.edits, self.given.failures
        everything = tuple(range(len(edits)))
        together = await self._values([(attempt.task, everything, 0) for attempt in failures])
        fixed = [
            (attempt, value)
            for attempt, value in zip(failures, together, strict=True)
            if value is not None and value >= self._value(attempt) + _DIFFERENT
        ]
        needed, failing = await self.leave_one_out(fixed)
        kept = [index for index in everything if needed[index]]
        missed = await self._missed(kept, failing, 1)
        if missed:
            for index, tasks in (await self.cover(kept, missed)).items():
                needed[index] = (*needed[index], *tasks)
            kept = [index for index in everything if needed[index]]
            missed = await self._missed(kept, fixed)
        while (grounded := self._grounded(kept, needed, missed)) != kept:
            kept = grounded
            missed = await self._missed(kept, fixed)
        evidence = tuple(
            EditEvidence(
                edit=edit,
                kept=index in kept,
                fixes=tuple(attempt.task.id for attempt, _ in fixed if attempt.id in edit.cites),
                needed=needed[index],
                copied=tuple(sorted(self.given.copied.get(index, ()))),
            )
            for index, edit in enumerate(edits)
        )
        proof = Proof(edits=evidence, failed=len(failures), voids=self.voids)
        # A task whose attempt has no score was not seen to be fixed.
        skill = self.given.variant(kept).hash
        seen = {
            attempt.task.id for attempt in self.attempts if attempt.skill_hash == skill and attempt.score is not None
        }
        still = tuple(a.task.id for a, best in fixed if (a, best) not in missed and a.task.id in seen)
        if not kept or not still:
            return await self._deleted(self._ended(proof, f"kept 0 of {len(edits)} edits; {self._passing(0)}"))
        proof = proof.model_copy(update={"fixed": still, "accepted": True})
        return self._ended(proof, f"kept {len(kept)} of {len(edits)} edits; {self._passing(len(still))}"), kept

    def _grounded(
        self, kept: Sequence[int], needed: Sequence[tuple[str, ...]], missed: Sequence[_Fixed]
    ) -> Sequence[int]:
        """Without what was needed only for tasks that fail after all, or whose answer it copies."""
        lost = {attempt.task.id for attempt, _ in missed}
        copied = self.given.copied
        return [index for index in kept if not lost.union(copied.get(index, ())).issuperset(needed[index])]

    def _passing(self, fixed: int) -> str:
        better = "pass" if self.gate.metric == "hard" else "score higher"
        return f"{fixed} of {len(self.given.failures)} failed tasks now {better}"

    async def _deleted(self, proof: Proof) -> tuple[Proof, Sequence[int]]:
        """Deletions, where no edit fixes anything: what is lost by none of the tasks is not worth its tokens, and may
        be half of what misleads. The other half can only be found without it."""
        kept = [index for index, edit in enumerate(self.given.edits) if edit.op == "delete"]
        witnesses = self.given.witnesses
        if not kept or not witnesses:
            return proof, ()
        before = [*self.given.failures, *witnesses]
        values = await self._values([(attempt.task, kept, 0) for attempt in before])
        lost = tuple(
            attempt.task.id
            for attempt, value in zip(before, values, strict=True)
            if value is None or _worse(value, self._value(attempt))
        )
        proof = proof.model_copy(update={"guarded": len(witnesses), "lost": lost})
        if lost:
            worse = f"{len(lost)} of {len(before)} tasks score lower with the deletions"
            return self._ended(proof, f"{proof.reason}; {worse}"), ()
        evidence = tuple(
            one.model_copy(update={"kept": index in kept, "needed": ()}) for index, one in enumerate(proof.edits)
        )
        shorter = proof.model_copy(update={"accepted": True, "edits": evidence})
        found = f"kept {len(kept)} of {len(evidence)} edits, all deletions; 0 of {len(before)} tasks score lower"
        return self._ended(shorter, found), kept

    def _ended(self, proof: Proof, reason: str) -> Proof:
        return proof.model_copy(update={"reason": reason, "voids": self.voids})

    async def leave_one_out(self, fixed: Sequence[_Fixed]) -> tuple[list[tuple[str, ...]], list[_Fixed]]:
        """For each edit the tasks that it cites, that do better with all edits, and that do worse without it; and the
        tasks that do not do better with the edits that are needed."""
        everything = range(len(self.given.edits))
        cited = [
            (index, *theirs[0])
            for index, edit in enumerate(self.given.edits)
            if (theirs := [(attempt.task, value) for attempt, value in fixed if attempt.id in edit.cites])
        ]
        values = await self._values([(task, _without(everything, index), 0) for index, task, _ in cited])
        once = [one for one, value in zip(cited, values, strict=True) if _worse(value, one[2])]
        # Left out again, edits mostly turn out as before: what is left with them is attempted at the same time.
        tries = [(task, _without(everything, index), trial) for index, task, _ in once for trial in (1, 2)]
        left = [index for index, *_ in once]
        values = await self._values(tries + [(attempt.task, left, 0) for attempt, _ in fixed if left])
        needed: list[tuple[str, ...]] = [() for _ in everything]
        for number, (index, task, best) in enumerate(once):
            if any(_worse(value, best) for value in values[2 * number : 2 * number + 2]):
                needed[index] = (task.id,)
        if not left or not all(needed[index] for index in left):
            return needed, await self._missed([index for index in left if needed[index]], fixed)
        after = zip(fixed, values[len(tries) :], strict=True)
        return needed, [one for one, value in after if _worse(value, one[1])]

    async def _missed(self, kept: Sequence[int], fixed: Sequence[_Fixed], trial: int = 0) -> list[_Fixed]:
        """Tasks that do better with all edits but not with those that are kept."""
        if not kept:
            return list(fixed)
        values = await self._values([(attempt.task, kept, trial) for attempt, _ in fixed])
        return [one for one, value in zip(fixed, values, strict=True) if _worse(value, one[1])]

    async def cover(self, kept: Sequence[int], missed: Sequence[_Fixed]) -> dict[int, tuple[str, ...]]:
        """What is missing: for each task the best supported of the edits that cite it, where one is enough, else a
        smallest set of all. The edits to add, with the tasks that need them."""
        edits = self.given.edits
        left = [index for index in range(len(edits)) if index not in kept]
        citing = [[index for index in left if attempt.id in edits[index].cites] for attempt, _ in missed]
        single = [(which, index) for which, indices in enumerate(citing) for index in indices]
        values = await self._values([(missed[which][0].task, (*kept, index), 0) for which, index in single])
        enough: dict[int, int] = {}
        for (which, index), value in zip(single, values, strict=True):
            if value is not None and not _worse(value, missed[which][1]):
                enough.setdefault(which, index)
        added: dict[int, tuple[str, ...]] = {}
        for which, index in enough.items():
            added[index] = (*added.get(index, ()), missed[which][0].task.id)
        rest = [which for which in range(len(missed)) if which not in enough]

        async def smallest(which: int) -> list[int]:
            attempt, best = missed[which]

            async def works(part: Sequence[int]) -> bool:
                (value,) = await self._values([(attempt.task, (*kept, *part), 0)])
                return not _worse(value, best)

            return await explain([*citing[which], *(i for i in left if i not in citing[which])], works)

        for which, found in zip(rest, await together(smallest(which) for which in rest), strict=True):
            for index in found:
                added[index] = (*added.get(index, ()), missed[which][0].task.id)
        return added

    async def _values(self, wanted: Sequence[tuple[Task, Sequence[int], int]]) -> list[float | None]:
        """What each task scores with the edits of these numbers in this trial; None without a score."""
        numbers = {tuple(sorted(edits)) for _, edits, _ in wanted}
        skills = {edits: self.given.variant(edits) for edits in numbers}
        planned = [PlannedAttempt(task, skills[tuple(sorted(edits))], trial) for task, edits, trial in wanted]
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        key = {"stage": "probe", "step": self.step, "tries": tries}
        attempts = await self.rollout.settle(planned, "train", key) if planned else ()
        self.attempts += attempts
        return [None if attempt.score is None else self._value(attempt) for attempt in attempts]

    def _value(self, attempt: Attempt) -> float:
        assert attempt.score is not None
        return attempt.score.value(self.gate.metric, self.gate.mixed_weight)


def _without(numbers: Sequence[int], one: int) -> list[int]:
    return [number for number in numbers if number != one]


def _worse(value: float | None, than: float) -> bool:
    """A score is lower by as much as counts. One that is missing says nothing."""
    return value is not None and value <= than - _DIFFERENT
