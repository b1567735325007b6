"""What tasks score with the edits that stay, which a further edit has to surpass."""

from collections.abc import Sequence

from etude.records import Attempt
from etude.stages.shared.contest import PairedOutcomes
from etude.stages.shared.history import without
from etude.stages.shared.noise import Outcomes
from etude.stages.shared.proof_data import ProofInput


class Baseline:
    """The failures of a step, the edits that stay, and what attempts come to with a further one and without.

    Where scores are 0 and 1, a task that passes is explained by the edits that it passes with. Under partial credit
    these may be only some of those that it needs: it has then failed with them, too, by what it scores now, and
    others are tried on it anew."""

    def __init__(self, given: ProofInput) -> None:
        self._given = given
        self.before = {one.task.id: given.measure.value(one) for one in given.failures}
        # A failure that was chosen for scoring little is easily surpassed: the best one counts.
        self._failing = {task: max(value, given.known[task].best) for task, value in self.before.items()}
        self.kept: list[int] = []
        """In the order in which they were found."""
        self.explained: set[str] = set()
        self.risen: set[str] = set()
        """Tasks that score more with what stays, and still more with all edits."""
        self.asked: set[str] = set()
        """Tasks that were asked which edits they need, by what they score now."""
        self.without = {task: without(given.known[task]) for task in self.before}
        self.with_it: list[dict[str, Outcomes]] = [{} for _ in given.edits]
        self.won: dict[int, dict[str, PairedOutcomes]] = {}
        """What each edit that stays was kept for."""
        self.controlled: dict[str, int] = {}
        """How many edits stayed when a task was last attempted without a further one."""
        self._scores: dict[str, list[tuple[set[int], float]]] = {}

    def outcomes(self, number: int) -> dict[str, PairedOutcomes]:
        """By task, with an edit and without it."""
        now = {task: PairedOutcomes(seen, self.without[task]) for task, seen in self.with_it[number].items()}
        return self.won.get(number, now)

    def better(self, attempt: Attempt, edits: Sequence[int]) -> bool | None:
        """Whether a task does better with these edits than before; None without a score."""
        if attempt.score is None:
            return None
        self._scores.setdefault(attempt.task.id, []).append((set(edits), self._given.measure.value(attempt)))
        return self._given.measure.better(attempt, self._failing.get(attempt.task.id, 0.0))

    def keep(self, numbers: Sequence[int]) -> None:
        """Have edits stay. They explain the tasks that did better with them."""
        self.won |= {number: self.outcomes(number) for number in numbers}
        self.kept += numbers
        for task, seen in tuple(self.with_it[numbers[0]].items()):
            if seen.passed > seen.failed:
                self._explain(task)

    def is_stale(self, task: str) -> bool:
        """Whether edits have come to stay since the task was last attempted without a further one."""
        return self.controlled.get(task, 0) < len(self.kept)

    def control(self, task: str, passed: bool | None, *, untold: bool) -> None:
        """Take into account what a task did with just the edits that stay."""
        risen = bool(passed) and self.is_stale(task) and not self._explain(task)
        self.controlled[task] = len(self.kept)
        if untold and passed is not None and not risen:
            self.without[task] = self.without[task].plus(passed)

    def _explain(self, task: str) -> bool:
        """Whether what stays explains that a task does better, or all edits do better still."""
        everything, scores = set(range(len(self._given.edits))), self._scores.get(task, [])
        most = max((score for edits, score in scores if edits == everything), default=0.0)
        now = [score for edits, score in scores if edits and edits <= set(self.kept)]
        if not now or most <= self._given.measure.bar(max(now)):
            self.explained.add(task)
            return True
        self._failing[task], self.without[task] = max(now), Outcomes(failed=len(now))
        self.risen.add(task)
        self.asked.discard(task)
        for seen in self.with_it:
            seen.pop(task, None)
        return False
