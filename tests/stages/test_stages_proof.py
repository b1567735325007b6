"""Edits are tested on the failures they cite, each against the skill without it."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

import pytest
from stages_doubles import ToldAgent, append, attempt, make_rollout

from etude.config import GateSection
from etude.errors import TransientError
from etude.records import Attempt, Edit, Proof, Score, Skill, Task, TaskHistory
from etude.stages.proof import prove
from etude.stages.shared.helpful import learnt, odds
from etude.stages.shared.history import Measure
from etude.stages.shared.noise import Outcomes, PassSpread
from etude.stages.shared.proof_data import ProofInput, ProofOutcome

Solves = Callable[[str, set[str], int], float | None]
"""Task, letters of the edits in the skill, trial -> score, None for a void."""
STEADY = PassSpread.measured([Outcomes(0, 2)] * 60 + [Outcomes(2, 0)] * 60)
GATE = GateSection()


async def proved(
    edits: Sequence[Edit],
    solves: Solves,
    failures: Sequence[Attempt],
    *,
    noise: PassSpread = STEADY,
    spread: float = 0.0,
    copied: Mapping[int, Collection[str]] = MappingProxyType({}),
    repeats: Collection[str] | bool = True,
    helpful: tuple[float, ...] = (),
    best: float | None = None,
) -> tuple[ProofOutcome, list[tuple[str, str, int]]]:
    """What comes of the proof, and what was attempted as (task, letters, trial). Each failure was attempted twice
    before; the best of these scored as it did, or `best`."""

    def attempting(task, skill, trial):
        value = solves(task.id, set(skill.text), trial)
        return TransientError("no answer") if value is None else str(value)

    agent = ToldAgent(attempting)

    def again(task: Task) -> bool:
        return repeats if isinstance(repeats, bool) else task.id in repeats

    rollout = make_rollout(agent, env=None, max_void=0.5)
    rollout.env._judge = lambda task, trajectory: Score(hard=float(trajectory.answer), soft=float(trajectory.answer))

    skill = Skill(text="a line\n")
    known = {
        one.task.id: TaskHistory(
            skill=skill.hash, trials=2, failed=2, best_failed=one.score.soft, best=best or one.score.soft
        )
        for one in failures
        if one.score is not None
    }
    given = ProofInput(skill, edits, failures, known, Measure(GATE, noise, spread), copied, again, helpful)
    outcome = await prove(rollout, given, step=1)
    return outcome, [(task, "".join(filter(str.isupper, text)), trial) for task, text, trial in agent.attempts]


async def run(
    edits: Sequence[Edit], solves: Solves, failures: Sequence[Attempt], **more: Any
) -> tuple[Proof, str, list[tuple[str, str, int]]]:
    """The proof, the letters of the edits that stay, and what was attempted."""
    outcome, attempts = await proved(edits, solves, failures, **more)
    return outcome.proof, "".join(edits[number].content for number in outcome.kept), attempts


def failed(*names: str) -> list[Attempt]:
    """Attempts `a-x` at tasks `x`."""
    return [attempt(f"a-{name}", 0.0, task=name) for name in names]


def needs(**letters: str) -> Solves:
    """Each task needs all letters of one of its words; "" needs nothing."""
    return lambda task, taught, trial: float(any(set(word) <= taught for word in letters[task].split(",")))


async def test_an_edit_that_fixes_what_it_cites_stays_and_is_proved() -> None:
    edits = [append("A", "a-x"), append("B", "a-y")]
    proof, kept, _ = await run(edits, needs(x="A", y="B"), failed("x", "y"))
    assert (proof.accepted, kept) == (True, "AB")
    assert proof.reason == "kept 2 of 2 edits; 2 of 2 failed tasks now pass"
    assert [(one.needed, one.standing) for one in proof.edits] == [(("x",), "proved"), (("y",), "proved")]
    assert proof.fixed == ("x", "y")


async def test_an_edit_that_changes_nothing_goes() -> None:
    proof, kept, _ = await run([append("A", "a-x"), append("B", "a-x", "a-y")], needs(x="A", y="Z"), failed("x", "y"))
    assert kept == "A"
    assert [(one.kept, one.fixes) for one in proof.edits] == [(True, ("x",)), (False, ("x",))]
    assert proof.edits[1].why(False) == "not shown to help: 0 of 2 attempts better with it, 0 of 2 without"


@pytest.mark.parametrize("cites", [("a-x", "a-y"), ("a-w", "a-x", "a-y", "a-z")])  # four are all that there are
@pytest.mark.parametrize("repeats", [True, False])
async def test_under_partial_credit_a_task_is_fixed_by_all_edits_that_it_needs(
    cites: Sequence[str], repeats: bool
) -> None:
    """Each of three adds a third; one does nothing. The first that stays does not fix what the others are for."""

    def thirds(task: str, taught: set[str], trial: int) -> float:
        return len(taught & set("ABC")) / 3

    edits = [append(letter, *cites) for letter in "ADBC"]
    proof, kept, _ = await run(edits, thirds, failed("w", "x", "y", "z"), repeats=repeats)
    assert kept == "ABC"
    assert [one.kept for one in proof.edits] == [True, False, True, True]
    assert all(one.passed > one.failed and one.passed_without == 0 for one in proof.edits if one.kept)
    assert proof.edits[1].why(False) in (
        "what it cites was not seen to need it",
        "not shown to help: 0 of 2 attempts better with it, 0 of 2 without",
    )


@pytest.mark.parametrize(("best", "kept"), [(0.25, "A"), (0.5, "")])
async def test_under_partial_credit_an_edit_has_to_do_better_than_all_attempts_without_it(
    best: float, kept: str
) -> None:
    edits, failures = [append("A", "a-x", "a-y")], [attempt(f"a-{name}", 0.25, task=name) for name in "xy"]
    assert (await run(edits, lambda task, taught, trial: 0.5, failures, best=best))[1] == kept


async def test_a_task_that_was_solved_with_more_edits_than_stay_is_not_remembered_as_solved() -> None:
    """With both edits it is solved once by luck; the first is worth a half, the second nothing."""
    lucky = iter([1.0])

    def halves(task: str, taught: set[str], trial: int) -> float:
        return next(lucky, 0.5) if {"A", "B"} <= taught else 0.5 * ("A" in taught)

    outcome, _ = await proved([append("A", "a-x"), append("B", "a-x")], halves, failed("x"))
    assert (outcome.kept, outcome.proof.fixed) == ([0], ("x",))
    assert [one.score.soft for one in outcome.attempts if one.score is not None] == [0.5] * len(outcome.attempts)


async def test_what_no_edit_fixes_is_attempted_once() -> None:
    proof, kept, attempts = await run([append("A", "a-x"), append("B", "a-x")], needs(x="Z"), failed("x"))
    assert (kept, attempts) == ("", [("x", "AB", 0)])
    assert proof.edits[0].why(False) == "no task that it cites does better with all edits"


async def test_edits_that_do_nothing_rarely_stay_where_tasks_are_flaky() -> None:
    stayed = 0
    noise = PassSpread.measured([Outcomes(0, 2)] * 16 + [Outcomes(1, 1)] * 8 + [Outcomes(2, 0)])
    for seed in range(60):
        rng = random.Random(seed)

        def flaky(task: str, taught: set[str], trial: int, rng: random.Random = rng) -> float:
            return float(rng.random() < 0.2)

        cites = [f"a-{name}" for name in "wxyz"]
        _, kept, _ = await run([append("A", *cites)], flaky, failed(*"wxyz"), noise=noise)
        stayed += kept == "A"
    assert stayed <= 3


async def test_an_edit_that_holds_an_answer_stays_for_tasks_with_another_answer_only() -> None:
    edits = [append("A", "a-x"), append("B", "a-y")]
    proof, kept, _ = await run(edits, needs(x="A", y="B"), failed("x", "y"), copied={0: {"x"}, 1: {"x"}})
    assert kept == "B"
    assert [(one.kept, one.copied) for one in proof.edits] == [(False, ("x",)), (True, ("x",))]


async def test_what_only_tasks_can_show_that_tell_nothing_new_is_trusted_beside_others_that_do() -> None:
    """As where one of several targets has temperature 0."""
    edits = [append("A", "a-x"), append("B", "a-y")]
    proof, kept, tried = await run(edits, needs(x="A", y="B"), failed("x", "y"), repeats={"x"})
    assert kept == "AB"
    assert [one.standing for one in proof.edits] == ["proved", "trusted"]
    assert len([task for task, *_ in tried if task == "y"]) == len({each[:2] for each in tried if each[0] == "y"})


async def test_an_edit_that_is_kept_already_explains_what_a_later_one_cites() -> None:
    """Both say the same and cite different tasks: the second is attempted without itself first."""
    edits = [append("A", "a-w", "a-x"), append("B", "a-x", "a-y")]
    _, kept, _ = await run(edits, needs(w="A,B", x="A,B", y="A,B"), failed("w", "x", "y"))
    assert kept == "A"


@pytest.mark.parametrize(
    ("op", "content", "stays"),
    [
        ("replace", "R", True),
        ("replace", "a LINE, better R", True),
        ("delete", "", True),
        ("append", "R", False),
        ("replace", "a line\nR", False),
        ("replace", "a line, R.", False),
        ("replace", "R\nS", False),
    ],
)
async def test_what_replaces_a_line_is_trusted_on_less_than_what_adds_to_it(op, content: str, stays: bool) -> None:
    """A few attempts pass, in some noise, and none after them."""
    some_noise = PassSpread.measured([Outcomes(0, 2)] * 60 + [Outcomes(2, 0)] * 60 + [Outcomes(1, 1)] * 30)
    outcomes = chain([1.0, 1.0, 0.0, 1.0], repeat(0.0))

    def solves(task: str, taught: set[str], trial: int) -> float:
        return 0.0 if taught == set("a line\n") else next(outcomes)

    edit = Edit(op=op, target="a line", content=content, cites=("a-x",))
    (row,) = (await run([edit], solves, failed("x"), noise=some_noise))[0].edits
    assert (row.kept, row.standing) == ((True, "trusted") if stays else (False, None))


async def test_edits_that_look_right_and_stay_open_alone_enter_together() -> None:
    """In this noise ten attempts at one task settle little for edits that take it from .5 to .85. What the tasks did
    without edits has chosen these: it is asked anew."""
    coin, edits = (
        PassSpread.measured([Outcomes(1, 1)] * 60),
        [append(letter, f"a-{letter.lower()}") for letter in "XYZ"],
    )
    together = 0
    for seed in range(12):
        draws = random.Random(seed)

        def solves(task: str, taught: set[str], trial: int, draws=draws) -> float:
            return float(draws.random() < (0.85 if task.upper() in taught else 0.5))

        proof, kept, tried = await run(edits, solves, failed("x", "y", "z"), noise=coin)
        those = [one for one in proof.edits if one.note.startswith("as one of 2 edits that fix")]
        assert all(one.standing == "trusted" for one in those)
        together += len(those)
        if those and len(those) == len(kept):
            first = [letters for _, letters, _ in tried].index(kept)
            assert {task for task, letters, _ in tried[first:] if not letters} == {*kept.lower()}
    assert together >= 4


async def test_the_luck_of_a_task_counts_once_however_many_edits_cite_it() -> None:
    async def trust(*cites: str) -> float:
        """In the optimizer, after edits that all do as well on what they cite."""
        edits = [append(letter, f"a-{cite}") for letter, cite in zip("ABCD", cites, strict=False)]
        return odds((await proved(edits, needs(**dict.fromkeys("wxyz", "A,B,C,D")), failed(*"wxyz")))[0].helpful)

    assert abs(await trust(*"wwww") - await trust("w")) < 0.1 < await trust(*"wxyz") - await trust("w")


async def test_what_is_known_of_an_optimizer_moves_the_bar_of_its_additions() -> None:
    """What four of five attempts pass with, in some noise, enters where most of its edits help."""
    some_noise = PassSpread.measured([Outcomes(0, 2)] * 60 + [Outcomes(2, 0)] * 60 + [Outcomes(1, 1)] * 30)
    kept = {}
    for name, accounts in {"good": [4.0] * 20, "useless": [-1.0] * 20}.items():
        outcomes = chain([1.0, 1.0, 1.0, 0.0], repeat(0.0))

        def solves(task: str, taught: set[str], trial: int, outcomes=outcomes) -> float:
            return 0.0 if taught == set("a line\n") else next(outcomes)

        one = [append("A", "a-x")]
        _, kept[name], _ = await run(one, solves, failed("x"), noise=some_noise, helpful=learnt((), accounts))
    assert kept == {"good": "A", "useless": ""}


async def test_where_a_repeat_tells_nothing_new_no_trial_is_repeated() -> None:
    edits = [append("A", "a-x"), append("B", "a-y")]
    _, _, attempts = await run(edits, needs(x="A", y="B"), failed("x", "y"), repeats=False)
    assert len({(task, letters) for task, letters, _ in attempts}) == len(attempts)


async def test_where_a_repeat_tells_nothing_new_what_chose_the_tasks_proves_nothing() -> None:
    """Of twelve tasks that pass now and then with anything, those that pass with the only edit speak for it."""

    def lucky(task: str, taught: set[str], trial: int) -> float:
        return float(task in "abc" and "A" in taught)

    edits = [append("A", *(f"a-{name}" for name in "abcdefghijkl"))]
    (row,) = (await run(edits, lucky, failed(*"abcdefghijkl"), noise=PassSpread(), repeats=False))[0].edits
    assert (row.passed, row.failed, row.standing) == (3, 0, "trusted")
    beside = [*edits, append("B", "a-k", "a-l")]
    proof, *_ = await run(beside, lucky, failed(*"abcdefghijkl"), noise=PassSpread(), repeats=False)
    assert [(one.passed, one.standing) for one in proof.edits] == [(3, "proved"), (0, None)]
    (row,) = (await run(edits, lucky, failed(*"abcdefghijkl"), noise=PassSpread()))[0].edits
    assert row.standing == "proved"


# --- citations that are wrong or missing --------------------

CROSSED = needs(u="A", v="A", w="A", x="B", y="B", z="B")


@pytest.mark.parametrize("repeats", [True, False])
async def test_edits_that_cite_all_failures_are_tested_on_those_that_need_them(repeats: bool) -> None:
    everything = [f"a-{name}" for name in "uvwxyz"]
    edits = [append(letter, *everything) for letter in "CADB"]
    proof, kept, tried = await run(edits, CROSSED, failed(*"uvwxyz"), repeats=repeats)
    assert kept == "AB"
    assert {one.edit.content: sorted(one.needed) for one in proof.edits if one.kept} == {
        "A": ["u", "v", "w"],
        "B": ["x", "y", "z"],
    }
    assert repeats or all(trial == 0 for *_, trial in tried)


async def test_of_two_edits_that_a_task_needs_and_that_cite_others_both_stay() -> None:
    edits = [append("C", "a-x"), append("A", "a-y"), append("D", "a-y"), append("B", "a-x")]
    _, kept, _ = await run(edits, needs(w="AB", x="AB", y="AB", z="AB"), failed(*"wxyz"))
    assert kept == "AB"


# --- edits that tasks need together ---------------------------


def together(seed: int, chance: float) -> Solves:
    """Every task needs A, B and C, and passes now and then all the same."""

    def solves(task: str, taught: set[str], trial: int) -> float:
        luck = random.Random(f"{seed}/{task}/{sorted(taught)}/{trial}").random()
        return float(luck < (chance if {*"ABC"} <= taught else 0.02))

    return solves


TOGETHER = [append(letter, *(f"a-{name}" for name in "mnopqrst")) for letter in "ADBECF"]


@pytest.mark.parametrize(("chance", "least"), [(0.95, 8), (0.5, 4)])
async def test_edits_that_all_tasks_need_together_enter_in_noise(chance: float, least: int) -> None:
    found = [(await run(TOGETHER, together(seed, chance), failed(*"mnopqrst")))[1] for seed in range(8)]
    assert sum({*"ABC"} <= set(kept) for kept in found) >= least
    assert sum(letter in "DEF" for kept in found for letter in kept) <= 4


async def test_they_also_enter_where_a_repeat_tells_nothing_new_and_are_trusted() -> None:
    proof, kept, tried = await run(TOGETHER, together(1, 1.0), failed(*"mnopqrst"), repeats=False)
    assert kept == "ABC"
    assert {one.standing for one in proof.edits if one.kept} == {"trusted"}
    assert all("together" in one.note for one in proof.edits if one.kept)
    assert len({(task, letters) for task, letters, _ in tried}) == len(tried)


@pytest.mark.parametrize(("repeats", "most"), [(True, 0), (False, 4)])
async def test_a_set_of_edits_does_not_enter_by_luck(repeats: bool, most: int) -> None:
    """Whatever is in the skill, a task passes with .3, by another draw."""

    def lucky(seed: int) -> Solves:
        return lambda task, taught, trial: float(random.Random(f"{seed}{task}{sorted(taught)}{trial}").random() < 0.3)

    noise = PassSpread.measured([Outcomes(0, 2)] * 49 + [Outcomes(1, 1)] * 42 + [Outcomes(2, 0)] * 9)
    runs = [await run(TOGETHER, lucky(n), failed(*"mnopqrst"), noise=noise, repeats=repeats) for n in range(12)]
    assert sum(bool(kept) for _, kept, _ in runs) <= most


async def test_a_set_has_to_show_more_where_the_edits_of_an_optimizer_seldom_help() -> None:
    coin, made = PassSpread.measured([Outcomes(1, 1)] * 60), list[int]()
    for accounts in ([], [-0.5] * 4):
        solves, doubt = together(1, 1.0), learnt((), accounts)
        _, kept, tried = await run(TOGETHER, solves, failed(*"mnopqrst"), noise=coin, helpful=doubt)
        assert kept == "ABC"
        made.append(len(tried))
    assert made[0] < made[1]
