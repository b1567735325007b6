"""The second kind of world: few rules that act on each other, and attempts that often fail whatever is taught."""

import random
from collections.abc import Iterable
from itertools import combinations, product

import pytest
from simulation_prompts import (
    DEEP,
    SHALLOW,
    answer_of,
    answered_with,
    ask,
    attempt_block,
    family_named,
    reflect_request,
    reported,
    skill_of,
)

from etude.errors import ConfigError
from etude.simulation import SEED_SKILL, best_attainable, make_tasks, respond, seed_skill, true_score
from etude.simulation.families import FAMILIES, IN_TURN, RULES
from etude.simulation.families.family import relevant
from etude.simulation.families.tables import rules_of
from etude.simulation.noise import Reliability, draw_faults, fault_rate
from etude.simulation.optimizer.reading import read_prompt
from etude.simulation.rules import TeachableRule, Teaching, statements, states
from etude.skill import Document
from rows import rows

PARCELS = family_named("parcels")
VOLUME, HEAVIER, ROUNDING, ISLANDS, POSTCODE = rules_of("parcels")
SLIP = 0.12
TASKS = make_tasks("parcels", 160, 1)
SEED = seed_skill("parcels")
FULL = skill_of(*PARCELS.rules)
WRONG_LINE = "Ostrey, Skarholm, Linsay and Vannoy are on the mainland."


def score(*rules: TeachableRule) -> float:
    return true_score(skill_of(*rules), TASKS)


def test_two_rules_are_worse_than_nothing_alone_and_worth_most_together() -> None:
    nothing = score()
    assert score(VOLUME) < nothing - 0.1
    assert score(HEAVIER) < nothing - 0.03
    assert score(VOLUME, HEAVIER) > nothing + 0.15
    others = (ROUNDING, ISLANDS)
    assert score(*others, VOLUME) < score(*others) - 0.15
    assert score(*others, HEAVIER) < score(*others) - 0.05
    assert score(*others, VOLUME, HEAVIER) > score(*others) + 0.3


@pytest.mark.parametrize("others", [(), (ROUNDING,), (VOLUME, HEAVIER), (VOLUME, HEAVIER, ROUNDING)])
def test_either_of_two_rules_suffices_and_leaving_one_out_shows_nothing(others: tuple[TeachableRule, ...]) -> None:
    by_name, by_code, by_both = (score(*others, *rules) for rules in ((ISLANDS,), (POSTCODE,), (ISLANDS, POSTCODE)))
    assert by_name == pytest.approx(by_both, abs=1e-12)
    assert by_code == pytest.approx(by_both, abs=1e-12)
    assert by_both > score(*others) * 1.2


def test_one_rule_helps_by_the_same_factor_whatever_else_is_taught() -> None:
    factors = {
        round(score(ROUNDING, *others) / score(*others), 9)
        for count in range(5)
        for others in combinations((VOLUME, HEAVIER, ISLANDS, POSTCODE), count)
    }
    assert factors == {round((1 - SLIP) / (1 - ROUNDING.untaught), 9)}


def test_an_interaction_concerns_untaught_steps_only() -> None:
    target = Reliability()

    def rate(skill: str) -> float:
        return fault_rate(target, PARCELS, HEAVIER, states(skill, PARCELS.rules))

    alone, right, wrong = skill_of(VOLUME), skill_of(VOLUME, HEAVIER), HEAVIER.harmful[0]
    assert (rate(""), rate(alone), rate(right)) == (HEAVIER.untaught, 0.95, SLIP)
    assert rate(f"{alone}\n- {wrong}") == target.harmed
    assert rate(f"{right}\n- {wrong}") == target.torn
    assert rate(f"{alone}\n- {VOLUME.harmful[0]}") == HEAVIER.untaught, "what is contradicted is not taught"


def test_what_the_skill_says_wrongly_is_not_made_up_for_by_a_rule_that_would_suffice() -> None:
    mended = SEED.replace(WRONG_LINE, ISLANDS.statements[0])
    assert true_score(f"{SEED}\n- {POSTCODE.statements[0]}", TASKS) < true_score(SEED, TASKS) + 0.01
    assert true_score(mended, TASKS) > true_score(SEED, TASKS) + 0.05


def test_the_best_skill_fails_often_and_the_seed_skill_mostly() -> None:
    tasks = make_tasks("parcels", 400, 2)
    assert 0.6 < best_attainable(tasks) < 0.7
    assert 0.08 < true_score(SEED, tasks) < true_score("", tasks) < 0.25
    assert best_attainable(tasks, "target-steady") == 1
    assert best_attainable(tasks, "target-noisy") == best_attainable(tasks), "the noise belongs to the rules"


def lines_of(known: Iterable[Teaching]) -> str:
    """A skill that does this about each rule in turn."""
    lines: list[str] = []
    for rule, state in zip(PARCELS.rules, known, strict=True):
        if state in (Teaching.TAUGHT, Teaching.CONTRADICTED):
            lines.append(rule.statements[0])
        if state in (Teaching.HARMED, Teaching.CONTRADICTED):
            lines.append(rule.harmful[0])
    return "\n".join(f"- {line}" for line in lines)


def test_no_skill_exceeds_the_best_attainable_score() -> None:
    few = TASKS[:4]
    best = best_attainable(few)
    for known in product(Teaching, repeat=len(PARCELS.rules)):
        assert true_score(lines_of(known), few) <= best + 1e-12


def test_the_best_attainable_score_is_the_one_of_all_rules_of_the_families_of_the_tasks() -> None:
    for family in IN_TURN:
        tasks = make_tasks(family.name, 30, 4)
        assert best_attainable(tasks) == true_score(skill_of(*family.rules), tasks) > 0.93
    mixed = [*make_tasks(None, 30, 4), *TASKS[:10]]
    assert best_attainable(iter(mixed)) == pytest.approx(true_score(skill_of(*RULES), mixed), abs=1e-12)
    with pytest.raises(ValueError, match="at least one task"):
        best_attainable([])
    with pytest.raises(ConfigError, match="'optimizer' is not a simulated target"):
        best_attainable(TASKS, "optimizer")


@pytest.mark.parametrize("skill", [skill_of(VOLUME), FULL], ids=["volume", "all"])
def test_the_true_score_is_what_trials_of_many_tasks_tend_to(skill: str) -> None:
    # Of one task no number of trials would do: an untaught step goes wrong in all of them or in none.
    tasks = make_tasks("parcels", 1500, 1)
    passed = [answer_of(respond("target", ask(task, skill, trial))) == task.gold for trial, task in enumerate(tasks)]
    # The standard error of the mean of 1,500 attempts is at most 0.013.
    assert sum(passed) / len(passed) == pytest.approx(true_score(skill, tasks), abs=0.045)


def test_taught_steps_slip_by_trial_and_untaught_ones_come_out_alike_in_every_trial() -> None:
    tasks = [task for task in TASKS if len(relevant(PARCELS, task.input)) == 5]
    passed = [answer_of(respond("target", ask(tasks[0], FULL, trial))) == tasks[0].gold for trial in range(60)]
    assert 0 < sum(passed) < len(passed)
    outcomes = [
        {answer_of(respond("target", ask(task, "", trial))) == task.gold for trial in range(20)} for task in tasks
    ]
    assert all(len(outcome) == 1 for outcome in outcomes)
    assert {True} in outcomes, "untaught steps go wrong at some tasks, not at all"
    assert {False} in outcomes


@pytest.mark.parametrize("sampled", [False, True])
def test_whether_an_untaught_step_goes_wrong_depends_on_the_task_and_the_rule_only(sampled: bool) -> None:
    def faults(task: str, skill: str, trial: int) -> frozenset[str]:
        return draw_faults(Reliability(sampled=sampled), PARCELS, task, skill, trial)

    untaught, taught = {VOLUME.id, HEAVIER.id, ISLANDS.id, POSTCODE.id}, {ROUNDING.id}
    skills = ("", "Be friendly.", skill_of(ROUNDING))
    always: set[frozenset[str]] = set()
    slips: set[frozenset[str]] = set()
    for task in TASKS[:40]:
        drawn = [faults(task.input, skill, trial) for skill in skills for trial in range(10)]
        (same,) = {frozenset(found & untaught) for found in drawn}
        always.add(same)
        slips |= {found & taught for found in drawn[-10:]}
    assert len(always) > 2, "they differ by task"
    assert slips == {frozenset(), frozenset(taught)}


def test_mistakes_show_in_the_price_and_never_make_up_for_each_other() -> None:
    rng = random.Random(8)
    for text in (PARCELS.make(rng) for _ in range(300)):
        steps = [rule.id for rule in relevant(PARCELS, text)]
        shown = [
            PARCELS.solve(text, frozenset(faults)).answer
            for count in range(len(steps) + 1)
            for faults in combinations(steps, count)
        ]
        assert shown.count(shown[0]) == 1
        # What is charged by the scales does not show how the volume was counted, nor a price what was overlooked.
        assert len(set(shown)) >= len(shown) * 3 / 8


def test_the_family_is_made_by_name_only() -> None:
    assert {task.type for task in make_tasks(None, 12, 0)} == {family.name for family in IN_TURN}
    assert [family.name for family in FAMILIES if family not in IN_TURN] == [
        "parcels",
        "slips",
        "briefs",
        "summaries",
    ]
    assert {task.type for task in TASKS} == {"parcels"}


def test_every_family_has_a_seed_skill_with_one_wrong_rule() -> None:
    assert {seed_skill(name) for name in (None, "sorting", "counting", "dates")} == {SEED_SKILL}
    assert Document.parse(SEED).meta["name"] == "parcel-prices"
    for skill in (SEED_SKILL, SEED):
        assert [one.sign for one in statements(skill, RULES)].count(-1) == 1
    with pytest.raises(ConfigError) as caught:
        seed_skill("parcel")
    assert str(caught.value) == "unknown family of simulated tasks 'parcel'\nhint: did you mean 'parcels'?"


BULKY = (
    "What does it cost in cents to send a parcel of 1.3 kg and 50 x 45 x 41 cm to Ostrey (postcode 9214)? "
    "The tariff is 400 cents plus 125 cents per kilogram, and 310 cents extra for islands."
)


def failed(id: str, *faults: str, task: str = BULKY) -> str:
    return attempt_block(id, task, answered_with(task, *faults), f"expected: {answered_with(task)}; got: something")


def taught_by(reply) -> list[tuple[str, int]]:
    return [(one.rule, one.sign) for edit in reply["edits"] for one in statements(edit["content"], RULES)]


@rows(("rule", "how"), [(VOLUME, SHALLOW), (HEAVIER, DEEP), (ROUNDING, SHALLOW), (ISLANDS, DEEP)])
def test_a_planted_fault_is_traced_to_its_rule_and_cited(rule: TeachableRule, how: str) -> None:
    blocks = [failed("a-1", rule.id), failed("a-2")]
    reply = reported("optimizer-perfect", reflect_request(blocks, instructions=how))
    assert taught_by(reply) == [(rule.id, 1)]
    assert reply["edits"][0]["cites"] == ["a-1"]


def test_both_rules_of_a_pair_are_proposed_when_attempts_show_both_faults() -> None:
    blocks = [failed("a-1", HEAVIER.id), failed("a-2", VOLUME.id), failed("a-3", VOLUME.id, ROUNDING.id)]
    reply = reported("optimizer-perfect", reflect_request(blocks))
    assert sorted(taught_by(reply)) == [(HEAVIER.id, 1), (ROUNDING.id, 1), (VOLUME.id, 1)]


@pytest.mark.parametrize("how", [SHALLOW, DEEP], ids=["shallow", "deep"])
def test_an_island_overlooked_is_put_down_to_the_rule_that_is_still_missing(how: str) -> None:
    for fault in (ISLANDS, POSTCODE):
        for given, expected in (((), ISLANDS), ((ISLANDS,), POSTCODE), ((POSTCODE,), ISLANDS)):
            request = reflect_request([failed("a-1", fault.id)], skill_of(*given), how)
            assert taught_by(reported("optimizer-perfect", request)) == [(expected.id, 1)]
        request = reflect_request([failed("a-1", fault.id)], skill_of(ISLANDS, POSTCODE), how)
        assert taught_by(reported("optimizer-perfect", request)) == []


def test_real_failures_of_the_target_are_mostly_explained() -> None:
    blocks = [
        attempt_block(f"a-{place:04x}", task.input, answer_of(respond("target", ask(task, SEED))), task.gold or "")
        for place, task in enumerate(TASKS)
    ]
    request = reflect_request(blocks, SEED)
    reply = reported("optimizer-perfect", request)
    cited = {name for edit in reply["edits"] for name in edit["cites"]}
    wrong = [one for one in read_prompt(request).observations if one.failed]
    assert len(wrong) > 120
    assert len(cited) > 0.75 * len(wrong)
    assert sorted(taught_by(reply)) == [(rule.id, 1) for rule in (HEAVIER, ISLANDS, ROUNDING, VOLUME)]
