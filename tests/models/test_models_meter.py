import asyncio

import pytest

from etude.config import Price
from etude.errors import BudgetStop, HandoffStop, ModelError, RejectedRequest, RejectedRole, TransientError
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
from rows import rows

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


BROKEN, FAILED = TransientError("HTTP 500", hint="wait"), RejectedRequest("HTTP 400")
BROKE_OFF = TransientError("broke off", usage=Usage(input_tokens=100, output_tokens=10))
CALL, THOUGHT = ToolCall(id="1", name="f", arguments="x" * 7), Opaque(format="chat", data="z" * 38)


def reply(text: str = "y" * 5, *, simulated: bool = False, **usage: int) -> Reply:
    return Reply(text=text, usage=Usage(**usage), simulated=simulated)


@pytest.mark.parametrize(
    ("line", "price", "usage", "usd"),
    [
        (BROKEN, None, None, None),
        (FAILED, None, None, None),
        (BROKEN, PRICE, None, 0.0),
        (BROKE_OFF, PRICE, BROKE_OFF.usage, (100 * 2 + 10 * 10) / 1e6),
        (reply(input_tokens=1, output_tokens=1), None, Usage(input_tokens=1, output_tokens=1), None),
        (reply("", simulated=True, input_tokens=10**6), None, Usage(input_tokens=10**6), 0.0),
        (reply("", simulated=True, input_tokens=10**6), PRICE, Usage(input_tokens=10**6), 2.0),
        # what a bill leaves out is estimated: neither side is free
        (
            Reply(text="y" * 5, tool_calls=(CALL,), opaque=THOUGHT),
            None,
            Usage(input_tokens=2, output_tokens=14),
            None,
        ),
        (reply(output_tokens=3), None, Usage(input_tokens=2, output_tokens=3), None),
        (reply(input_tokens=70), None, Usage(input_tokens=70, output_tokens=2), None),
        (reply(input_tokens=70, output_tokens=3), None, Usage(input_tokens=70, output_tokens=3), None),
    ],
)
async def test_a_request_that_was_sent_is_settled(
    line: Reply | ModelError, price: Price | None, usage: Usage | None, usd: float | None
):
    spend, events = FreeSpend(), list[Event]()
    model = Metered(ScriptedModel([line]), "judge", spend, price, events.append)
    if isinstance(line, Reply):
        assert (await model.complete(HELLO)).usage == usage
    else:
        with pytest.raises(type(line)):
            await model.complete(HELLO)
    assert (spend.settled, spend.abandoned, spend.withdrawn) == ([Settlement(0, usage, usd)], [], [])
    (event,) = events
    assert isinstance(event, CallFinished)
    error = line.message if isinstance(line, ModelError) else ""
    assert (event.error, event.usage, event.usd) == (error, usage or Usage(), usd)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TransientError("429", rate_limited=True), 1),
        (RejectedRole("usage limit reached"), 1),
        (HandoffStop("wait"), 0),  # nobody has answered the question yet
    ],
)
async def test_a_request_that_was_turned_away_is_no_call(error: Exception, told: int):
    spend, events = FreeSpend(), list[Event]()
    model = Metered(ScriptedModel([error]), "target", spend, None, events.append)
    with pytest.raises(type(error)):
        await model.complete(HELLO)
    assert (spend.withdrawn, spend.settled, spend.abandoned, len(events)) == ([0], [], [], told)


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


async def test_a_request_that_breaks_abandons_its_ticket_and_no_other():
    spend = FreeSpend()
    model = Metered(ScriptedModel(["fine", ValueError("a defect")]), "target", spend, None, lambda event: None)
    await model.complete(HELLO)
    with pytest.raises(ValueError, match="a defect"):
        await model.complete(HELLO)
    assert (spend.abandoned, [settled.ticket for settled in spend.settled]) == ([1], [0])


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
    unread = Opaque(format="chat", data={"fields": {"reasoning_content": "x" * 200}})
    assert prompt_bound(ChatRequest(messages=(Message(role="assistant", opaque=unread),))) >= 100


@rows(
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
        (Usage(input_tokens=10, cached_tokens=10), Price(input=3, output=0), 30),
        (Usage(input_tokens=10, cached_tokens=10), Price(input=3, output=0, cached=0), 0),
        (Usage(input_tokens=1, cached_tokens=2), Price(input=1, output=0), 2),
    ],
)
def test_the_cache_has_prices_of_its_own_for_reading_and_writing(usage: Usage, price: Price, dollars: float):
    assert cost(usage, price) == pytest.approx(dollars / 1e6)


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
