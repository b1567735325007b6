import pytest

from etude.config import ModelSection
from etude.errors import ConfigError
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, user
from etude.simulation import make_tasks, respond


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


async def test_without_a_seed_every_trial_is_the_same():
    model = a_model(send_seed=False)
    replies = [await model.complete(request) for request in requests(seed=3)]
    assert replies == [respond("target", request) for request in requests()]
    assert model.fingerprint() != a_model().fingerprint()


def test_an_unknown_name_is_a_config_error():
    with pytest.raises(ConfigError, match="'targt'"):
        SimulatedModel("targt", ModelSection(model="simulated:targt"))
