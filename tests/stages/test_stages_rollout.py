"""Rollout: every attempt ends completed, failed or void, and a failed call is never a score."""

import asyncio
import os
import threading
from contextlib import aclosing

import pytest
from stages_doubles import AnswersEnv, CallsAgent, FreeEnv, ToldAgent, knows, make_rollout, tasks

from etude.concurrency import Threads
from etude.errors import BudgetStop, Interrupted, OutageStop, TransientError, VoidStop
from etude.records import Score, Skill, Task, Trajectory
from etude.sandbox import Limits, Workspace, find_sandbox, run
from etude.stages.shared.rollout import PlannedAttempt
from memory_doubles import MemoryJournal


class BrokenJournal(MemoryJournal):
    """Its disk does not answer."""

    async def once(self, *_: object) -> None:
        raise TimeoutError("the disk does not answer")


SKILL = Skill(text="Be exact.")
ONE = tasks(1)[0]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no such tool"), "agent 'told': ValueError: no such tool"),
        (TimeoutError("read timed out"), "agent 'told': TimeoutError: read timed out"),
        (TransientError("503 from the server"), "503 from the server"),
    ],
)
async def test_whatever_an_agent_raises_is_void_and_says_whose_fault_it_is(error: Exception, reason: str) -> None:
    attempt = await make_rollout(ToldAgent(lambda *_: error)).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.score, attempt.reason) == ("void", None, reason)


@pytest.mark.parametrize("error", [KeyError("gold"), TimeoutError("judge")])
async def test_whatever_a_scorer_raises_is_void_and_says_whose_fault_it_is(error: Exception) -> None:
    def score(*_: object) -> float:
        raise error

    attempt = await make_rollout(ToldAgent(knows()), AnswersEnv(score)).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.score) == ("void", None)
    assert attempt.reason == f"scoring in environment 'answers': {type(error).__name__}: {error}"


async def _judged(task: Task, trajectory: Trajectory) -> Score:
    await asyncio.sleep(0)
    return Score(hard=0, soft=0.25, feedback="too long")


class AsyncEnv(AnswersEnv):
    """Its `score` is an async function."""

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        return await _judged(task, trajectory)


@pytest.mark.parametrize(
    ("env", "score"),
    [
        (AnswersEnv(lambda *_: Score(hard=1, soft=0.5, feedback="good")), Score(hard=1, soft=0.5, feedback="good")),
        (AnswersEnv(lambda *_: 0.5), Score(hard=0.5, soft=0.5)),
        (AnswersEnv(lambda *_: True), Score(hard=1, soft=1)),
        (AnswersEnv(lambda *_: 0), Score(hard=0, soft=0)),
        (AnswersEnv(_judged), Score(hard=0, soft=0.25, feedback="too long")),
        (AsyncEnv(), Score(hard=0, soft=0.25, feedback="too long")),
    ],
    ids=["a score", "a number", "a truth value", "zero", "a function that returns an awaitable", "async def"],
)
async def test_an_environment_may_give_scores_in_several_ways(env: AnswersEnv, score: Score) -> None:
    attempt = await make_rollout(ToldAgent(knows()), env).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.score) == ("completed", score)


@pytest.mark.parametrize("number", [1.5, -0.1, float("nan"), "good", None])
async def test_what_is_no_score_is_void_and_not_clipped(number: object) -> None:
    attempt = await make_rollout(ToldAgent(knows()), AnswersEnv(lambda *_: number)).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.score) == ("void", None)
    assert attempt.reason.startswith("scoring in environment 'answers': ")


@pytest.fixture
def threads() -> Threads:
    return Threads(2)


async def test_a_scorer_that_hangs_keeps_its_thread_and_the_others_go_on(threads: Threads) -> None:
    release = threading.Event()
    came_back: list[str] = []

    def hang(task: Task, _: Trajectory) -> float:
        release.wait(60)
        came_back.append(task.id)
        return 1.0

    hanging = make_rollout(ToldAgent(knows()), AnswersEnv(hang), threads=threads, attempt_seconds=0.05)
    void = await hanging.attempt(ONE, SKILL, 0)
    others = await make_rollout(ToldAgent(knows("t1", "t2")), threads=threads).batch(tasks(8)[1:], SKILL, "train")
    assert came_back == []
    release.set()
    assert (void.outcome, void.reason) == ("void", "no result within limits.attempt_seconds = 0.05")
    assert [each.outcome for each in others] == ["completed"] * 7


async def test_an_agent_that_cancels_itself_is_void_and_does_not_cancel_the_run() -> None:
    agent = ToldAgent(lambda task, *_: asyncio.CancelledError("scope left") if task.id == "t1" else str(task.gold))
    journal = MemoryJournal()
    attempts = await make_rollout(agent, journal=journal, max_void=0.5).batch(tasks(3), SKILL, "train")
    assert [each.outcome for each in attempts] == ["completed", "void", "completed"]
    assert attempts[1].reason == "the attempt cancelled itself: CancelledError('scope left')"
    assert [kind for kind, _ in journal.keys].count("trajectory") == 2


async def test_a_scorer_that_cancels_itself_is_void_too() -> None:
    class Cancelling(AnswersEnv):
        async def score(self, task: Task, trajectory: Trajectory) -> Score:
            raise asyncio.CancelledError

    attempt = await make_rollout(ToldAgent(knows()), Cancelling()).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.reason) == ("void", "the attempt cancelled itself: CancelledError()")


async def test_an_attempt_that_is_cancelled_from_outside_is_cancelled() -> None:
    begun = asyncio.Event()

    async def hang() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    rollout = make_rollout(ToldAgent(lambda *_: hang()))
    attempting = asyncio.create_task(rollout.attempt(ONE, SKILL, 0))
    await asyncio.wait_for(begun.wait(), 60)
    attempting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempting


async def test_an_attempt_that_takes_too_long_is_void_and_ended() -> None:
    ended: list[bool] = []

    async def hang() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)
        return "too late"

    rollout = make_rollout(ToldAgent(lambda *_: hang()), attempt_seconds=0.02)
    attempt = await rollout.attempt(ONE, SKILL, 0)
    assert (attempt.outcome, attempt.reason) == ("void", "no result within limits.attempt_seconds = 0.02")
    assert ended == [True]


async def test_an_agent_cannot_choose_to_have_no_score_by_using_up_the_time() -> None:
    async def waste(seconds: float) -> str:
        with Workspace() as workspace:
            argv, env = ["sleep", str(seconds)], {"PATH": os.defpath}
            await run(argv, box=workspace.box(()), limits=Limits(), sandbox=find_sandbox(), env=env)
        await asyncio.sleep(60)  # for the model
        return "too late"

    for seconds, outcome in ((1.2, "failed"), (0.1, "void")):
        rollout = make_rollout(ToldAgent(lambda *_, s=seconds: waste(s)), attempt_seconds=2)
        attempt = await rollout.attempt(ONE, SKILL, 0)
        assert (attempt.outcome, attempt.reason) == (outcome, "no result within limits.attempt_seconds = 2")


async def test_a_scorer_that_comes_back_too_late_leaves_no_score_behind() -> None:
    release = threading.Event()
    journal = MemoryJournal()
    slow = AnswersEnv(lambda *_: float(release.wait(60)))
    rollout = make_rollout(ToldAgent(knows()), slow, journal=journal, attempt_seconds=0.05)
    attempt = await rollout.attempt(ONE, SKILL, 0)
    release.set()
    assert attempt.outcome == "void"
    assert [kind for kind, _ in journal.keys] == ["trajectory"]


async def test_the_id_is_the_same_for_the_same_task_skill_and_trial_only() -> None:
    rollout = make_rollout(ToldAgent(knows()))
    first = await rollout.attempt(ONE, SKILL, 0)
    assert first.id == (await rollout.attempt(ONE, SKILL, 0)).id
    others = [
        await rollout.attempt(ONE, SKILL, 1),
        await rollout.attempt(ONE, Skill(text="Be brief."), 0),
        await rollout.attempt(tasks(2)[1], SKILL, 0),
    ]
    assert len({first.id, *(attempt.id for attempt in others)}) == 4


async def test_an_attempt_and_its_score_are_facts() -> None:
    agent, env, journal = ToldAgent(knows("t0")), AnswersEnv(), MemoryJournal()
    rollout = make_rollout(agent, env, journal=journal)
    assert await rollout.attempt(ONE, SKILL, 0) == await rollout.attempt(ONE, SKILL, 0)
    assert (agent.tried, env.scored) == (["t0"], ["t0"])
    assert [kind for kind, _ in journal.keys] == ["trajectory", "score"]


async def test_an_agent_whose_calls_are_facts_and_an_environment_that_scores_for_free_add_none() -> None:
    agent, env, journal = CallsAgent(knows("t0")), FreeEnv(), MemoryJournal()
    rollout = make_rollout(agent, env, journal=journal)
    for _ in range(2):
        await rollout.attempt(ONE, SKILL, 0)
    assert (agent.tried, env.scored) == (["t0", "t0"], ["t0", "t0"])
    assert journal.keys == []


async def test_a_void_attempt_leaves_no_fact_and_is_tried_again() -> None:
    journal = MemoryJournal()
    assert (await make_rollout(ToldAgent(lambda *_: OSError()), journal=journal).attempt(ONE, SKILL, 0)).score is None
    assert journal.keys == []
    attempt = await make_rollout(ToldAgent(knows("t0")), journal=journal).attempt(ONE, SKILL, 0)
    assert attempt.solved


async def test_too_many_voids_stop_the_run_and_name_a_task_and_its_reason() -> None:
    agent = ToldAgent(lambda task, *_: ConnectionError("gone") if task.id == "t1" else str(task.gold))
    with pytest.raises(VoidStop) as stop:
        await make_rollout(agent, max_void=0).batch(tasks(3), SKILL, "train")
    assert str(stop.value) == (
        "1 of 3 train attempts errored; the last one (t1): agent 'told': ConnectionError: gone\n"
        "hint: fix the cause and run the same command again, or allow more with limits.max_void"
    )


async def test_one_attempt_may_always_be_void_unless_none_is_allowed() -> None:
    one, two = (
        ToldAgent(lambda task, *_, gone=gone: ConnectionError("gone") if task.id in gone else str(task.gold))
        for gone in ({"t1"}, {"t1", "t2"})
    )
    attempts = await make_rollout(one).batch(tasks(3), SKILL, "train")
    assert [attempt.outcome for attempt in attempts] == ["completed", "void", "completed"]
    with pytest.raises(VoidStop, match="2 of 3 train attempts"):
        await make_rollout(two).batch(tasks(3), SKILL, "train")


async def test_what_is_known_is_no_part_of_the_work_and_a_part_of_the_batch() -> None:
    known = {
        each.task.id: each
        for each in await make_rollout(ToldAgent(knows("t0", "t1"))).batch(tasks(2), SKILL, "train")
    }
    agent = ToldAgent(knows("t2"))
    attempts = await make_rollout(agent).batch(tasks(3), SKILL, "train", known=known)
    assert agent.tried == ["t2"]
    assert [attempt.task.id for attempt in attempts] == ["t0", "t1", "t2"]
    assert all(attempt.solved for attempt in attempts)


async def test_too_many_voids_send_nothing_new_and_let_paid_attempts_finish() -> None:
    finished: list[str] = []

    async def attempting(task: Task) -> str:
        if task.id == "t0":
            raise ConnectionError("gone")
        await asyncio.sleep(0.02)
        finished.append(task.id)
        return "x"

    agent = ToldAgent(lambda task, *_: attempting(task))
    rollout = make_rollout(agent, concurrency=3, max_void=0)
    with pytest.raises(VoidStop):
        await rollout.batch(tasks(20), SKILL, "train", step=1)
    await rollout.executor.drain()
    assert sorted(finished) == sorted(set(agent.tried) - {"t0"})
    assert 0 < len(finished) < 5


async def test_voids_that_were_decided_on_stay_void_on_resume_and_nobody_is_asked() -> None:
    journal = MemoryJournal()
    agent = ToldAgent(lambda task, *_: ConnectionError("gone") if task.id == "t1" else str(task.gold))
    first = await make_rollout(agent, journal=journal, max_void=0.5).batch(tasks(3), SKILL, "train", step=1)

    recovered, env = ToldAgent(knows("t0", "t1", "t2")), AnswersEnv()
    again = await make_rollout(recovered, env, journal=journal).batch(tasks(3), SKILL, "train", step=1)
    assert again == first
    assert (recovered.tried, env.scored) == ([], [])


async def test_attempts_under_several_skills_are_settled_together() -> None:
    journal, skills = MemoryJournal(), (Skill(text="a"), Skill(text="b"))
    planned = [PlannedAttempt(task, skill, 0) for task in tasks(3) for skill in skills]
    gone = (planned[3].task.id, "b")
    agent = ToldAgent(
        lambda task, skill, _: ConnectionError("gone") if (task.id, skill.text) == gone else str(task.gold)
    )
    first = await make_rollout(agent, journal=journal).settle(planned, "train", {"name": "x"})
    assert [(each.task.id, each.skill_hash) for each in first] == [(p.task.id, p.skill.hash) for p in planned]
    recovered = ToldAgent(lambda task, *_: str(task.gold))
    again = await make_rollout(recovered, journal=journal).settle(planned, "train", {"name": "x"})
    assert again == first
    assert ([each.outcome for each in again].count("void"), recovered.tried) == (1, [])


async def test_voids_before_a_decision_are_tried_again() -> None:
    journal = MemoryJournal()
    agent = ToldAgent(lambda task, *_: ConnectionError("gone") if task.id == "t1" else str(task.gold))
    with pytest.raises(VoidStop):
        await make_rollout(agent, journal=journal, concurrency=1, max_void=0).batch(tasks(3), SKILL, "train", step=1)

    recovered = ToldAgent(knows("t0", "t1", "t2"))
    attempts = await make_rollout(recovered, journal=journal).batch(tasks(3), SKILL, "train", step=1)
    assert all(attempt.solved for attempt in attempts)
    assert sorted(recovered.tried) == ["t1", "t2"]


async def test_another_step_decides_on_its_voids_anew() -> None:
    journal = MemoryJournal()
    agent = ToldAgent(lambda task, *_: ConnectionError("gone") if task.id == "t1" else str(task.gold))
    await make_rollout(agent, journal=journal, max_void=0.99).batch(tasks(3), SKILL, "train", step=1)
    recovered = ToldAgent(knows("t0", "t1", "t2"))
    attempts = await make_rollout(recovered, journal=journal).batch(tasks(3), SKILL, "train", step=2)
    assert all(attempt.solved for attempt in attempts)
    assert recovered.tried == ["t1"]


@pytest.mark.parametrize("stop", [BudgetStop("calls used up"), OutageStop("dead endpoint")])
async def test_a_stop_goes_through_and_attempts_under_way_finish(stop: Exception) -> None:
    finished: list[str] = []

    async def attempting(task: Task) -> str:
        if task.id == "t0":
            raise stop
        await asyncio.sleep(0.02)
        finished.append(task.id)
        return "x"

    agent, journal = ToldAgent(lambda task, *_: attempting(task)), MemoryJournal()
    rollout = make_rollout(agent, journal=journal, concurrency=3)
    with pytest.raises(type(stop)):
        await rollout.batch(tasks(20), SKILL, "train")
    await rollout.executor.drain()
    assert sorted(finished) == ["t1", "t2"]
    assert sorted(kind for kind, _ in journal.keys) == ["score", "score", "trajectory", "trajectory"]


async def test_a_stop_raised_while_scoring_goes_through() -> None:
    def score(*_: object) -> float:
        raise BudgetStop("judge calls used up")

    with pytest.raises(BudgetStop):
        await make_rollout(ToldAgent(knows()), AnswersEnv(score)).attempt(ONE, SKILL, 0)


async def test_nothing_is_attempted_once_the_run_was_asked_to_stop() -> None:
    agent = ToldAgent(knows())

    def go_on() -> None:
        if len(agent.tried) == 2:
            raise Interrupted("asked to stop")

    rollout = make_rollout(agent, concurrency=1, go_on=go_on)
    with pytest.raises(Interrupted):
        await rollout.batch(tasks(9), SKILL, "train")
    await rollout.executor.drain()
    assert agent.tried == ["t0", "t1"]


async def test_closing_a_stream_drops_what_has_not_started() -> None:
    agent = ToldAgent(knows())
    rollout = make_rollout(agent, concurrency=2)
    async with aclosing(rollout.stream([PlannedAttempt(task, SKILL) for task in tasks(50)], "val")) as attempts:
        async for _ in attempts:
            break
    await rollout.executor.drain()
    assert len(agent.tried) < 6


async def test_a_broken_journal_is_no_fault_of_the_attempt_and_is_raised() -> None:
    with pytest.raises(TimeoutError, match="the disk"):
        await make_rollout(ToldAgent(knows()), journal=BrokenJournal()).attempt(ONE, SKILL, 0)
