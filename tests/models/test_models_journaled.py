import asyncio

import pytest

from etude.errors import TransientError
from etude.models import Journaled
from etude.records import ChatRequest, Reply, Usage, user
from etude.testing import ScriptedModel
from memory_doubles import MemoryJournal

HELLO = ChatRequest(messages=(user("Hello"),))


async def test_an_answered_request_is_not_sent_again():
    reply = Reply(text="Hi", usage=Usage(input_tokens=1, output_tokens=2))
    model, journal = ScriptedModel([reply]), MemoryJournal()
    assert await Journaled(model, journal).complete(HELLO) == reply
    assert await Journaled(model, journal).complete(HELLO) == reply
    assert len(model.requests) == 1


async def test_asked_twice_at_the_same_time_it_is_sent_once():
    model = ScriptedModel(["Hi"])
    journaled = Journaled(model, MemoryJournal())
    assert len({(await reply).text for reply in [asyncio.ensure_future(journaled.complete(HELLO))] * 2}) == 1
    await asyncio.gather(journaled.complete(HELLO), journaled.complete(HELLO))
    assert len(model.requests) == 1


async def test_another_seed_or_another_model_is_another_fact():
    journal = MemoryJournal()
    one, two = ScriptedModel(["a", "b"], name="m:one"), ScriptedModel(["c"], name="m:two")
    seeded = HELLO.model_copy(update={"seed": 1})
    replies = [
        await Journaled(one, journal).complete(HELLO),
        await Journaled(one, journal).complete(seeded),
        await Journaled(two, journal).complete(HELLO),
    ]
    assert [reply.text for reply in replies] == ["a", "b", "c"]
    kind, key = journal.keys[1]
    assert (kind, key) == ("reply", {"model": one.fingerprint(), "request": seeded.model_dump(mode="json")})


async def test_an_unusable_answer_is_a_fact_and_a_failure_is_none():
    journal = MemoryJournal()
    model = ScriptedModel([TransientError("HTTP 500"), Reply(finish="length")])
    with pytest.raises(TransientError):
        await Journaled(model, journal).complete(HELLO)
    assert (await Journaled(model, journal).complete(HELLO)).finish == "length"
    assert (await Journaled(model, journal).complete(HELLO)).finish == "length"
    assert len(model.requests) == 2
