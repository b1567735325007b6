"""The harsh world: rules with exceptions, wrong rules that look right, length that costs, flawed proposals."""

import pytest

from etude.errors import ConfigError
from etude.records import ChatRequest, system, user
from etude.simulation import best_attainable, make_tasks, names, respond, seed_skill, true_score
from etude.simulation.families import RULES, find_tasks
from etude.simulation.families.slips import KINDS, Slips
from etude.simulation.noise import HARSH, drawn
from etude.simulation.optimizer.profiles import GOOD, HARSH_RANGES, USELESS, harsh
from etude.simulation.rules import Teaching, statements, states
from etude.simulation.score import best_skill

TASKS = make_tasks("slips", 200, seed=1)
SLIPS = Slips()
EXCEPTIONS = [rule for rule in SLIPS.rules if rule.broad]


def score(skill: str) -> float:
    return true_score(skill, TASKS, "target-harsh")


def test_statements_speak_of_their_own_family_only() -> None:
    for rule in RULES:
        for text in (*rule.statements, *rule.harmful, *rule.broad):
            assert {one.rule.partition(".")[0] for one in statements(text, RULES)} == {rule.family}, text


def test_tasks_have_a_kind_and_are_found_again() -> None:
    assert {task.type for task in TASKS} == set(KINDS)
    assert all(find_tasks(f"Question. {task.input} Answer?")[0].text == task.input for task in TASKS[:20])


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda rule: rule.id)
def test_an_exception_stated_for_every_slip_fixes_its_kind_and_breaks_the_others(exception) -> None:
    general = exception.id.partition("-")[0]
    wrong = states(exception.broad[0], SLIPS.rules)
    assert (wrong[exception.id], wrong[general]) == (Teaching.TAUGHT, Teaching.HARMED)
    right = states(exception.statements[0], SLIPS.rules)
    assert (right[exception.id], right[general]) == (Teaching.TAUGHT, Teaching.UNTAUGHT)


def test_wrong_and_missing_exceptions_cost_score_and_the_best_skill_has_them_all() -> None:
    best = best_skill(TASKS)
    assert score(best) == best_attainable(TASKS, "target-harsh")
    first = EXCEPTIONS[0]
    without = best.replace(first.statements[0], "")
    assert score(without) < score(best) - 0.01
    assert score(f"{best}- {first.broad[0]}\n") < score(best) - 0.01
    assert score(seed_skill("slips")) < 0.2


def test_length_costs_once_the_skill_is_long() -> None:
    best = best_skill(TASKS)
    said = [rule.statements[1] for rule in SLIPS.rules]
    longer = best + "".join(f"- {line}\n" for line in said)
    assert score(longer) < score(best) - 0.05
    assert score(best + f"- {said[0]}\n") == pytest.approx(score(best))


def test_every_change_of_the_text_draws_again() -> None:
    skills = [f"{seed_skill('slips')}- {word} care.\n" for word in ("Take", "Have", "Use")]
    first, again = (
        [tuple(respond("target-harsh", ask(skill, task.input)).text for task in TASKS[:40]) for skill in skills]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first)) == 3


def ask(skill: str, task: str) -> ChatRequest:
    return ChatRequest(messages=(system(skill), user(task)))


def test_worlds_are_drawn_by_number_within_their_ranges() -> None:
    worlds = [drawn(number) for number in range(1, 21)]
    assert len({world.slip for world in worlds}) == 20
    assert all(0.01 <= world.slip < 0.04 and 600 <= world.long_skill <= 900 for world in worlds)
    profile = harsh(GOOD, 3)
    assert all(low <= getattr(profile, name) < high for name, (low, high) in HARSH_RANGES.items())
    assert drawn(3) == drawn(3) != HARSH
    assert harsh(USELESS) is USELESS


def test_models_of_the_harsh_world_have_names() -> None:
    assert {"target-harsh", "optimizer-harsh", "optimizer-poor-harsh", "optimizer-uncited-harsh"} <= set(names())
    assert true_score(best_skill(TASKS), TASKS, "target-harsh-7") > 0.8
    for name in ("target-harsh-0", "judge-harsh", "target-steady-harsh"):
        with pytest.raises(ConfigError, match="unknown simulated model"):
            respond(name, ask("", TASKS[0].input))
