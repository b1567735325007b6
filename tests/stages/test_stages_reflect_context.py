"""Reflect: what the optimizer is told besides skill and attempts, and which failures it is shown together."""

from typing import Any

import pytest
from stages_doubles import Desk, attempt, minibatches, patch_reply

from etude.config.sections import ReflectSection
from etude.records import Skill, Tally
from etude.stages.reflect import Context, deep_groups, reflect, shallow_groups

FAILURES = [attempt(f"f{i}", 0.0) for i in range(11)]
SUCCESSES = [attempt(f"s{i}", 1.0) for i in range(5)]
KNOWN = Context(Skill(text="Be exact."), 4, (), {})


async def test_the_optimizer_is_told_of_the_agent_and_the_step_where_that_is_known() -> None:
    desk = Desk(reflect_failures=patch_reply())
    known = KNOWN._replace(
        told="# The agent\n\nIts model: m.",
        batch=[*FAILURES, *SUCCESSES, attempt("v", None)],
        tallies=[Tally(step=1, solved=2, attempted=9), Tally(step=2, solved=4, attempted=8)],
    )
    await reflect(desk.optimizer, FAILURES[:2], known, ReflectSection(mode="shallow"), minibatches())
    text = desk.shown()
    parts = ["Its model: m.", "# Current skill", "11 of 16 attempts failed. Solved in the steps before: 2/9, 4/8."]
    places = [text.index(part) for part in [*parts, "Propose at most", "# Attempts"]]
    assert places == sorted(places)


async def test_without_a_batch_what_is_read_is_counted() -> None:
    desk = Desk(reflect_failures=patch_reply(), reflect_successes=patch_reply())
    await reflect(desk.optimizer, [*FAILURES, *SUCCESSES[:2]], KNOWN, ReflectSection(mode="shallow"), minibatches(4))
    assert all("11 of 13 attempts failed." in desk.shown(call) for call in range(len(desk.prompts)))


@pytest.mark.parametrize("groups", [shallow_groups, deep_groups])
def test_the_first_minibatch_of_many_failures_has_all_that_was_given(groups: Any) -> None:
    given = ["billing"] * 7 + ["shipping", "account"]
    failures = [attempt(f"f{n}", answer=answer) for n, answer in enumerate(given)]
    for seed in range(5):
        first = groups(failures, {}, minibatches(3, seed=seed))[0]
        assert {each.trajectory.answer for each in first.attempts} == {"billing", "shipping", "account"}
