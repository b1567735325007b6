import asyncio

import pytest

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.models.openai import OpenAIModel
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, user
from etude.simulation import make_tasks, respond
from etude.simulation.endpoint import running_endpoint


def a_model(**settings: bool | int) -> SimulatedModel:
    return SimulatedModel("target", ModelSection.model_validate({"model": "simulated:target", **settings}))


def requests(seed: int | None = None) -> list[ChatRequest]:
    tasks = make_tasks(None, 20, seed=1)
    return [ChatRequest(messages=(user(task.input),), seed=seed) for task in tasks]


async def test_it_answers_as_the_simulated_world_does_and_says_so():
    model = a_model()
    for request in requests(seed=3):
        reply = await model.complete(request)
        assert reply == respond("target", request)
        assert reply.simulated
        assert reply.usage.total > 0


async def test_over_http_the_simulated_world_answers_the_same():
    with running_endpoint() as endpoint:
        remote = OpenAIModel("target", ModelSection(model="openai:target", base_url=endpoint.url))
        for request in requests(seed=3)[:5]:
            reply = await remote.complete(request)
            assert reply == await a_model().complete(request)
        await remote.aclose()


async def test_without_a_seed_every_trial_is_the_same():
    model = a_model(send_seed=False)
    replies = [await model.complete(request) for request in requests(seed=3)]
    assert replies == [respond("target", request) for request in requests()]
    assert model.fingerprint() != a_model().fingerprint()


async def test_others_get_their_turn():
    seen: list[str] = []

    async def other() -> None:
        seen.append("other")

    task = asyncio.ensure_future(other())
    await a_model().complete(requests()[0])
    assert seen == ["other"]
    await task


def test_it_is_what_its_settings_say():
    model = a_model(max_output_tokens=5)
    assert (model.name, model.endpoint, model.max_output_tokens) == ("simulated:target", "this process", 5)


def test_an_unknown_name_is_a_config_error():
    with pytest.raises(ConfigError, match="'targt'"):
        SimulatedModel("targt", ModelSection(model="simulated:targt"))
