"""The contract of agents. Inherit it in a test class and say how to make one."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence

import pytest

from etude.errors import RejectedRequest, TransientError
from etude.protocols import Agent, ChatModel
from etude.records import ChatRequest, Reply, Skill, Task, Trajectory, Usage, canonical
from etude.testing.doubles import Line, ScriptedModel

RULE = "Rule 7315: name the colour in lower case."
SKILL = Skill(text=f"---\nname: colours\ndescription: How to name colours.\n---\n{RULE}\n")
SECRET = "gold-4418-gold"


def _task(number: int) -> Task:
    return Task(id=f"t{number}", input=f"Which colour has item {number}?", gold=SECRET)


class AgentContract:
    """What every agent must do that attempts tasks by asking the target model.

    class TestMine(AgentContract):
        def make_agent(self, target): return MyAgent(target)
        def reply(self, answer): return f"My answer: {answer}"   # what the model says so that this is the answer
    """

    @abstractmethod
    def make_agent(self, target: ChatModel) -> Agent:
        """A new agent with the same settings each time."""
        raise NotImplementedError

    def reply(self, answer: str) -> str:
        """What the model says so that the agent's answer is `answer`."""
        return f"<answer>{answer}</answer>"

    def test_the_answer_of_the_model_becomes_the_answer_of_the_attempt(self) -> None:
        trajectory, _ = self._attempt(self.reply("red"))
        assert trajectory.answer == "red"
        assert trajectory.failure == ""

    def test_task_and_skill_reach_the_model_and_the_gold_answer_does_not(self) -> None:
        _, model = self._attempt(self.reply("red"))
        sent = _sent(model)
        assert RULE in sent
        assert _task(0).input in sent
        assert SECRET not in sent

    def test_what_happened_is_reported_without_the_gold_answer(self) -> None:
        trajectory, _ = self._attempt(self.reply("red"))
        assert trajectory.messages
        assert SECRET not in trajectory.model_dump_json()

    def test_a_trajectory_survives_being_stored(self) -> None:
        trajectory, _ = self._attempt(self.reply("r\u00e9d \U0001f534"))
        assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory

    def test_tokens_of_all_requests_are_counted(self) -> None:
        used = Usage(input_tokens=7, output_tokens=3)
        trajectory, model = self._attempt(Reply(text=self.reply("red"), usage=used))
        assert trajectory.usage.total == used.total * len(model.requests)

    def test_an_answer_of_the_simulated_world_is_marked(self) -> None:
        assert self._attempt(Reply(text=self.reply("red"), simulated=True))[0].simulated
        assert not self._attempt(self.reply("red"))[0].simulated

    @pytest.mark.parametrize(
        "reply", [Reply(text=""), Reply(text="I cannot do that.", finish="refusal")], ids=["empty", "refusal"]
    )
    def test_a_model_that_does_not_answer_is_the_fault_of_the_agent_and_no_error(self, reply: Reply) -> None:
        assert self._attempt(reply)[0].failure

    @pytest.mark.parametrize("error", [TransientError("503"), RejectedRequest("too long")])
    def test_a_failed_request_is_raised_and_never_a_trajectory(self, error: Exception) -> None:
        with pytest.raises(type(error)):
            self._attempt(error)

    def test_the_same_attempt_asks_the_same_and_another_trial_something_else(self) -> None:
        (_, first), (_, again), (_, other) = (self._attempt(self.reply("red"), trial) for trial in (0, 0, 1))
        assert first.requests == again.requests
        assert first.requests != other.requests

    def test_neither_two_tasks_nor_two_trials_have_a_seed_in_common(self) -> None:
        tried = [(0, 0), (1, 0), (0, 1)]
        models = [self._attempt(self.reply("red"), trial, task=_task(number))[1] for number, trial in tried]
        first, second, third = ({request.seed for request in model.requests} for model in models)
        assert None not in first
        assert first.isdisjoint(second | third)
        assert second.isdisjoint(third)

    def test_without_a_skill_the_task_is_attempted_all_the_same(self) -> None:
        trajectory, model = self._attempt(self.reply("red"), skill=Skill(text=""))
        assert trajectory.answer == "red"
        assert RULE not in _sent(model)

    def test_attempts_at_the_same_time_do_not_mix(self) -> None:
        async def answer(request: ChatRequest) -> str:
            shown = canonical(request.model_dump(mode="json"))
            number = next(number for number in range(8) if _task(number).input in shown)
            await asyncio.sleep((8 - number) / 1000)
            return self.reply(f"colour {number}")

        async def attempt_all() -> Sequence[Trajectory]:
            agent = self.make_agent(ScriptedModel(answer))
            return await asyncio.gather(*(agent.attempt(_task(number), SKILL, 0) for number in range(8)))

        assert [each.answer for each in asyncio.run(attempt_all())] == [f"colour {number}" for number in range(8)]

    def test_a_cancelled_attempt_ends(self) -> None:
        async def cancel() -> None:
            asked = asyncio.Event()

            async def hang(request: ChatRequest) -> str:
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError("the attempt went on")

            attempt = asyncio.create_task(self.make_agent(ScriptedModel(hang)).attempt(_task(0), SKILL, 0))
            await asyncio.wait_for(asked.wait(), 60)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(attempt, 60)

        asyncio.run(cancel())

    def test_the_fingerprint_is_the_same_for_the_same_agent_and_changes_with_the_model(self) -> None:
        one, same, other = (self.make_agent(ScriptedModel([], name=f"scripted:{name}")) for name in "aab")
        assert one.fingerprint() == same.fingerprint() != other.fingerprint()

    def test_the_look_before_anything_is_paid_for_asks_nobody(self) -> None:
        model = ScriptedModel([])
        self.make_agent(model).check_task(_task(0))
        assert model.requests == []

    def test_the_agent_has_a_name(self) -> None:
        assert self.make_agent(ScriptedModel([])).name

    def _attempt(
        self, line: Line, trial: int = 0, skill: Skill = SKILL, task: Task | None = None
    ) -> tuple[Trajectory, ScriptedModel]:
        model = ScriptedModel(lambda request: line)
        return asyncio.run(self.make_agent(model).attempt(task or _task(0), skill, trial)), model


def _sent(model: ScriptedModel) -> str:
    return "\n".join(message.text for request in model.requests for message in request.messages)
