"""Settings reach the part they are about: each is set to something else than its default, and the part is watched."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from etude import ListEnvironment, Skill, Task, Trainer
from etude.config import merge
from etude.errors import ConfigError, OutageStop, TransientError
from etude.executors.local import LocalExecutor
from etude.prompts import Prompts
from etude.records import ChatRequest
from etude.testing import ScriptedModel

TASKS = [Task(id=f"t{number}", input=f"Task {number}.", gold="yes") for number in range(10)]
WRONG = "x" * 1000
BASE: dict[str, Any] = {
    "env": {"allow_constant_gold": True},
    "search": {"policy": "paper", "batch_size": 8, "gate": False},
    "reflect": {"mode": "shallow"},
    "train": {"epochs": 2},
    "test": {"enabled": False},
}


class Optimizer(ScriptedModel):
    """Proposes two rules in every reading, different ones each time. `asked` are prompt and text of its calls."""

    def __init__(self) -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self.asked: list[tuple[str, str]] = []

    def _answer(self, request: ChatRequest) -> str:
        instructions, data = (message.text for message in request.messages)
        edits = [
            {
                "op": "append",
                "target": "",
                "content": f"Rule {len(self.asked)}{letter}.",
                "reason": "",
                "cites": cites,
            }
            for letter in "ab"
            if (cites := re.findall(r'<attempt id="([^"]+)"', data)[:1])
        ]
        answers = {
            "reflect_failures": {"edits": edits},
            "edit_budget": {"edit_budget": 2},
            "slow_update": {"guidance": "Go on."},
            "meta_skill": {"memory": "Short rules win."},
        }
        prompt = next(name for name in answers if instructions.startswith(Prompts()[name]))
        self.asked.append((prompt, instructions + data))
        return json.dumps({"reasoning": "why", **answers[prompt]})

    def texts(self, prompt: str) -> list[str]:
        return [text for name, text in self.asked if name == prompt]


def run(folder: Path, model: ScriptedModel | None = None, **config: Any) -> Optimizer:
    optimizer = Optimizer()
    Trainer(
        merge(merge(BASE, {"run": {"folder": str(folder)}}), config),
        env=ListEnvironment(TASKS[:8], TASKS[8:], scorer="exact"),
        skill=Skill(name="s", text="Answer.\n"),
        target=model or ScriptedModel(lambda request: WRONG, name="scripted:target"),
        optimizer=optimizer,
    ).train()
    return optimizer


BOTH: dict[str, Any] = {"search": {"slow_update": True, "slow_update_samples": 3, "meta_skill": True}}


@pytest.mark.parametrize(("limit", "cut"), [(300, True), (12_000, False)])
def test_the_longest_trajectory_shown_holds_at_the_end_of_an_epoch_too(tmp_path, limit: int, cut: bool) -> None:
    optimizer = run(tmp_path, reflect={"max_trajectory_chars": limit}, **BOTH)
    for prompt in ("slow_update", "meta_skill"):
        (text,) = optimizer.texts(prompt)
        assert ("characters left out ...]" in text) is cut


def test_the_memory_of_the_optimizer_is_shown_where_it_decides_the_edit_budget(tmp_path) -> None:
    optimizer = run(tmp_path, train={"epochs": 3}, search={"schedule": "autonomous", "meta_skill": True})
    # One step to an epoch; the memory is written at the end of the second.
    assert ["Short rules win." in text for text in optimizer.texts("edit_budget")] == [False, False, True]


def test_a_dead_endpoint_is_probed_no_longer_than_the_settings_say(tmp_path) -> None:
    target = ScriptedModel(lambda request: TransientError("gone"))
    with pytest.raises(OutageStop, match="has not answered"):
        run(tmp_path, target, limits={"outage_seconds": 0.001, "concurrency": 1})
    # Three seconds, which an endpoint that never answered has otherwise, are enough for at least six.
    assert len(target.requests) <= 3


class Telling(LocalExecutor):
    """Says what it was made with instead of being made."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, concurrency: int, where: str) -> Self:
        raise ConfigError(f"{where}: {sorted(options.items())}, concurrency {concurrency}")


def test_the_executor_is_the_one_that_is_named_with_its_options_and_the_limit_of_the_run(tmp_path) -> None:
    executor = {"name": f"{__name__}:Telling", "queue": "night", "workers": 3}
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, executor=executor, limits={"concurrency": 5})
    assert caught.value.message == "executor: [('queue', 'night'), ('workers', 3)], concurrency 5"
