import asyncio

import pytest

from etude.config import Price
from etude.errors import BudgetStop, HandoffStop, RejectedRequest, RejectedRole, TransientError
from etude.events import CallFinished, Event, Notice
from etude.models import Metered
from etude.models.wrappers.metered import cost, least_tokens, prompt_bound
from etude.protocols import Spend
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    Opaque,
    Reply,
    ResponseSchema,
    Role,
    Tool,
    ToolCall,
    Usage,
    user,
)
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


@pytest.mark.parametrize("error", [TransientError("HTTP 500", hint="wait"), RejectedRequest("HTTP 400")])
async def test_a_failed_request_is_settled_without_a_bill(error: Exception):
    spend, events = FreeSpend(), list[Event]()
    model = Metered(ScriptedModel([error]), "judge", spend, None, events.append)
    with pytest.raises(type(error)):
        await model.complete(HELLO)
    assert (spend.settled, spend.abandoned) == ([Settlement(0, None, None)], [])
    (event,) = events
    assert isinstance(event, CallFinished)
    assert event.error == str(error).partition("\n")[0]


@pytest.mark.parametrize("error", [TransientError("429", rate_limited=True), RejectedRole("usage limit reached")])
async def test_a_request_that_the_server_turned_away_is_no_call(error: Exception):
    spend, events = FreeSpend(), list[Event]()
    model = Metered(ScriptedModel([error]), "target", spend, None, events.append)
    with pytest.raises(type(error)):
        await model.complete(HELLO)
    assert (spend.withdrawn, spend.settled, spend.abandoned, len(events)) == ([0], [], [], 1)


async def test_a_cancelled_request_keeps_its_bound_and_abandons_its_ticket():
    spend, events = FreeSpend(), list[Event]()

    async def forever(request: ChatRequest) -> Reply:
        await asyncio.Event().wait()
        return Reply()

    model = Metered(ScriptedModel(forever), "target", spend, None, events.append)
    task = asyncio.ensure_future(model.complete(HELLO))
    while not spend.reserved:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (spend.abandoned, spend.settled, events) == ([0], [], [])


async def test_a_question_that_nobody_has_answered_yet_is_no_call():
    spend, events = FreeSpend(), list[Event]()
    model = Metered(ScriptedModel([HandoffStop("wait")]), "target", spend, None, events.append)
    with pytest.raises(HandoffStop):
        await model.complete(HELLO)
    assert (spend.withdrawn, spend.settled, spend.abandoned, events) == ([0], [], [], [])


async def test_a_request_that_breaks_abandons_its_ticket_and_no_other():
    spend = FreeSpend()
    model = Metered(ScriptedModel(["fine", ValueError("a defect")]), "target", spend, None, lambda event: None)
    await model.complete(HELLO)
    with pytest.raises(ValueError, match="a defect"):
        await model.complete(HELLO)
    assert (spend.abandoned, [settled.ticket for settled in spend.settled]) == ([1], [0])


async def test_a_failed_request_costs_nothing_where_the_price_is_known():
    spend = FreeSpend()
    model = Metered(ScriptedModel([TransientError("HTTP 500")]), "judge", spend, PRICE, lambda event: None)
    with pytest.raises(TransientError):
        await model.complete(HELLO)
    assert spend.settled == [Settlement(0, None, 0.0)]


async def test_without_a_price_money_is_unknown():
    spend = FreeSpend()
    usage = Usage(input_tokens=1, output_tokens=1)
    model = Metered(ScriptedModel([Reply(text="x", usage=usage)]), "target", spend, None, lambda event: None)
    await model.complete(HELLO)
    assert (spend.reserved[0].usd, spend.settled[0].usd) == (None, None)


async def test_an_answer_of_the_simulated_world_costs_nothing_unless_a_price_was_given():
    usage = Usage(input_tokens=1_000_000)
    for price, usd in ((None, 0.0), (PRICE, 2.0)):
        spend = FreeSpend()
        reply = Reply(usage=usage, simulated=True)
        await Metered(ScriptedModel([reply]), "target", spend, price, lambda event: None).complete(HELLO)
        assert spend.settled[0].usd == usd


async def test_a_reply_without_token_counts_is_estimated():
    spend = FreeSpend()
    call, thought = ToolCall(id="1", name="f", arguments="x" * 7), Opaque(format="chat", data="z" * 38)
    reply = Reply(text="y" * 5, tool_calls=(call,), opaque=thought)
    model = Metered(ScriptedModel([reply]), "target", spend, None, lambda event: None)
    expected = Usage(input_tokens=2, output_tokens=14)
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


async def test_a_reply_that_broke_off_is_paid_for():
    spend, events = FreeSpend(), list[Event]()
    usage = Usage(input_tokens=100, output_tokens=10)
    model = Metered(ScriptedModel([TransientError("broke off", usage=usage)]), "target", spend, PRICE, events.append)
    with pytest.raises(TransientError):
        await model.complete(HELLO)
    assert spend.settled == [Settlement(0, usage, (100 * 2 + 10 * 10) / 1e6)]
    (event,) = events
    assert isinstance(event, CallFinished)
    assert (event.error, event.usage) == ("broke off", usage)


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


def test_the_bound_counts_what_is_sent_back_unread():
    thought = Opaque(format="chat", data={"fields": {"reasoning_content": "x" * 200}})
    turns = (*HELLO.messages, Message(role="assistant", opaque=thought))
    assert prompt_bound(ChatRequest(messages=turns)) >= prompt_bound(HELLO) + 100


@pytest.mark.parametrize(
    ("usage", "price", "dollars"),
    [
        (Usage(input_tokens=100, written_tokens=80), Price(input=4, output=0, cached=1), 20 * 4 + 80 * 5),
        (Usage(input_tokens=100, written_tokens=80, hour_tokens=80), Price(input=4, output=0), 20 * 4 + 80 * 8),
        (Usage(input_tokens=100, written_tokens=80, hour_tokens=30), Price(input=4, output=0), 80 + 50 * 5 + 30 * 8),
        (Usage(input_tokens=100, written_tokens=80), Price(input=4, output=0, written=4.5), 20 * 4 + 80 * 4.5),
        (Usage(input_tokens=100, written_tokens=80, hour_tokens=80), Price(input=4, output=0, written=0), 20 * 4),
        (
            Usage(input_tokens=100, cached_tokens=10, written_tokens=80, output_tokens=2),
            Price(input=4, output=9, cached=1),
            10 * 4 + 10 * 1 + 80 * 5 + 2 * 9,
        ),
    ],
)
def test_writing_to_the_cache_has_a_price_of_its_own(usage: Usage, price: Price, dollars: float):
    assert cost(usage, price) == pytest.approx(dollars / 1e6)


def test_cached_tokens_cost_the_input_price_when_no_other_is_known():
    usage = Usage(input_tokens=10, output_tokens=0, cached_tokens=10)
    assert cost(usage, Price(input=3, output=0)) == pytest.approx(30 / 1e6)
    assert cost(usage, Price(input=3, output=0, cached=0)) == 0
    assert cost(Usage(input_tokens=1, cached_tokens=2), Price(input=1, output=0)) == pytest.approx(2 / 1e6)


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


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        (WORDS, Usage(input_tokens=len(WORDS.split()), output_tokens=1)),
        (CHINESE, Usage(input_tokens=len(CHINESE) // 2, output_tokens=1)),
        ("    " * 10_000 + "x", Usage(input_tokens=20, output_tokens=1)),
        ("=" * 40_000, Usage(input_tokens=600, output_tokens=1)),
        ("A short question.", Usage(input_tokens=1, output_tokens=1)),
        (WORDS, Usage(output_tokens=1)),
        (WORDS, Usage()),
        (WORDS, Usage(input_tokens=90, output_tokens=1, cached_tokens=80)),
    ],
)
async def test_a_prompt_that_may_be_whole_is_not_doubted(text: str, usage: Usage):
    assert await notices(text, usage) == []


async def test_what_the_simulated_world_counts_is_not_doubted():
    assert await notices(WORDS, Usage(input_tokens=9, output_tokens=1), simulated=True) == []


async def test_pictures_and_the_form_of_the_answer_are_no_part_of_what_a_prompt_has_at_least():
    picture = ImagePart(url="data:image/png;base64," + "A" * 100_000)
    schema = ResponseSchema(name="x", body={"description": "y z " * 9_000})
    request = ChatRequest(messages=(Message(role="user", content=(picture,)),), response_schema=schema)
    assert least_tokens(request) == 0
