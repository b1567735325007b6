"""The gate: strictly better is accepted, and racing never changes the verdict."""

import asyncio
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import AnswersEnv, ToldAgent, evaluation, knows, make_rollout, tasks

from etude.config import GateSection
from etude.errors import VoidStop
from etude.published.gate import Race, decide, reason_not_to_evaluate
from etude.published.options import PaperOptions
from etude.records import Evaluation, GateResult, Score, Skill, Task
from memory_doubles import MemoryJournal
from rows import rows

scores = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3, 0.1])
maybe = st.one_of(scores, st.none())


def full(bar: list[float | None], values: list[float | None]) -> bool:
    """The published rule over the tasks scored under both skills: a strictly higher mean."""
    pairs = [(b, v) for b, v in zip(bar, values, strict=True) if b is not None and v is not None]
    return sum((Fraction(v) - Fraction(b) for b, v in pairs), Fraction(0)) > 0


def run(bar: list[float | None], values: list[float | None], order: list[int]) -> Race:
    race = Race(bar)
    for index in order:
        if race.lost_after is not None:
            break
        race.add(index, values[index], f"a-{index}")
    return race


@given(st.lists(st.tuples(maybe, maybe), max_size=12), st.randoms())
def test_the_verdict_does_not_depend_on_the_order_of_arrival(rows, rng: random.Random) -> None:
    bar, values = [row[0] for row in rows], [row[1] for row in rows]
    order = list(range(len(rows)))
    in_order = run(bar, values, order).verdict()
    rng.shuffle(order)
    shuffled = run(bar, values, order)
    # More may have arrived than the prefix that decides: the verdict is still that prefix's.
    for index in order:
        if index not in shuffled._seen:
            shuffled.add(index, values[index], f"a-{index}")
    assert shuffled.verdict() == in_order


def test_a_void_leaves_no_room_for_what_its_task_could_have_gained() -> None:
    race = Race([0.5, 1.0])
    race.add(0, None, "a-1")
    assert race.lost_after == 1


def test_random_races_agree_with_full_validation() -> None:
    rng = random.Random(5)
    early = 0
    for _ in range(300):
        n = rng.randint(1, 60)
        p, q = rng.random(), rng.random()
        bar = [float(rng.random() < p) for _ in range(n)]
        values = [float(rng.random() < q) for _ in range(n)]
        order = list(range(n))
        rng.shuffle(order)
        race = run(bar, values, order)
        assert race.verdict().accepted == full(bar, values)
        early += race.prefix < n
    assert early > 30


OLD, NEW = Skill(text="old"), Skill(text="new")


def soft_env(values: Mapping[str, tuple[float, float]]) -> AnswersEnv:
    """Scores a task with the (hard, soft) given for it."""
    return AnswersEnv(lambda task, _: Score(hard=values[task.id][0], soft=values[task.id][1]))


Bar = Mapping[str, float | None]


async def decided(
    agent: ToldAgent, bar: Bar, rule: GateSection | None = None, journal: MemoryJournal | None = None, **more: Any
) -> GateResult:
    """The decision on NEW, at as many tasks as `bar` has or `count` says. Further keywords are options."""
    count, limits = more.pop("count", len(bar)), {key: more.pop(key) for key in LIMITS & more.keys()}
    rollout = make_rollout(agent, more.pop("env", None), journal=journal, **limits)
    result = await decide(rollout, NEW, evaluation(bar), tasks(count), rule or GateSection(), PaperOptions(**more))
    await rollout.executor.drain()
    return result


LIMITS = {"concurrency", "max_void_eval"}
LOST = "could no longer win after {} tasks"


@pytest.mark.parametrize(
    ("solved", "bar", "options", "accepted", "reason", "tried"),
    [
        # Strictly better; equal; a race that is lost; a perfect skill; without racing; with the gate off.
        (["t0", "t1"], {"t0": 1, "t1": 0, "t2": 0}, {}, True, "candidate 0.6667 > current 0.3333", 3),
        (["t1"], {"t0": 1, "t1": 0}, {}, False, "candidate 0.5000 = current 0.5000", 2),
        ([], {"t0": 0, "t1": 0, "t2": 1, "t3": 1}, {}, False, LOST.format("2 of 4"), 2),
        (["t0", "t1"], {"t0": 1, "t1": 1}, {}, False, LOST.format("0 of 2"), 0),
        ([], {"t0": 1, "t1": 0, "t2": 0}, {"racing": False}, False, "candidate 0.0000 < current 0.3333", 3),
        ([], {"t0": 1, "t1": 1, "t2": 0}, {"gate": False}, True, "gate off: candidate 0.0000 < current 0.6667", 3),
    ],
)
async def test_a_candidate_is_accepted_if_its_mean_is_strictly_higher(
    solved: list[str], bar: Bar, options: dict[str, bool], accepted: bool, reason: str, tried: int
) -> None:
    agent = ToldAgent(knows(*solved))
    result = await decided(agent, bar, concurrency=1, **options)
    assert (result.verdict.accepted, result.verdict.reason) == (accepted, reason)
    assert tried <= len(agent.tried) <= tried + (0 < tried < len(bar)), (
        "one may have been sent when the race was lost"
    )
    if tried < len(bar):
        assert (result.verdict.decided_after, result.verdict.candidate, result.evaluation) == (tried, None, None)
    else:
        assert result.evaluation is not None
        assert (result.evaluation.skill_hash, result.evaluation.split) == (NEW.hash, "val")
        assert result.evaluation.values("hard") == {name: float(name in solved) for name in bar}


def test_nothing_to_compare_is_a_rejection_and_a_void_is_named_and_not_compared() -> None:
    assert not run([None], [1.0], [0]).verdict().accepted
    verdict = run([0.0, 0.0], [None, 1.0], [0, 1]).verdict()
    assert (verdict.accepted, verdict.compared, verdict.voids) == (True, 1, ("a-0",))


@pytest.mark.parametrize(
    ("gate", "accepted"),
    [
        (GateSection(metric="hard"), False),
        (GateSection(metric="soft"), True),
        (GateSection(metric="mixed"), True),
        (GateSection(metric="mixed", mixed_weight=0), False),
        (GateSection(metric="mixed", mixed_weight=0.1), False),
    ],
)
async def test_the_metric_decides_what_is_compared(gate: GateSection, accepted: bool) -> None:
    # Against (hard, soft) of (0, 0) and (1, 0.5): one task lost, two answers much nearer.
    env = soft_env({"t0": (0.0, 0.9), "t1": (0.8, 0.8)})
    bar = Evaluation(
        skill_hash=OLD.hash, split="val", scores={"t0": (Score(hard=0, soft=0),), "t1": (Score(hard=1, soft=0.5),)}
    )
    result = await decide(make_rollout(ToldAgent(knows()), env), NEW, bar, tasks(2), gate, PaperOptions())
    assert result.verdict.accepted == accepted


@pytest.mark.parametrize(
    ("gate", "current"),
    [
        (GateSection(metric="hard"), 0.0),
        (GateSection(metric="soft"), 0.8),
        (GateSection(metric="mixed", mixed_weight=0.25), 0.2),
    ],
)
async def test_the_metric_holds_for_the_skill_to_beat_as_well(gate: GateSection, current: float) -> None:
    bar = Evaluation(skill_hash=OLD.hash, split="val", scores={"t0": (Score(hard=0, soft=0.8),)})
    rollout = make_rollout(ToldAgent(knows()), soft_env({"t0": (0.0, 0.5)}))
    verdict = (await decide(rollout, NEW, bar, tasks(1), gate, PaperOptions())).verdict
    assert (verdict.accepted, verdict.current) == (False, pytest.approx(current))


async def test_tasks_without_a_score_under_the_current_skill_are_attempted_but_not_compared() -> None:
    agent = ToldAgent(knows("t1"))
    verdict = (await decided(agent, {"t0": 0}, count=2, racing=False)).verdict
    assert (verdict.accepted, verdict.compared, sorted(agent.tried)) == (False, 1, ["t0", "t1"])


async def test_a_verdict_is_a_fact_that_resuming_repeats_without_asking_anybody() -> None:
    journal, bar = MemoryJournal(), {"t0": 1, "t1": 0, "t2": 0}
    voids = ToldAgent(lambda task, *_: OSError("gone") if task.id == "t2" else str(task.gold))
    first = await decided(voids, bar, journal=journal, max_void_eval=0.5)
    agent, env = ToldAgent(knows("t0", "t1", "t2")), AnswersEnv()
    assert await decided(agent, bar, journal=journal, env=env) == first
    assert (agent.tried, env.scored) == ([], [])


async def test_another_rule_is_another_verdict() -> None:
    journal = MemoryJournal()
    for gate, gated in ((GateSection(), True), (GateSection(), False), (GateSection(metric="soft"), True)):
        await decided(ToldAgent(knows()), {"t0": 1, "t1": 0}, gate, journal, gate=gated)
    assert [kind for kind, _ in journal.keys].count("decision") == 3


async def test_a_void_counts_within_the_deciding_prefix_only_whenever_it_comes() -> None:
    def slowly(void: str, late: bool) -> ToldAgent:
        async def attempting(task: Task, skill: Skill, trial: int) -> str:
            await asyncio.sleep(0.03 if task.id == "t0" and (late or void != "t0") else 0)
            if task.id == void:
                raise ConnectionError("gone")
            return "wrong"

        return ToldAgent(attempting)

    behind = await decided(slowly("t4", False), {"t0": 0, "t1": 1, "t2": 1, "t3": 1, "t4": 1}, concurrency=5)
    assert (behind.verdict.decided_after, behind.verdict.voids) == (1, ())
    for late in (False, True):
        with pytest.raises(VoidStop) as stop:
            await decided(slowly("t0", late), {"t0": 0, "t1": 0, "t2": 1, "t3": 1}, concurrency=4)
        assert stop.value.message == (
            "1 of 4 val attempts errored; the last one (t0): agent 'told': ConnectionError: gone"
        )
        assert "limits.max_void_eval" in stop.value.hint


CURRENT = Skill(text="old")


@rows(
    ("text", "rejected", "reason"),
    [
        ("new", set(), ""),
        ("old", set(), "no edit changed anything"),
        ("new", {Skill(text="new").hash}, "the same text was rejected before"),
        ("new", {Skill(text="other").hash}, ""),
        ("x" * 40, set(), ""),
        ("x" * 41, set(), "about 11 tokens, more than skill.max_tokens = 10"),
    ],
)
def test_a_candidate_is_paid_for_only_when_it_can_win(text: str, rejected: set[str], reason: str) -> None:
    assert reason_not_to_evaluate(Skill(text=text), CURRENT, rejected, 10) == reason
