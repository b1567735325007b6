"""The contract of chat models. Inherit it in a test class and say how to make one."""

import asyncio
from abc import abstractmethod

from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, assistant, system, user

QUESTION = ChatRequest(messages=(system("Answer in one word."), user("Which colour has the sky?")))


class ChatModelContract:
    """What every chat model must do. Its endpoint must answer; start one in the test if need be.

    class TestMine(ChatModelContract):
        def make_model(self): return MyModel("small")
        def make_other_model(self): return MyModel("large")
    """

    @abstractmethod
    def make_model(self) -> ChatModel:
        """A new model with the same settings each time."""
        raise NotImplementedError

    @abstractmethod
    def make_other_model(self) -> ChatModel:
        """A model that may answer the same request otherwise."""
        raise NotImplementedError

    def test_a_question_is_answered(self) -> None:
        (reply,) = self._replies(QUESTION)
        assert reply.text or reply.tool_calls or reply.finish == "refusal"

    def test_an_answer_survives_being_stored(self) -> None:
        (reply,) = self._replies(QUESTION)
        assert Reply.model_validate_json(reply.model_dump_json()) == reply

    def test_conversations_with_a_trial_number_odd_text_or_no_system_message_are_answered(self) -> None:
        requests = (
            QUESTION.model_copy(update={"seed": 1}),
            ChatRequest(messages=(user("Which colour has \U0001f534, r\u00e9d?"),)),
            ChatRequest(messages=(*QUESTION.messages, assistant("Blue."), user("And at night?"))),
        )
        assert len(self._replies(*requests)) == len(requests)

    def test_many_questions_are_answered_at_the_same_time(self) -> None:
        assert len(self._replies(*[QUESTION.model_copy(update={"seed": trial}) for trial in range(8)])) == 8

    def test_the_fingerprint_is_the_same_for_the_same_model_and_tells_others_apart(self) -> None:
        assert self.make_model().fingerprint() == self.make_model().fingerprint()
        assert self.make_model().fingerprint() != self.make_other_model().fingerprint()

    def test_asking_does_not_change_the_fingerprint(self) -> None:
        async def ask() -> str:
            model = self.make_model()
            await model.complete(QUESTION)
            fingerprint = model.fingerprint()
            await model.aclose()
            return fingerprint

        assert asyncio.run(ask()) == self.make_model().fingerprint()

    def test_it_has_a_name_and_a_limit_that_budgets_can_reserve_for(self) -> None:
        model = self.make_model()
        assert model.name
        assert model.max_output_tokens >= 1

    def test_no_reply_is_longer_than_the_limit(self) -> None:
        (reply,) = self._replies(QUESTION)
        assert reply.usage.output_tokens <= self.make_model().max_output_tokens

    def test_it_can_be_closed_twice(self) -> None:
        async def close() -> None:
            model = self.make_model()
            await model.complete(QUESTION)
            await model.aclose()
            await model.aclose()

        asyncio.run(close())

    def _replies(self, *requests: ChatRequest) -> list[Reply]:
        async def ask() -> list[Reply]:
            model = self.make_model()
            try:
                return list(await asyncio.gather(*map(model.complete, requests)))
            finally:
                await model.aclose()

        return asyncio.run(ask())
