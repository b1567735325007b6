"""Edits are tested on the failures they cite: all at once, then each left out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from stages_doubles import ToldAgent, append, attempt, make_rollout

from etude.config import GateSection
from etude.errors import TransientError
from etude.records import Attempt, Edit, Proof, Score, Skill
from etude.stages.proof import ProofInput, prove

Solves = Callable[[str, set[str], int], float | None]
"""Task, letters of the edits in the skill, trial -> score, None for a void."""


async def run(
    edits: Sequence[Edit],
    solves: Solves,
    failures: Sequence[Attempt],
    *,
    witnesses: Sequence[Attempt] = (),
    copied: Mapping[int, Collection[str]] = MappingProxyType({}),
) -> tuple[Proof, str, list[tuple[str, str, int]]]:
    """The proof, the letters of the edits that stay, and what was attempted as (task, letters, trial)."""

    def attempting(task, skill, trial):
        value = solves(task.id, set(skill.text), trial)
        return TransientError("no answer") if value is None else str(value)

    agent = ToldAgent(attempting)
    rollout = make_rollout(agent, env=None, max_void=0.5)
    rollout.env._judge = lambda task, trajectory: Score(hard=float(trajectory.answer), soft=float(trajectory.answer))

    def variant(numbers: Sequence[int]) -> Skill:
        return Skill(text="".join(edits[number].content for number in numbers))

    given = ProofInput(edits, variant, failures, witnesses, copied)
    proved = await prove(rollout, given, GateSection(), step=1)
    kept = "".join(edits[number].content for number in proved.kept)
    assert {a.skill_hash for a in proved.attempts} == ({Skill(text=kept).hash} if kept else set())
    return proved.proof, kept, agent.attempts


def failed(*names: str) -> list[Attempt]:
    """Attempts `a-x` at tasks `x`."""
    return [attempt(f"a-{name}", 0.0, task=name) for name in names]


def passed(*names: str) -> list[Attempt]:
    return [attempt(f"a-{name}", 1.0, task=name) for name in names]


def needs(**letters: str) -> Solves:
    """Each task needs all letters of one of its words; "" needs nothing."""
    return lambda task, taught, trial: float(any(set(word) <= taught for word in letters[task].split(",")))


async def test_an_edit_without_which_a_failure_comes_back_stays() -> None:
    edits = [append("A", "a-x"), append("B", "a-y")]
    proof, kept, _ = await run(edits, needs(x="A", y="B"), failed("x", "y"))
    assert (proof.accepted, kept) == (True, "AB")
    assert proof.reason == "kept 2 of 2 edits; 2 of 2 failed tasks now pass"
    assert [one.needed for one in proof.edits] == [("x",), ("y",)]
    assert proof.fixed == ("x", "y")


async def test_an_edit_that_changes_nothing_goes() -> None:
    edits = [append("A", "a-x"), append("B", "a-x")]
    proof, kept, _ = await run(edits, needs(x="A"), failed("x"))
    assert kept == "A"
    assert [(one.kept, one.fixes) for one in proof.edits] == [(True, ("x",)), (False, ("x",))]


async def test_an_edit_that_is_missed_once_of_three_times_goes() -> None:
    def unlucky(task: str, taught: set[str], trial: int) -> float:
        return float("B" in taught and (task, taught, trial) != ("x", {"B"}, 0))

    proof, kept, attempts = await run([append("A", "a-x"), append("B", "a-y")], unlucky, failed("x", "y"))
    assert (proof.accepted, kept, proof.edits[0].needed) == (True, "B", ())
    assert {("x", "B", trial) for trial in (0, 1, 2)} <= set(attempts)


async def test_an_edit_that_holds_an_answer_stays_for_tasks_with_another_answer_only() -> None:
    edits = [append("A", "a-x"), append("B", "a-y")]
    proof, kept, _ = await run(edits, needs(x="A", y="B"), failed("x", "y"), copied={0: {"x"}, 1: {"x"}})
    assert kept == "B"
    assert [(one.kept, one.needed, one.copied) for one in proof.edits] == [
        (False, ("x",), ("x",)),
        (True, ("y",), ("x",)),
    ]


async def test_of_two_edits_that_cover_for_each_other_one_stays() -> None:
    edits = [append("A", "a-x"), append("B", "a-x")]
    _, kept, _ = await run(edits, needs(x="A,B"), failed("x"))
    assert kept == "A"


async def test_an_edit_is_found_though_its_citations_are_wrong() -> None:
    edits = [append(letter, cite) for letter, cite in (("A", "a-y"), ("B", "a-y"), ("C", "a-y"), ("D", "a-y"))]
    proof, kept, _ = await run(edits, needs(x="C", y="Z"), failed("x", "y"))
    assert (proof.accepted, kept) == (True, "C")


async def test_edits_that_work_only_together_stay_together() -> None:
    edits = [append("A", "a-x"), append("B", "a-x"), append("C", "a-x")]
    _, kept, _ = await run(edits, needs(x="AC"), failed("x"))
    assert kept == "AC"


async def test_edits_that_were_needed_for_a_task_that_fails_after_all_go() -> None:
    def conflict(task: str, taught: set[str], trial: int) -> float:
        """y needs B and C; D, which z needs, spoils it, and E would put that right."""
        return float("D" in taught if task == "z" else {"B", "C"} <= taught and ("D" not in taught or "E" in taught))

    edits = [append("B", "a-y"), append("C"), append("D"), append("E")]
    proof, kept, _ = await run(edits, conflict, failed("y", "z"))
    assert (proof.accepted, kept, proof.fixed) == (True, "D", ("z",))
    assert [one.needed for one in proof.edits] == [("y",), ("y",), ("z",), ()]


async def test_fractions_count_when_they_differ_by_a_tenth() -> None:
    def partial(task: str, taught: set[str], trial: int) -> float:
        return 0.5 + 0.2 * ("A" in taught) + 0.05 * ("B" in taught)

    start = [attempt("a-x", 0.5, task="x")]
    proof, kept, _ = await run([append("A", "a-x"), append("B", "a-x")], partial, start)
    assert (proof.accepted, kept) == (True, "A")


async def test_an_attempt_without_a_score_is_no_evidence() -> None:
    def outage(task: str, taught: set[str], trial: int) -> float | None:
        return None if task == "y" else float("A" in taught)

    proof, kept, _ = await run([append("A", "a-x"), append("B", "a-y")], outage, failed("x", "y"))
    assert (kept, proof.voids) == ("A", 1)


async def test_a_task_without_a_score_under_the_edits_that_stay_is_not_mended() -> None:
    def outage(task: str, taught: set[str], trial: int) -> float | None:
        return None if taught == {"A"} else float("A" in taught)

    proof, kept, _ = await run([append("A", "a-x"), append("B", "a-x")], outage, failed("x"))
    assert (proof.accepted, kept, proof.fixed) == (False, "", ())


def deleting(content: str, *cites: str) -> Edit:
    """A deletion; in these tests its effect is a letter too."""
    return Edit(op="delete", target="a line", content=content, cites=cites)


async def test_a_deletion_that_mends_nothing_stays_where_no_solved_task_misses_the_text() -> None:
    edits = [append("A", "a-x"), deleting("D", "a-x")]
    proof, kept, attempts = await run(edits, needs(x="Z", s=""), failed("x"), witnesses=passed("s"))
    assert (proof.accepted, kept, proof.fixed, proof.guarded, proof.lost) == (True, "D", (), 1, ())
    assert proof.reason == "kept 1 of 2 edits, all deletions; 0 of 2 tasks score lower"
    assert [(one.kept, one.needed) for one in proof.edits] == [(False, ()), (True, ())]
    assert sorted(attempts) == [("s", "D", 0), ("x", "AD", 0), ("x", "D", 0)]


async def test_a_deletion_goes_where_a_solved_task_misses_the_text_or_has_no_score() -> None:
    async def deleted(lost: float | None) -> tuple[Proof, str]:
        def solves(task: str, taught: set[str], trial: int) -> float | None:
            return lost if task == "s" and "D" in taught else float(task == "t")

        proof, kept, _ = await run([deleting("D", "a-x")], solves, failed("x"), witnesses=passed("s", "t"))
        return proof, kept

    for proof, kept in (await deleted(0.0), await deleted(None)):
        assert (proof.accepted, kept, proof.lost) == (False, "", ("s",))
        assert (
            proof.reason
            == "kept 0 of 1 edits; 0 of 1 failed tasks now pass; 1 of 3 tasks score lower with the deletions"
        )


async def test_without_solved_tasks_no_deletion_stays_that_mends_nothing() -> None:
    proof, kept, attempts = await run([deleting("D", "a-x")], needs(x="Z"), failed("x"))
    assert (proof.accepted, kept, attempts) == (False, "", [("x", "D", 0)])
