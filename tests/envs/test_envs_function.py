import asyncio
import functools
import threading
from concurrent.futures import CancelledError

import pytest

from etude.envs.function import FunctionEnvironment, environment
from etude.envs.gold import check_gold
from etude.envs.target import BlockingTarget, Target
from etude.errors import BoundaryError, DataError, TransientError
from etude.records import ChatRequest, Reply, Score, Skill, Task, ToolCall, Trajectory, Usage, system, user
from etude.testing.doubles import ScriptedModel
from etude.testing.environment import EnvironmentContract

TRAIN = [("2 + 2", "4"), ("one and 8", "9")]
VAL = [("5 less 3", "2")]
SKILL = Skill(text="Add well.")
TASK = Task(id="t", input="2 + 2", gold="4")


def made(function: object, **options: object) -> FunctionEnvironment:
    return environment(train=TRAIN, val=VAL, **options)(function)


async def attempted(function: object, script: object = ("4",), **options: object) -> tuple[Trajectory, Score]:
    env = made(function, **options)
    trajectory = await env.agent(ScriptedModel(script)).attempt(TASK, SKILL, 3)
    stored = Trajectory.model_validate_json(trajectory.model_dump_json())
    return trajectory, await made(function, **options).score(TASK, stored)


async def ask(task: Task, skill: Skill, target: Target) -> str:
    return await target.ask(task.input, system=skill.text)


def ask_blocking(task: Task, skill: Skill, target: BlockingTarget) -> str:
    return target.ask(task.input, system=skill.text)


class TestFunctionEnvironment(EnvironmentContract):
    def make_environment(self) -> FunctionEnvironment:
        return made(ask, scorer="exact")

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=str(task.gold)), Trajectory(answer="no")]


@pytest.mark.parametrize("function", [ask, ask_blocking, functools.partial(ask), functools.partial(ask_blocking)])
async def test_the_function_asks_the_target_with_task_skill_and_seed(function: object) -> None:
    model = ScriptedModel([Reply(text="4", usage=Usage(input_tokens=5, output_tokens=1), simulated=True)])
    trajectory = await made(function, scorer="exact", name="sums").agent(model).attempt(TASK, SKILL, 3)
    assert model.requests == [ChatRequest(messages=(system("Add well."), user("2 + 2")), seed=TASK.seed(3))]
    assert [message.text for message in trajectory.messages] == ["Add well.", "2 + 2", "4"]
    assert (trajectory.answer, trajectory.usage.total, trajectory.simulated) == ("4", 6, True)


async def test_a_function_that_asks_nobody_has_an_empty_answer() -> None:
    trajectory, score = await attempted(lambda task, skill, target: 1.0)
    assert (trajectory.answer, score.hard) == ("", 1)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned None; allowed: a score"),
        (("a", "b"), "returned 'b'; allowed: a Score or a number"),
        ((1, 2), r"returned \(1, 2\); allowed"),
        (1.5, "returned 1.5; a score is a number from 0 to 1"),
        (float("nan"), "returned nan; a score is a number"),
    ],
)
async def test_anything_else_is_the_functions_fault_and_never_a_score(returned: object, message: str) -> None:
    def sums(task: Task, skill: Skill, target: object) -> object:
        return returned

    with pytest.raises(BoundaryError, match=f"function 'sums': .*{message}"):
        await attempted(sums)


async def test_an_answer_without_a_score_needs_a_scorer() -> None:
    with pytest.raises(BoundaryError, match="return \\(answer, score\\), or set `scorer`"):
        await attempted(ask)


async def test_a_function_can_score_and_gold_is_checked_only_by_scorers() -> None:
    assert (await attempted(ask, scorer=lambda task, answer: 0.5))[1] == Score(hard=0.5, soft=0.5)
    for env in (made(ask), made(ask, scorer="exact")):
        await check_gold(env, env.tasks("train"))
    with pytest.raises(DataError, match="does not accept the gold answer"):
        await check_gold(made(ask, scorer="numeric"), [Task(id="1", input="i", gold="x")])


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_result_made_of_a_failed_request_is_void(blocking: bool) -> None:
    async def swallow(task: Task, skill: Skill, target: Target) -> float:
        try:
            await target.ask("go")
        except TransientError:
            return 0.0
        return 1.0

    def swallow_blocking(task: Task, skill: Skill, target: BlockingTarget) -> float:
        try:
            target.complete(ChatRequest(messages=(user("go"),)))
        except TransientError:
            return 0.0
        return 1.0

    with pytest.raises(TransientError, match="busy"):
        await attempted(swallow_blocking if blocking else swallow, [TransientError("busy")])


async def test_a_request_the_function_gave_up_on_makes_the_attempt_void() -> None:
    async def never(request: ChatRequest) -> str:
        await asyncio.Event().wait()
        return ""

    async def impatient(task: Task, skill: Skill, target: Target) -> float:
        try:
            await asyncio.wait_for(target.ask("go"), 0.001)
        except TimeoutError:
            return 0.0
        return 1.0

    with pytest.raises(BoundaryError, match="function 'impatient': CancelledError"):
        await attempted(impatient, never)


async def test_what_the_function_raises_is_raised() -> None:
    def broken(task: Task, skill: Skill, target: object) -> float:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await attempted(broken)


async def test_a_conversation_is_recorded_once_and_a_new_one_after_it() -> None:
    call = ToolCall(id="c", name="f", arguments="{}")

    async def talk(task: Task, skill: Skill, target: Target) -> float:
        request = ChatRequest(messages=(user("a"),), seed=9)
        await target.complete(request)
        await target.complete(ChatRequest(messages=(*target.messages, user("b"))))
        await target.ask("c")
        return 1.0

    model = ScriptedModel([Reply(text="1", tool_calls=(call,)), "2", "3"])
    trajectory = await made(talk).agent(model).attempt(TASK, SKILL, 0)
    assert [message.text for message in trajectory.messages[:-1]] == ["a", "1", "b", "2", "c", "3"]
    assert trajectory.messages[1].tool_calls == (call,)
    assert [request.seed for request in model.requests] == [9, TASK.seed(0), TASK.seed(0)]


async def test_a_cancelled_attempt_cancels_its_request_and_sends_no_other() -> None:
    asked, ended, fate = asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    async def hang(request: ChatRequest) -> str:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            fate.append("request cancelled")
            raise
        return ""

    def stubborn(task: Task, skill: Skill, target: BlockingTarget) -> float:
        for _ in range(2):
            try:
                target.ask("go")
            except CancelledError:
                fate.append("refused")
        ended.set()
        loop.call_soon_threadsafe(finished.set)
        return 1.0

    finished = asyncio.Event()
    model = ScriptedModel(hang)
    attempt = asyncio.create_task(made(stubborn).agent(model).attempt(TASK, SKILL, 0))
    await asked.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    await finished.wait()
    assert ended.is_set()
    assert sorted(fate) == ["refused", "refused", "request cancelled"]
    assert len(model.requests) == 1


async def test_a_request_under_way_to_the_loop_when_the_attempt_ends_is_not_sent() -> None:
    model = ScriptedModel(["4"])
    target = BlockingTarget(Target(model, 0), asyncio.get_running_loop())
    late = asyncio.create_task(target._send(lambda: target._target.ask("go")))
    target.close()
    with pytest.raises(CancelledError):
        await late
    assert model.requests == []


def test_fingerprints_depend_on_function_scorer_and_model() -> None:
    one, two = made(ask), made(ask_blocking)
    assert one.fingerprint() != two.fingerprint()
    assert one.fingerprint() != made(ask, scorer="exact").fingerprint()
    agents = [env.agent(ScriptedModel([], name=name)) for env in (one, two) for name in ("a", "b")]
    assert len({agent.fingerprint() for agent in agents}) == 4


def test_tasks_are_checked_when_first_asked_for() -> None:
    env = environment(train=list, val=VAL)(ask)
    with pytest.raises(DataError, match="the train split is empty"):
        env.tasks("train")
    assert made(ask).warnings == ()


async def test_the_function_gets_what_the_model_said_without_its_thoughts() -> None:
    trajectory, score = await attempted(ask, ["<think>Or <answer>5</answer>?</think>\n4"], scorer="exact")
    assert (trajectory.answer, trajectory.messages[-1].text, score.hard) == ("4", "4", 1)


@pytest.mark.parametrize("function", [ask, ask_blocking])
@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply(text="<think>It is 4"), "the reply is a thought that never ends"),
        (Reply(text_in="reasoning"), "the reply has no `content`, its text stood in `reasoning`: "),
        (Reply(finish="length"), "the reply was cut off at the token limit (target.max_output_tokens = 4096)"),
    ],
)
async def test_an_answer_that_the_model_did_not_give_is_a_failure(
    function: object, reply: Reply, failure: str
) -> None:
    trajectory, _ = await attempted(function, [reply], scorer="exact")
    assert trajectory.failure.startswith(failure)
