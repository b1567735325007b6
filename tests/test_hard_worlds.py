"""The simulated world of the benchmarks: rules that act on each other, and rules with exceptions."""

import random
from itertools import product

import pytest
from hard_worlds import HARSH, HARSH_RANGES, WORLD, drawn, harsh
from hard_worlds.parcels import FOLDER, Parcels
from hard_worlds.slips import ExceptionRule, Slips

from etude.errors import ConfigError
from etude.simulation.families import find_tasks, rules_in
from etude.simulation.families.family import relevant, rules_of
from etude.simulation.rules import TeachableRule, Teaching, statements, states
from etude.simulation.world import OPTIMIZERS
from rows import rows

PARCELS, SLIPS = (next(one for one in WORLD.families if isinstance(one, kind)) for kind in (Parcels, Slips))
VOLUME, HEAVIER, ROUNDING, ISLANDS, POSTCODE = rules_of("parcels", FOLDER)
EXCEPTIONS = [rule for rule in SLIPS.rules if isinstance(rule, ExceptionRule)]
TASKS = {name: WORLD.make_tasks(name, 160, 1) for name in ("parcels", "slips")}
BULKY = (
    "What does it cost in cents to send a parcel of 1.3 kg and 50 x 45 x 41 cm to {} (postcode {})? "
    "The tariff is 400 cents plus 163 cents per kilogram, and 310 cents extra for islands."
)
HEAVY = (
    "How many cents is the postage for a parcel of 13.8 kg and 20 x 12 x 10 cm to Quenby (postcode 3001)? "
    "The tariff is 395 cents plus 85 cents per kilogram, and 310 cents extra for islands."
)


def skill_of(*rules: TeachableRule) -> str:
    return "\n".join(f"- {rule.statements[0]}" for rule in rules)


def parcels(*rules: TeachableRule) -> float:
    return WORLD.true_score(skill_of(*rules), TASKS["parcels"])


def slips(skill: str) -> float:
    return WORLD.true_score(skill, TASKS["slips"], "target-harsh")


@pytest.mark.parametrize("family", [PARCELS, SLIPS], ids=["parcels", "slips"])
def test_tasks_are_found_again_every_rule_matters_and_says_something_of_its_own(family) -> None:
    texts = [family.make(random.Random(seed)) for seed in range(300)]
    for text in texts[:50]:
        (found,) = find_tasks(f"Question. {text} Answer?".replace(" ", "\n", 1), WORLD.families)
        assert (found.family, found.text) == (family, text)
    assert {rule.id for text in texts for rule in relevant(family, text)} == {rule.id for rule in family.rules}
    for rule in family.rules:
        for text in (*rule.statements, *rule.harmful):
            said = statements(text, rules_in(WORLD.families))
            assert {one.rule.partition(".")[0] for one in said} == {rule.family}, text
        assert all(states(text, family.rules)[rule.id] is Teaching.TAUGHT for text in rule.statements)


@rows(
    ("task", "fault", "answer"),
    [
        (BULKY.format("Ostrey", 9214), None, "3807"),
        (BULKY.format("Tolden", 9214), None, "3497"),
        (HEAVY, None, "1585"),
        (BULKY.format("Ostrey", 9214), "parcels.volume", "15869"),
        (BULKY.format("Ostrey", 9214), "parcels.heavier", "1036"),
        (BULKY.format("Ostrey", 9214), "parcels.rounding", "3644"),
        (BULKY.format("Ostrey", 9214), "parcels.islands", "3497"),
        (BULKY.format("Ostrey", 9214), "parcels.postcode", "3497"),
        (HEAVY, "parcels.heavier", "480"),
    ],
)
def test_the_price_of_a_parcel_and_what_each_mistake_makes_of_it(task: str, fault: str | None, answer: str) -> None:
    assert PARCELS.solve(task, frozenset(filter(None, (fault,)))).answer == answer


def test_two_rules_are_worse_than_nothing_alone_and_worth_most_together() -> None:
    for others in ((), (ROUNDING, ISLANDS)):
        nothing = parcels(*others)
        assert parcels(*others, VOLUME) < nothing - 0.1
        assert parcels(*others, HEAVIER) < nothing - 0.03
        assert parcels(*others, VOLUME, HEAVIER) > nothing + 0.15


def test_no_skill_exceeds_the_best_attainable_score() -> None:
    few = TASKS["parcels"][:4]
    best = WORLD.best_attainable(few)
    for known in product(Teaching, repeat=len(PARCELS.rules)):
        of_each = list(zip(PARCELS.rules, known, strict=True))
        lines = [rule.statements[0] for rule, state in of_each if state.value in ("taught", "contradicted")]
        lines += [rule.harmful[0] for rule, state in of_each if state.value in ("harmed", "contradicted")]
        assert WORLD.true_score("\n".join(f"- {line}" for line in lines), few) <= best + 1e-12
    assert 0.6 < WORLD.best_attainable(TASKS["parcels"]) < 0.7
    seed = WORLD.seed_skill("parcels")
    assert WORLD.true_score(seed, TASKS["parcels"]) < WORLD.true_score("", TASKS["parcels"]) < 0.25
    assert [one.sign for one in statements(seed, PARCELS.rules)] == [-1]


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda rule: rule.id)
def test_an_exception_stated_for_every_slip_fixes_its_kind_and_breaks_the_others(exception: ExceptionRule) -> None:
    general = exception.id.partition("-")[0]
    wrong = states(exception.broad[0], SLIPS.rules)
    assert (wrong[exception.id], wrong[general]) == (Teaching.TAUGHT, Teaching.HARMED)
    right = states(exception.statements[0], SLIPS.rules)
    assert (right[exception.id], right[general]) == (Teaching.TAUGHT, Teaching.UNTAUGHT)


def test_worlds_are_drawn_by_number_within_their_ranges_and_models_have_names() -> None:
    worlds = [drawn(number) for number in range(1, 21)]
    assert len({world.slip for world in worlds}) == 20
    assert all(0.01 <= world.slip < 0.04 and 600 <= world.long_skill <= 900 for world in worlds)
    profile = harsh(OPTIMIZERS["optimizer"], 3)
    assert all(low <= getattr(profile, name) < high for name, (low, high) in HARSH_RANGES.items())
    assert drawn(3) == drawn(3) == WORLD.target("target-harsh-3") != HARSH
    assert WORLD.optimizer("optimizer-poor-harsh-3") == harsh(OPTIMIZERS["optimizer-poor"], 3)
    assert harsh(OPTIMIZERS["optimizer-useless"]) is OPTIMIZERS["optimizer-useless"]
    assert {"target-harsh", "optimizer-harsh", "optimizer-uncited-harsh"} <= set(WORLD.names())
    for name in ("target-harsh-0", "judge-harsh", "target-steady-harsh"):
        with pytest.raises(ConfigError, match="unknown simulated model"):
            WORLD.check_name(name)
