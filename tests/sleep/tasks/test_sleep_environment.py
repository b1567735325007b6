from collections.abc import Sequence
from typing import Any

import pytest

from etude.envs.scorers.checks import Check, ChecksOptions
from etude.envs.scorers.rubric import Grade
from etude.errors import BoundaryError, DataError
from etude.records import Message, Score, Task, ToolCall, Trajectory
from etude.sleep.tasks.environment import NightEnvironment, SlowPattern
from etude.sleep.tasks.mined import MinedTask
from etude.testing import EnvironmentContract
from etude.timed_regex import Matcher

SHORT = Check(op="max_chars", arg=20)


class Half:
    """Grades everything 0.5."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, messages: Sequence[Message], reply_type: type[Grade]) -> Grade:
        self.asked.append(messages[-1].text)
        return reply_type(score=0.5, reason="half of it is there")

    def fingerprint(self) -> str:
        return "half"


def mined(name: str, **fields: Any) -> MinedTask:
    return MinedTask(**{"id": name, "intent": f"Do the thing {name}.", **fields})


def night() -> list[MinedTask]:
    return [
        mined("a", checks=(SHORT,), exact=("yes",)),
        mined("b", exact=("no",), split="val"),
        mined("c", exact=("no",), split="test"),
    ]


class TestNight(EnvironmentContract):
    def make_environment(self) -> NightEnvironment:
        return NightEnvironment(night())

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=answer) for answer in ("yes", "no")]


async def test_all_criteria_of_a_task_apply_and_soft_is_their_mean() -> None:
    judge = Half()
    checks = (SHORT, Check(op="contains", arg="y"), Check(op="regex", arg="[0-9]", requirement="it has a number"))
    env = NightEnvironment([mined("a", checks=checks, exact=("yes",), rubric="It is kind.")], lambda: judge)
    (task,) = env.tasks("train")
    score = await env.score(task, Trajectory(answer="Yes"))
    assert (score.hard, score.soft) == (0, pytest.approx((2 / 3 + 0.5 + 1) / 3))
    assert score.feedback == ("1 of 3 requirements not met: it has a number; graded 0.5: half of it is there")
    assert "Do the thing a." in judge.asked[0]
    assert "It is kind." in judge.asked[0]
    assert "regex" not in judge.asked[0]


async def test_a_task_is_solved_when_every_kind_of_criteria_is_met() -> None:
    env = NightEnvironment(
        [mined("a", checks=(SHORT,), exact=("yes",), rubric="It is kind.")],
        Half,
        options=ChecksOptions(threshold=0.5),
    )
    score = await env.score(env.tasks("train")[0], Trajectory(answer="yes"))
    assert (score.hard, score.soft) == (1, pytest.approx(2.5 / 3))


async def test_real_tool_calls_count() -> None:
    env = NightEnvironment([mined("a", checks=(Check(op="tool_called", arg="search"),))])
    (task,) = env.tasks("train")
    call = Message(role="assistant", tool_calls=(ToolCall(id="1", name="search", arguments="{}"),))
    assert (await env.score(task, Trajectory(answer="x", messages=(call,)))).hard == 1
    assert (await env.score(task, Trajectory(answer="tool_call: search"))).hard == 0
    assert task.data == {"tools": ["search"]}


async def test_an_empty_answer_meets_nothing_and_is_shown_to_nobody() -> None:
    judge = Half()
    env = NightEnvironment([mined("a", rubric="It is kind.", checks=(SHORT,))], lambda: judge)
    assert await env.score(env.tasks("train")[0], Trajectory(answer=" ")) == Score(
        hard=0, soft=0, feedback="there is no answer"
    )
    assert judge.asked == []


@pytest.mark.parametrize("op", ["regex", "not_regex"])
async def test_an_answer_at_which_a_mined_pattern_does_not_end_has_no_score_and_names_the_task(op: str) -> None:
    checks = (Check.model_validate({"op": op, "arg": "(a+)+$"}),)
    tasks = [mined("a", checks=checks, rubric="It is kind.", night=1)]
    env = NightEnvironment(tasks, Half, options=ChecksOptions(seconds=0.1))
    with pytest.raises(SlowPattern, match=r"task 'a': .*no result after") as stop:
        await env.score(env.tasks("train")[0], Trajectory(answer="a" * 60 + "!"))
    assert stop.value.task == "a"


async def test_a_slow_pattern_that_a_person_wrote_leaves_no_score() -> None:
    checks = (Check(op="regex", arg="(a+)+$"),)
    env = NightEnvironment([mined("a", checks=checks)], options=ChecksOptions(seconds=0.1))
    with pytest.raises(BoundaryError, match="no result after"):
        await env.score(env.tasks("train")[0], Trajectory(answer="a" * 60 + "!"))


async def test_a_matcher_that_broke_leaves_no_score_and_is_no_slow_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> object:
        raise ChildProcessError("the process died")

    monkeypatch.setattr(Matcher, "_ask", broken)
    env = NightEnvironment([mined("a", checks=(Check(op="regex", arg="a+"),), night=1)])
    with pytest.raises(BoundaryError, match="the process died"):
        await env.score(env.tasks("train")[0], Trajectory(answer="a"))


async def test_a_task_of_another_environment_has_no_score() -> None:
    with pytest.raises(DataError, match="task 'x': gold 'yes' is neither"):
        await NightEnvironment(night()).score(Task(id="x", input="i", gold="yes"), Trajectory(answer="yes"))


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([mined("a", exact=("x",)), mined("a", exact=("x",), intent="Another wish.")], "duplicate task ids: 'a'"),
        (
            [
                mined("a", exact=("x",), intent="One wish, twice."),
                mined("b", exact=("x",), intent="one WISH,  twice.", split="test"),
            ],
            "is in two splits: train 'a' = test 'b'",
        ),
    ],
)
def test_tasks_that_are_not_apart_are_refused(tasks: list[MinedTask], message: str) -> None:
    with pytest.raises(DataError) as error:
        NightEnvironment(tasks)
    assert message in str(error.value)


def test_a_rubric_needs_a_judge() -> None:
    with pytest.raises(DataError, match="task 'a' has a rubric, but there is no model to judge it"):
        NightEnvironment([mined("a", rubric="It is kind.")])


def test_the_judge_is_part_of_the_fingerprint_only_where_it_grades() -> None:
    graded = [*night(), mined("d", rubric="It is kind.")]
    assert NightEnvironment(night()).fingerprint() == NightEnvironment(night(), Half).fingerprint()
    assert NightEnvironment(graded, Half).fingerprint() != NightEnvironment(night(), Half).fingerprint()
    assert not NightEnvironment(night()).repeatable
