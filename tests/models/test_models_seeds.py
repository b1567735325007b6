"""Whether the trial reaches the model, as the person is told."""

from pathlib import Path
from typing import Any

import pytest

from etude.build import open_workbench
from etude.config import make_config
from etude.envs import ListEnvironment
from etude.events import Event, Notice
from etude.protocols import Sink
from etude.simulation import make_tasks


@pytest.mark.parametrize(
    ("target", "warned"),
    [
        ({"model": "openai:m", "api": "responses"}, True),
        ({"model": "openai:m"}, False),
        ({"model": "openai:m", "api": "responses", "temperature": 1}, False),
        ({"model": "adapter:anthropic:m"}, True),
        ({"model": "adapter:openai-chat:m"}, False),
        ({"model": "anthropic:m"}, True),
    ],
)
async def test_a_run_warns_where_no_seed_makes_a_second_trial_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, Any], warned: bool
):
    if target["model"].startswith("adapter:"):
        pytest.importorskip("pydantic_ai", reason="the extra 'providers' is not installed")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    tasks = make_tasks("sorting", 12, seed=1)
    env = ListEnvironment(tasks[:4], tasks[4:8], tasks[8:], scorer="exact")
    settings = {"target": {"temperature": 0, **target}, "test": {"trials": 2}, "run": {"folder": str(tmp_path)}}
    said: list[Event] = []
    async with open_workbench(make_config(settings), {"env": env, "sinks": [Told(said)]}):
        pass
    warning = "at temperature 0 and without a seed, further attempts at a task tell nothing new: test.trials = 2"
    assert (warning in [event.text for event in said if isinstance(event, Notice)]) == warned


class Told(Sink):
    """Remembers what it is told."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def emit(self, event: Event) -> None:
        self.events.append(event)
