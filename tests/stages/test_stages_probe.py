"""Probes: attempts under several skills at once."""

import pytest
from stages_doubles import ToldAgent, make_rollout, tasks

from etude.errors import TransientError, VoidStop
from etude.records import Skill
from etude.stages.probe import probe
from etude.stages.rollout import Try
from etude.testing.doubles import MemoryJournal

A, B = Skill(text="a"), Skill(text="b")


def tries(count: int = 12) -> list[Try]:
    return [Try(task, skill, 0) for task in tasks(count // 2) for skill in (A, B)]


def failing(*broken: tuple[str, str]):
    """Raises for these (task, skill text)."""

    def attempting(task, skill, trial):
        if (task.id, skill.text) in broken:
            return TransientError("no answer")
        return task.gold

    return attempting


async def test_attempts_come_in_the_order_of_the_tries() -> None:
    attempts = await probe(make_rollout(ToldAgent(failing())), tries(), step=1)
    assert [(a.task.id, a.skill_hash) for a in attempts] == [(t.task.id, t.skill.hash) for t in tries()]


async def test_no_tries_are_no_decision() -> None:
    journal = MemoryJournal()
    assert await probe(make_rollout(ToldAgent(failing()), journal=journal), [], step=1) == ()
    assert not journal._facts


async def test_a_void_stays_void_when_asked_again() -> None:
    journal = MemoryJournal()
    first = await probe(make_rollout(ToldAgent(failing(("t1", "b"))), journal=journal), tries(), step=1)
    agent = ToldAgent(failing())
    again = await probe(make_rollout(agent, journal=journal), tries(), step=1)
    assert again == first
    assert [a.outcome for a in again].count("void") == 1
    assert agent.tried == []


async def test_a_single_void_of_a_few_is_allowed() -> None:
    attempts = await probe(make_rollout(ToldAgent(failing(("t0", "a")))), tries(4), step=1)
    assert attempts[0].outcome == "void"


async def test_more_voids_stop_the_run() -> None:
    with pytest.raises(VoidStop, match=r"2 of 4 train attempts errored"):
        await probe(make_rollout(ToldAgent(failing(("t0", "a"), ("t0", "b")))), tries(4), step=1)


async def test_no_void_is_allowed_where_none_is_wanted() -> None:
    with pytest.raises(VoidStop):
        await probe(make_rollout(ToldAgent(failing(("t0", "a"))), max_void=0), tries(4), step=1)
