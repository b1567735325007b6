"""References to pictures become pictures where a request is sent."""

import pytest

from etude.errors import DataError
from etude.models.wrappers.journaled import Pictured
from etude.records import ChatRequest, ImagePart, Message, TextPart, user
from etude.testing.doubles import ScriptedModel


def looking(*urls: str) -> ChatRequest:
    parts = (*(ImagePart(url=url) for url in urls), TextPart(text="What is this?"))
    return ChatRequest(messages=(user("Look."), Message(role="user", content=parts)), seed=3)


async def test_every_picture_is_put_in_its_place_and_the_rest_stays() -> None:
    model = ScriptedModel(["a cat"])
    reply = await Pictured(model, lambda reference: f"data:{reference}").complete(looking("a", "b", "a"))
    assert reply.text == "a cat"
    assert model.requests == [looking("data:a", "data:b", "data:a")]


async def test_a_picture_that_is_gone_is_an_error_and_nothing_is_sent() -> None:
    def gone(_: str) -> str:
        raise DataError("gone")

    model = ScriptedModel([])
    with pytest.raises(DataError, match="gone"):
        await Pictured(model, gone).complete(looking("a"))
    assert model.requests == []
