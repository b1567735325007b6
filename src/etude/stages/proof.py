"""Proof: each edit is tested on the failures that it cites, against the skill without it.

All edits are tried together first, once on each failure: what fails then is not fixed by any. Then they are added
one by one, the best cited first, next to those that stay already. Each has an account of what its tasks do with it
and without it, in this noise. Rounds wait for each other, so all that can be asked at once is in one: edits that cite
different tasks, and what these do with an edit and without it. Edits whose attempts are used up and that look right
are tried together. Tasks that pass with all of them and are explained by none that cites them are asked which they
need (`attribution`): optimizers cite wrongly, or not at all, and some tasks need several edits.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, repeat
from math import ceil, fsum
from typing import NamedTuple

from etude.records import Attempt, EditEvidence, Proof, Skill, Standing, Tested
from etude.stages.shared.attribution import needed_sets
from etude.stages.shared.baseline import Baseline
from etude.stages.shared.contest import ADDITION, TRUST, Bar, PairedOutcomes, account
from etude.stages.shared.helpful import a_step_later, learnt, odds
from etude.stages.shared.noise import Outcomes
from etude.stages.shared.proof_data import ProofInput, ProofOutcome
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_AT_ONCE = 3
"""Tasks that an edit is tried on in one round: so many settle it where attempts are hardly noisy."""
_LUCK = 2
"""Tasks that pass with all edits are asked which they need where there are more than twice as many as luck explains.
Asking always takes 8% more attempts where they pass with .4 whatever the skill says (seeds 1 to 12)."""
SET_TRIES = 12
"""Attempts that confirm a set of edits, at most: with six, three that failed by bad luck lost right sets."""
_VAGUE = 3
"""One of several edits that cites all failures, if there are more than so many, does not say which it concerns."""


async def prove(rollout: Rollout, given: ProofInput, step: int) -> ProofOutcome:
    """Test edits.

    Raises:
        VoidStop: too many attempts errored.
    """
    proving = _Proving(rollout, given, step)
    proof = await proving.prove()
    kept = sorted(proving.kept)
    skill = given.variant(kept).hash
    fixed = {one.task.id: one for one in proving.attempts if one.solved and one.task.id in proving.explained}
    with_these = [one for one in proving.attempts if kept and one.skill_hash == skill and one.task.id not in fixed]
    with_these += fixed.values()
    return ProofOutcome(proof, kept, with_these, proving.attempts, tuple(proving.tested()), proving.helpful())


class _Try(NamedTuple):
    """An attempt in the contest of an edit."""

    number: int
    task: str
    edits: tuple[int, ...]
    """With these: those that stay, and the edit itself or not."""


@dataclass
class _Proving:
    """The tests of one proof, and all that was attempted for them."""

    rollout: Rollout
    given: ProofInput
    step: int
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    alone: set[int] = field(default_factory=set[int])
    """Those of them whose own account was won at the bar of additions."""
    found: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """By the number of an edit, the tasks that were found to need it, whatever it cites."""
    notes: dict[int, str] = field(default_factory=dict[int, str])

    def __post_init__(self) -> None:
        self.tasks = {attempt.task.id: attempt.task for attempt in self.given.failures}
        self.tells = set(filter(self._again, self.tasks))  # of which another trial tells something, as it begins
        self.baseline = Baseline(self.given)
        self.kept, self.explained, self.with_it = self.baseline.kept, self.baseline.explained, self.baseline.with_it
        self.made = Counter[int]()
        """Attempts in the contest of each edit."""
        self.flipped: list[str] = []
        self.trials: dict[tuple[str, str], int] = {}
        none = self.given.variant(()).hash
        self.results = {(one.task.id, none): one for one in self.given.failures if one.task.id not in self.tells}
        """The last attempt at a task with a skill, and the next where another trial tells nothing new."""

    async def prove(self) -> Proof:
        order = sorted(range(len(self.given.edits)), key=lambda number: -self.given.edits[number].support)
        passed = await self._pass([(order, task) for task in self.tasks])
        self.flipped = [task for task, better in zip(self.tasks, passed, strict=True) if better]
        await self._accounts([number for number in order if self._cited(number)])
        await self._try_promising(order)
        await self._attribute(order)
        return self._proof()

    async def _accounts(self, left: list[int]) -> None:
        """Try edits on the tasks that they cite until the account of each is closed."""
        left = [number for number in left if not self._hopeless(number)]
        while tries := self._round(left):
            for one, better in zip(tries, await self._pass([(t.edits, t.task) for t in tries]), strict=True):
                self._count(one, better)
            for number in dict.fromkeys(one.number for one in tries):
                if self._settled(number):
                    left.remove(number)
            left = [number for number in left if self._open(number)]

    async def _try_promising(self, order: Sequence[int]) -> None:
        """Try edits together whose accounts are used up and speak for them: where tasks pass now and then without
        them, each alone would take many attempts more."""
        left = [number for number in order if self.made[number] and number not in self.kept and self._open(number)]
        group = [number for number in left if self._account(number) > 0]
        await self._confirm_set(group, [task for task in self.tasks if any(task in self._open(one) for one in group)])

    async def _attribute(self, order: Sequence[int]) -> None:
        """Try the sets of edits by which tasks pass that no edit explains which cites them. A few tasks are asked
        first, as others may need the same; the rest, where that led to one. Not where luck would explain as many,
        unless no edit cites a task that passes."""
        cited, noise = any(map(self._cited, order)), self.given.measure.noise
        luck = _LUCK * noise.regained * len(self.tasks) if cited else 0
        unexplained = {task: seen for task, seen in self.baseline.without.items() if task not in self.explained}
        whole = [PairedOutcomes(Outcomes().plus(task in self.flipped), seen) for task, seen in unexplained.items()]
        shown = account(whole, noise) >= ADDITION.won
        for turn, most in enumerate((_AT_ONCE, *repeat(len(self.tasks), 1 + len(order)))):
            rest, before = [task for task in self.flipped if task not in self.explained], len(self.kept)
            left = [number for number in order if number not in self.kept]
            done = turn > 1 and self.baseline.asked.issuperset(rest)
            if len(rest) <= luck or done or len(left) <= cited:
                return
            await self._pass([(self.kept, task) for task in rest if self.baseline.is_stale(task)])
            asked = [task for task in rest if task not in self.explained and task not in self.baseline.asked][:most]
            self.baseline.asked.update(asked)
            for group, tasks in (await needed_sets(asked, left, self._with, self._again, sure=shown)).items():
                await self._try_set(group, tasks)
            if cited and len(self.kept) == before:
                return

    async def _try_set(self, edits: Sequence[int], tasks: Sequence[str]) -> None:
        """Keep edits by which these tasks pass, where that is shown; of several those that are needed."""
        group = [number for number in edits if number not in self.kept]
        copied = {task for number in group for task in self.given.copied.get(number, ())}
        tasks = [task for task in tasks if task not in self.explained and task not in copied]
        if not group or not tasks:
            return
        if len(group) > 1:
            await self._confirm_set(group, tasks)
            return
        (number,) = group
        # What it did on tasks that it cites wrongly says nothing about these.
        self.found[number], self.with_it[number], self.made[number] = tasks, {}, 0
        await self._accounts(group)

    def _cited(self, number: int) -> list[str]:
        """The tasks that an edit cites, that pass with all edits, and that can speak for it."""
        copied = self.given.copied.get(number, ())
        cites = self.given.edits[number].cites
        cited = [one.task.id for one in self.given.failures if one.id in cites]
        vague = len(cited) == len(self.given.failures) > _VAGUE and len(self.given.edits) > 1
        cited = self.found.get(number, [] if vague else cited)
        return [task for task in cited if task in self.flipped and task not in copied]

    def _open(self, number: int) -> list[str]:
        """Those of them that the edits which stay do not explain."""
        return [task for task in self._cited(number) if task not in self.explained]

    def _round(self, left: Sequence[int]) -> list[_Try]:
        """What to try next: no task for two edits."""
        used: set[str] = set()
        tries: list[_Try] = []
        for number in left:
            some = self._turn(number, [task for task in self._open(number) if task not in used])
            tries += some
            used.update(self._open(number) if some else ())
        return tries

    def _turn(self, number: int, tasks: Sequence[str]) -> list[_Try]:
        """The next attempts of an edit, those without it first: on the least tried tasks, twice on a single one. They
        are made with it, or without it where a task was attempted with it more often: it may pass now and then with
        anything, and two failures do not rule that out. Where further edits have come to stay, a task is attempted
        with these alone as well."""
        without, with_it = tuple(self.kept), (*self.kept, number)
        seen = {task: sum(self.with_it[number].get(task, Outcomes())) for task in tasks}
        ahead = {task: seen[task] - sum(self.baseline.without[task]) for task in tasks}
        free = sorted((task for task in tasks if self._tells(number, task)), key=seen.__getitem__)
        turns = free if len(free) > 1 else [*free, *filter(self._again, free)]
        turns = turns[: max(0, min(_AT_ONCE, self._bar(number).most - self.made[number]))]
        tries = [_Try(number, task, without) for task in dict.fromkeys(turns) if self.baseline.is_stale(task)]
        if tries and self._account(number) >= self._bar(number).won:
            return tries  # won, unless what came to stay does the same
        for task in turns:
            more = ahead[task] > 0 and self._again(task)
            tries.append(_Try(number, task, without if more else with_it))
            ahead[task] += -1 if more else 1
        return sorted(tries, key=lambda one: number in one.edits)

    def _count(self, tried: _Try, passed: bool | None) -> None:
        number, task, edits = tried
        self.made[number] += 1
        if number in edits and passed is not None and task not in self.explained:
            self.with_it[number][task] = self.with_it[number].get(task, Outcomes()).plus(passed)

    def _tells(self, number: int, task: str) -> bool:
        """Whether another attempt with the edit would tell anything new."""
        return task not in self.with_it[number] or self._again(task)

    def _settled(self, number: int) -> bool:
        """Whether the account of an edit is closed; where it is won, the edit stays."""
        bar, score = self._bar(number), self._account(number)
        if score >= bar.won and any(seen.passed for seen in self.with_it[number].values()):
            stale = filter(self.baseline.is_stale, self.with_it[number].keys() & self._open(number))
            if any(map(self._again, stale)) and self.made[number] < bar.most:
                return False  # others that came to stay may do the same
            # What passed with all edits chose the tasks, and where repeats tell nothing it is not attempted anew.
            anew = len(self.kept) + 1 < len(self.given.edits) or all(map(self._again, self.with_it[number]))
            self.baseline.keep([number])
            if score >= ADDITION.won and anew:
                self.alone.add(number)
            return True
        return score <= bar.lost or self._hopeless(number)

    def _hopeless(self, number: int) -> bool:
        """Whether the account of an edit would not be won if all that is left to try passed with it and failed
        without it."""
        bar, left = self._bar(number), [task for task in self._open(number) if self._tells(number, task)]
        if self.made[number] >= bar.most or not left:
            return True
        # Only where the optimizer is not trusted: what an edit is tried on also tells of the tasks, and without that
        # twice as many useless lines entered where a target follows a rule in .80 of attempts (seeds 1 to 16).
        most = ceil((bar.most - self.made[number]) / len(left))
        best = self.baseline.outcomes(number)
        for task in left:
            with_it, alone = best.get(task, PairedOutcomes(Outcomes(), self.baseline.without[task]))
            more = most if self._again(task) else 1
            best[task] = PairedOutcomes(with_it.plus(True, more), alone.plus(False, more))
        return self._odds([number]) < 0 and account(best.values(), self.given.measure.noise) < bar.won

    def _bar(self, number: int) -> Bar:
        edit = self.given.edits[number]
        old, new = edit.target.strip().rstrip("."), edit.content.strip()
        # What keeps the old text and says more is an addition, whatever it is called.
        adds = edit.op in ("append", "insert_after") or old in new or new.count("\n") > old.count("\n")
        return self._addition(self._cited(number), self._odds([number])) if adds else TRUST

    def _addition(self, tasks: Sequence[str], odds: float) -> Bar:
        """What an addition has to reach with these tasks, of all tasks where there are none."""
        bar = ADDITION if self.tells.intersection(tasks or self.tasks) else TRUST
        return bar._replace(won=max(bar.won - odds, TRUST.won))

    def _odds(self, group: Sequence[int]) -> float:
        """Log odds that an edit helps, as others do. A set is believed no more than one: with odds that one of
        it does, ten of 120 runs kept over two lines where all tasks pass with .7, not four (seeds 40001 to 40120)."""
        return odds(self._learnt(group if len(group) == 1 else ()))

    def _learnt(self, apart: Sequence[int] = ()) -> tuple[float, ...]:
        """How many edits help, as accounts show, but for those of these numbers. A task that several of them have
        counts in each as a part: its luck is theirs. So odds are right whatever they share (Hölder's inequality)."""
        seen = [self.baseline.outcomes(number) for number in self.made if number not in apart]
        sharing, noise = Counter(task for each in seen for task in each), self.given.measure.noise
        parts = [[account([one], noise) / sharing[task] for task, one in each.items()] for each in seen]
        return learnt(self.given.helpful, map(fsum, parts))

    def helpful(self) -> tuple[float, ...]:
        """What the next step knows of that."""
        return a_step_later(self._learnt()) if self.made else self.given.helpful

    def _account(self, number: int) -> float:
        return account(self.baseline.outcomes(number).values(), self.given.measure.noise)

    def _again(self, task: str) -> bool:
        return self.given.repeats(self.tasks[task])

    async def _confirm_set(self, group: Sequence[int], tasks: Sequence[str]) -> None:
        """Keep several edits together where attempts of their own show that tasks do better with all of them."""
        seen: dict[str, Outcomes] = {}
        turns = list(islice(cycle(tasks), SET_TRIES if all(map(self._again, tasks)) else len(tasks)))
        for start in range(0, len(turns), _AT_ONCE):
            turn = turns[start : start + _AT_ONCE]
            # What failed without them chose the tasks: each is attempted anew without them, too.
            alone = [task for task in turn if start < len(tasks) and self._again(task)]
            groups = [*([group] * len(turn)), *([()] * len(alone))]
            for task, passed in zip(turn, await self._with(groups, [*turn, *alone]), strict=False):
                if passed is not None:
                    seen[task] = seen.get(task, Outcomes()).plus(passed)
            both = [PairedOutcomes(own, self.baseline.without[task]) for task, own in seen.items()]
            found = account(both, self.given.measure.noise)
            bar = self._addition(tasks, self._odds(group))
            if found >= bar.won:
                for number in group:
                    self.with_it[number] = dict(seen)
                self.baseline.keep(group)
                if len(group) > 1:
                    note = f"as one of {len(group)} edits that fix {', '.join(seen)} together"
                    self.notes |= dict.fromkeys(group, note)
            if found >= bar.won or found <= -ADDITION.won:
                return

    async def _with(self, groups: Sequence[Sequence[int]], tasks: Sequence[str]) -> list[bool | None]:
        """Whether tasks do better with these edits beside those that stay."""
        return await self._pass([([*self.kept, *group], task) for group, task in zip(groups, tasks, strict=True)])

    async def _pass(self, wanted: Sequence[tuple[Sequence[int], str]]) -> list[bool | None]:
        """Whether tasks do better than their failure with the edits of these numbers, in a new trial; None without a
        score."""
        keys = [(task, self.given.variant(sorted(numbers))) for numbers, task in wanted]
        new = [(task, skill.hash) not in self.results or self._again(task) for task, skill in keys]
        planned = [
            PlannedAttempt(self.tasks[task], skill, self._trial(task, skill))
            for (task, skill), untold in zip(keys, new, strict=True)
            if untold
        ]
        attempts = await self.rollout.tried("probe", self.step, planned)
        self.attempts += attempts
        made = iter(attempts)
        found: list[bool | None] = []
        alone = self.given.variant(sorted(self.kept)).hash
        for (task, skill), untold, (numbers, _) in zip(keys, new, wanted, strict=True):
            if untold:
                self.results[task, skill.hash] = next(made)
            attempt = self.results[task, skill.hash]
            found.append(self.baseline.better(attempt, numbers))
            if skill.hash == alone and task in self.baseline.without:
                self.baseline.control(task, found[-1], untold=untold)
        return found

    def _trial(self, task: str, skill: Skill) -> int:
        """The next one."""
        key, known = (task, skill.hash), self.given.known.get(task)
        made = known.trials if known is not None and skill.hash == known.skill else 0
        self.trials[key] = self.trials.get(key, made) + 1
        return self.trials[key] - 1

    def _proof(self) -> Proof:
        evidence = tuple(self._evidence(number) for number in range(len(self.given.edits)))
        noise, failed = self.given.measure.noise, len(self.given.failures)
        fixed = tuple(task for task in self.flipped if self.kept and task in self.explained | self.baseline.risen)
        better = "pass" if self.given.measure.gate.metric == "hard" else "score higher"
        kept = f"kept {len(self.kept)} of {len(evidence)} edits"
        return Proof(
            accepted=bool(self.kept),
            reason=f"{kept}; {len(fixed)} of {failed} failed tasks now {better}",
            edits=evidence,
            failed=failed,
            fixed=fixed,
            regained=round(noise.regained, 3),
            lost=round(noise.lost, 3),
            voids=len({attempt.id for attempt in self.attempts if attempt.score is None}),
        )

    def _evidence(self, number: int) -> EditEvidence:
        edit, seen = self.given.edits[number], self.baseline.outcomes(number)
        standing: Standing = "proved" if number in self.alone else "trusted"
        cited = [one.task.id for one in self.given.failures if one.id in edit.cites]
        return EditEvidence(
            edit=edit,
            kept=number in self.kept,
            standing=standing if number in self.kept else None,
            fixes=tuple(task for task in cited if task in self.flipped),
            needed=tuple(task for task, one in seen.items() if one.with_it.passed > one.with_it.failed),
            passed=sum(one.with_it.passed for one in seen.values()),
            failed=sum(one.with_it.failed for one in seen.values()),
            passed_without=sum(one.without.passed for one in seen.values()),
            failed_without=sum(one.without.failed for one in seen.values()),
            note=self.notes.get(number, ""),
            copied=tuple(sorted(self.given.copied.get(number, ()))),
        )

    def tested(self) -> Iterator[Tested]:
        """What the tasks scored before and after. What failed with all edits is taken to fail with fewer."""
        everything = range(len(self.given.edits))
        kept, whole = (self.given.variant(numbers).hash for numbers in (sorted(self.kept) or everything, everything))
        after: dict[str, float] = {}
        for one in self.attempts:
            name = one.task.id
            fixed = one.solved and self.kept and name in self.explained
            lost = one.skill_hash == whole and name not in self.flipped
            if one.score is not None and (one.skill_hash == kept or fixed or lost):
                after[name] = self.given.measure.value(one)
        for attempt in self.given.failures:
            name = attempt.task.id
            if name in after or name not in self.flipped:  # not one that passed only with more edits than stay
                yield Tested(task=name, before=self.baseline.before[name], after=after.get(name))
