"""Policies of other packages, and whose option is whose."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from etude import ListEnvironment, Skill, Task, Trainer, make_config
from etude.errors import ConfigError, IdentityError
from etude.published.paper import PaperSearch
from etude.published.rewrite_first import RewriteFirstSearch
from etude.records import TrainState
from etude.searches import Known, Most, Search, SearchOptions, policy_of
from etude.searches.evidence import EvidenceSearch
from etude.stages.evaluation import evaluate
from etude.testing import ScriptedModel, SearchContract
from etude.workbench import Workbench
from rows import rows

TASKS = [Task(id=f"t{number}", input=f"Task {number}.", gold="yes") for number in range(6)]


class FixedOptions(SearchOptions):
    line: str = "Say yes."
    repeats: int = Field(default=1, ge=1)


class FixedSearch(Search):
    """Adds a line that the settings name, and never asks why."""

    options_type = FixedOptions

    def __init__(self, bench: Workbench, options: FixedOptions) -> None:
        super().__init__(bench, options)
        self._options = options

    @classmethod
    def most(cls, known: Known, options: FixedOptions) -> Most:
        return Most(known.tasks["val"])

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        skill = state.current.with_text(state.current.text + self._options.repeats * f"{self._options.line}\n")
        yield state.model_copy(update={"step": state.step + 1, "current": skill, "best": skill})

    async def finish(self, state: TrainState) -> TrainState:
        val = await evaluate(self._bench.rollout, state.best, self._bench.tasks["val"], "val")
        return state.model_copy(update={"best_val": val})


class TestFixedSearch(SearchContract):
    search = FixedSearch


class TestEvidence(SearchContract):
    search = EvidenceSearch


class TestPaper(SearchContract):
    search = PaperSearch


class TestRewriteFirst(SearchContract):
    search = RewriteFirstSearch


def settings(folder: Path, **search: Any) -> dict[str, Any]:
    return {
        "train": {"epochs": 1},
        "search": {"policy": f"{__name__}:FixedSearch", **search},
        "test": {"enabled": False},
        "env": {"allow_constant_gold": True},
        "run": {"folder": str(folder)},
    }


def run(folder: Path, **search: Any):
    target = ScriptedModel(lambda request: "yes" if "Say yes." in request.messages[0].text else "no")
    env = ListEnvironment(TASKS[:4], TASKS[4:], scorer="exact")
    optimizer = ScriptedModel(lambda request: "")
    given = {"env": env, "target": target, "optimizer": optimizer, "skill": Skill(text="Be brief.\n")}
    return Trainer(settings(folder, **search), **given).train()


def test_its_options_are_part_of_the_identity_and_a_default_that_is_written_down_is_not_another_one(
    tmp_path: Path,
) -> None:
    run(tmp_path)
    run(tmp_path, repeats=1)
    with pytest.raises(IdentityError, match="search"):
        run(tmp_path, repeats=3)


@rows(
    ("search", "what", "hint"),
    [
        ({"policy": "paper", "failures": 3}, "search.failures is an option of search.policy = 'evidence'", "leave"),
        ({"failurs": 3}, "search: unknown key 'failurs'", "did you mean 'failures'?"),
        ({"failures": 0}, "search: failures = 0:", "change 'failures'"),
        ({"policy": "evidnce"}, "unknown search policy 'evidnce'", "did you mean 'evidence'"),
        ({"policy": "builtins:dict"}, "search policy 'builtins:dict'", "what it needs"),
    ],
)
def test_an_option_that_the_policy_does_not_have_is_an_error(search: dict[str, Any], what: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        policy_of(make_config({"search": search}))
    assert what in error.value.message
    assert error.value.hint.startswith(hint)
