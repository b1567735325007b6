import pytest

from etude.config import Price
from etude.errors import BudgetStop
from etude.events import CallFinished, Event, Notice
from etude.models import Metered
from etude.models.wrappers.metered import least_tokens, prompt_bound
from etude.protocols import Spend
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, Role, Tool, ToolCall, Usage, user
from etude.testing import ScriptedModel
from memory_doubles import FreeSpend, Reservation, Settlement

HELLO = ChatRequest(messages=(user("Hello"),))
PRICE = Price(input=2, output=10, cached=0.5)


async def test_a_bound_is_reserved_and_the_bill_settles_it():
    spend, events = FreeSpend(), list[Event]()
    usage = Usage(input_tokens=100, output_tokens=10, cached_tokens=40)
    model = Metered(ScriptedModel([Reply(text="x", usage=usage)]), "target", spend, PRICE, events.append)
    assert (await model.complete(HELLO)).usage == usage
    assert spend.reserved == [Reservation("target", 3 + 8 + 4096, (11 * 2 + 4096 * 10) / 1e6)]
    assert spend.settled == [Settlement(0, usage, (60 * 2 + 40 * 0.5 + 10 * 10) / 1e6)]
    (event,) = events
    assert isinstance(event, CallFinished)
    assert (event.role, event.usage, event.error) == ("target", usage, "")
    assert event.seconds >= 0


async def test_without_a_price_money_is_unknown():
    spend = FreeSpend()
    usage = Usage(input_tokens=1, output_tokens=1)
    model = Metered(ScriptedModel([Reply(text="x", usage=usage)]), "target", spend, None, lambda event: None)
    await model.complete(HELLO)
    assert (spend.reserved[0].usd, spend.settled[0].usd) == (None, None)


async def test_a_reply_without_token_counts_is_estimated():
    spend = FreeSpend()
    call = ToolCall(id="1", name="f", arguments="x" * 7)
    model = Metered(
        ScriptedModel([Reply(text="y" * 5, tool_calls=(call,))]), "target", spend, None, lambda event: None
    )
    expected = Usage(input_tokens=2, output_tokens=4)
    assert (await model.complete(HELLO)).usage == expected
    assert spend.settled[0].usage == expected


@pytest.mark.parametrize(
    ("billed", "counted"),
    [
        (Usage(output_tokens=3), Usage(input_tokens=2, output_tokens=3)),
        (Usage(input_tokens=70), Usage(input_tokens=70, output_tokens=2)),
        (Usage(input_tokens=70, output_tokens=3), Usage(input_tokens=70, output_tokens=3)),
    ],
)
async def test_neither_side_of_a_bill_is_free(billed: Usage, counted: Usage):
    spend = FreeSpend()
    model = ScriptedModel([Reply(text="y" * 5, usage=billed)])
    await Metered(model, "target", spend, None, lambda event: None).complete(HELLO)
    assert spend.settled[0].usage == counted


async def test_what_does_not_fit_is_not_sent():
    class Empty(Spend):
        async def reserve(self, role: Role, tokens: int, usd: float | None) -> int:
            raise BudgetStop("limits.tokens = 1 is used up")

        async def settle(self, ticket: int, usage: Usage | None, usd: float | None) -> None:
            raise AssertionError("nothing was sent")

        def abandon(self, ticket: int) -> None:
            raise AssertionError("nothing was sent")

        def withdraw(self, ticket: int) -> None:
            raise AssertionError("nothing was reserved")

    model = ScriptedModel([])
    with pytest.raises(BudgetStop):
        await Metered(model, "target", Empty(), None, lambda event: None).complete(HELLO)
    assert model.requests == []


def test_the_bound_counts_all_that_is_sent():
    base = prompt_bound(HELLO)
    assert base == 3 + 8
    assert prompt_bound(ChatRequest(messages=(user("héé"),))) == 3 + 8
    two = ChatRequest(messages=(*HELLO.messages, Message(role="user", content=(ImagePart(url="data:,x"),))))
    assert prompt_bound(two) == base + 8 + 2000
    tool = Tool(name="f", parameters={"type": "object"})
    assert prompt_bound(HELLO.model_copy(update={"tools": (tool,)})) > base + 10
    schema = ResponseSchema(name="S", body={"type": "object"})
    assert prompt_bound(HELLO.model_copy(update={"response_schema": schema})) > base + 10
    called = Message(role="assistant", tool_calls=(ToolCall(id="1", name="ab", arguments="cd"),))
    assert prompt_bound(ChatRequest(messages=(*HELLO.messages, called))) == 5 + 16


WORDS = "The skill asks for a short answer without any further words about it. " * 300
CHINESE = "这个技能要求给出一个简短的答案，不要任何其他的话。" * 900
"""A tokenizer that knows it well takes it in pieces of two characters."""


async def notices(text: str, *counted: Usage, **fields: object) -> list[Notice]:
    events = list[Event]()
    replies = [Reply(text="x", usage=usage, **fields) for usage in counted]
    model = Metered(ScriptedModel(replies), "target", FreeSpend(), None, events.append)
    for _ in counted:
        await model.complete(ChatRequest(messages=(user(text),)))
    return [event for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize(
    ("text", "tokens"), [(WORDS, 2048), (WORDS, 128), (CHINESE, 2048), ("слово и дело " * 1500, 2048)]
)
async def test_a_prompt_that_its_server_cut_is_told_once_with_the_switch(text: str, tokens: int):
    (notice,) = await notices(text, *[Usage(input_tokens=tokens, output_tokens=1)] * 3)
    assert f"target: scripted:model counted {tokens:,} tokens of a prompt that has at least " in notice.text
    assert "Ollama: num_ctx, or OLLAMA_CONTEXT_LENGTH" in notice.hint


async def test_pictures_and_the_form_of_the_answer_are_no_part_of_what_a_prompt_has_at_least():
    picture = ImagePart(url="data:image/png;base64," + "A" * 100_000)
    schema = ResponseSchema(name="x", body={"description": "y z " * 9_000})
    request = ChatRequest(messages=(Message(role="user", content=(picture,)),), response_schema=schema)
    assert least_tokens(request) == 0
