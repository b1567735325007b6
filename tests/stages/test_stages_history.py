"""What passed and failed at each training task with the skill of now, and how far apart attempts are."""

import pytest
from stages_doubles import attempt

from etude.config import GateSection
from etude.records import Attempt, Score, Skill, TaskHistory, TrainState
from etude.stages.shared.history import Measure, measured, noted, rivals, seen_as_well, without
from etude.stages.shared.noise import Outcomes, PassSpread
from rows import rows

HARD, SOFT = GateSection(metric="hard"), GateSection(metric="soft")
STATE = TrainState(step=3, current=Skill(text="A"), best=Skill(text="A"))


def measure(spread: float = 0.0, gate: GateSection = SOFT) -> Measure:
    return Measure(gate, PassSpread(), spread)


def tried(value: float | None, trial: int = 0, *, skill: str = "a" * 16, task: str = "x") -> Attempt:
    """An attempt with this score; solved with 1 only."""
    score = None if value is None else Score(hard=float(value >= 1), soft=value)
    made = attempt(f"{task}-{trial}", None if value is None else 0.0, task=task)
    return made.model_copy(update={"score": score, "trial": trial, "skill_hash": skill})


def history(*attempts: Attempt, state: TrainState = STATE, spread: float = 0.0) -> TaskHistory:
    return noted(state, attempts, measure(spread), state.step).history["x"]


def test_an_attempt_counts_once_however_often_it_is_noted() -> None:
    state = noted(STATE, [tried(0.0), tried(1.0, 1)], measure(), STATE.step)
    assert noted(state, [tried(0.0), tried(1.0, 1)], measure(), state.step) == state
    assert noted(state, [tried(1.0, 2)], measure(), state.step).history["x"].passed == 2


def test_another_skill_begins_anew_and_knows_how_often_the_task_passed_before() -> None:
    state = noted(STATE, [tried(1.0), tried(1.0, 1), tried(0.0, 2)], measure(), STATE.step)
    later = state.model_copy(update={"step": 8})
    known = history(tried(0.0, skill="b" * 16), state=later)
    assert (known.skill, known.trials, known.passed, known.failed) == ("b" * 16, 1, 0, 1)
    assert known.before == 2
    assert known.seen == ((3, True), (3, True), (3, False), (8, False))


def test_attempts_are_told_apart_by_whether_their_skill_had_the_edits_of_a_step() -> None:
    known = TaskHistory(skill="s", seen=((1, True), (3, False), (4, True), (8, False)))
    assert known.split(4) == ([True, False], [True, False])
    assert known.split(1) == ([], [True, False, True, False])
    assert known.split(9) == ([True, False, True, False], [])


def test_what_passed_with_earlier_skills_counts_as_one_pass_at_most() -> None:
    now = ((5, False), (5, True), (5, False))
    for before, passed in (((), 1), (((2, False),), 1), (((2, True),), 2), (((2, True),) * 9, 2)):
        known = TaskHistory(skill="s", passed=1, failed=2, solved=True, seen=(*before, *now))
        assert without(known) == Outcomes(passed, 2)


def test_an_attempt_without_a_score_is_a_trial_and_no_outcome() -> None:
    known = history(tried(None), tried(0.0, 1))
    assert (known.trials, known.passed, known.failed, known.seen) == (2, 0, 1, ((3, False),))


def test_a_fraction_passes_where_it_is_higher_than_the_best_failure_by_more_than_the_spread() -> None:
    known = history(tried(0.4), tried(0.45, 1), tried(0.56, 2), tried(0.9, 3), spread=0.1)
    assert (known.best_failed, known.passed, known.failed) == (0.45, 2, 1)


def test_what_did_better_and_was_not_solved_is_what_an_edit_has_to_surpass() -> None:
    known = history(tried(0.25), tried(0.5, 1), spread=0.1)
    assert (known.passed, known.best, known.solved) == (1, 0.5, False)
    assert without(known) == Outcomes(0, 1)
    solved = history(tried(0.25), tried(1.0, 1), spread=0.1)
    assert (solved.best, solved.solved, without(solved)) == (0.25, True, Outcomes(1, 0))


def test_the_gap_is_that_between_the_first_failure_and_the_next_attempt() -> None:
    assert history(tried(0.4)).gap is None
    assert history(tried(0.4), tried(0.1, 1), tried(0.9, 2)).gap == pytest.approx(0.3)
    assert history(tried(1.0), tried(0.4, 1)).gap is None


@rows(
    ("first", "value", "spread", "better"),
    [
        (0.0, 1.0, 0.0, True),
        (0.0, 0.0, 0.0, False),
        (0.4, 0.5, 0.0, True),
        (0.4, 0.5, 0.1, False),  # the spread
        (0.4, 0.51, 0.1, True),
        (0.4, 0.65, 0.5, False),  # half of what there is to gain is .3
        (0.4, 0.75, 0.5, True),
        (0.95, 1.0, 0.5, True),  # it is solved
    ],
)
def test_an_attempt_is_better_by_more_than_the_spread_or_half_of_what_there_is_to_gain(
    first: float, value: float, spread: float, better: bool
) -> None:
    assert measure(spread).better(tried(value), first) is better


def test_where_only_passing_counts_better_is_to_pass() -> None:
    hard = measure(0.7, HARD)
    assert hard.better(tried(1.0), 0.0)
    assert not hard.better(tried(0.99), 0.0)


def test_the_spread_is_the_root_of_the_mean_square_of_the_gaps_and_of_four_tasks_without_one() -> None:
    attempts = [
        *(tried(value, trial, task="x") for trial, value in enumerate((0.5, 0.8))),
        *(tried(value, trial, task="y") for trial, value in enumerate((0.5, 0.1))),
        tried(0.2, task="z"),
    ]
    spread = measured(noted(STATE, attempts, measure(), STATE.step), SOFT).spread
    assert spread == pytest.approx((2 * 0.125 / (2 + 4)) ** 0.5)  # four tasks count as steady before any is seen


def test_before_anything_is_repeated_there_is_no_spread_and_the_noise_is_the_prior() -> None:
    found = measured(STATE, SOFT)
    assert (found.spread, found.noise) == (0.0, PassSpread.measured([]))


def test_noise_is_measured_from_the_outcomes_of_all_tasks() -> None:
    flaky = [tried(float(trial % 2), trial, task=f"t{n}") for n in range(30) for trial in range(2)]
    steady = [tried(0.0, trial, task=f"t{n}") for n in range(30) for trial in range(2)]
    noises = [measured(noted(STATE, some, measure(gate=HARD), STATE.step), HARD).noise for some in (flaky, steady)]
    assert noises[0].regained > 0.3
    assert noises[1].regained < 0.08


def test_noise_is_measured_from_the_repeated_tasks_of_earlier_skills_as_well() -> None:
    flaky = [tried(float(trial % 2), trial, task=f"t{n}") for n in range(30) for trial in range(2)]
    once = [tried(0.0, task=f"u{n}") for n in range(9)]
    state = noted(STATE, [*flaky, *once], measure(gate=HARD), STATE.step)
    assert state.repeated == ()
    later = noted(state, [tried(0.0, skill="b" * 16, task=f"t{n}") for n in range(30)], measure(gate=HARD), 8)
    later = noted(later, [tried(0.0, skill="b" * 16, task=f"u{n}") for n in range(9)], measure(gate=HARD), 8)
    assert later.repeated == ((1, 1),) * 30
    forgotten = later.model_copy(update={"repeated": ()})
    assert measured(later, HARD).noise.regained > 2 * measured(forgotten, HARD).noise.regained


def test_of_the_repeated_tasks_of_earlier_skills_the_last_40_are_known() -> None:
    state = STATE
    for skill, value in (("a", 0.0), ("b", 1.0), ("c", 0.0)):
        made = [tried(value, n, skill=skill * 16, task=f"t{m}") for m in range(30) for n in range(2)]
        state = noted(state, made, measure(gate=HARD), STATE.step)
    assert state.repeated == ((0, 2),) * 10 + ((2, 0),) * 30


def test_what_passed_without_an_edit_that_is_gone_is_seen_and_counts_as_no_trial() -> None:
    state = noted(STATE, [tried(1.0), tried(0.0, 1)], measure(), 3)
    later = seen_as_well(state, [tried(1.0, 500_000, skill="b" * 16), tried(None, 500_001)], measure(), 5)
    assert later.history["x"].seen == ((3, True), (3, False), (5, True))
    assert later.history["x"].trials == state.history["x"].trials


def test_earlier_skills_are_rivals_where_more_tasks_passed_with_one_of_them_than_with_the_present_one() -> None:
    old, good, late = (Skill(text=text) for text in ("Old.", "Good.", "Late."))
    told = {
        "lost": [(2, True), (5, True), (9, False)],
        "lost again": [(5, True), (6, True), (9, False)],
        "at times": [(5, False), (5, True), (9, False)],
        "gained": [(2, False), (9, True)],
        "not attempted since": [(5, True)],
    }
    seen = {name: TaskHistory(skill="s", seen=tuple(each)) for name, each in told.items()}
    state = TrainState(step=9, current=late, best=late, history=seen, skills={2: old, 5: good, 8: late})
    assert rivals(state) == [good, old], "which stood equally long: the later one first"
    assert rivals(state.model_copy(update={"skills": {2: old, 5: good, 8: old, 9: late}})) == [old, good]
    assert rivals(state.model_copy(update={"skills": {5: late}})) == []
    back = state.model_copy(update={"current": good, "skills": {5: good, 8: late, 9: good}})
    assert rivals(back) == []
