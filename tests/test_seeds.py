"""The same training with many seeds."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etude import make_config, train_seeds
from etude.config import ModelSection, TrainConfig
from etude.envs import ListEnvironment
from etude.errors import BudgetStop, ConfigError, StopRun
from etude.measure.seeds import SeedReport
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply, Skill
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks

TASKS = make_tasks("sorting", 18, seed=1)


class Counted(SimulatedModel):
    """Counts its answers."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ModelSection(model=f"simulated:{name}"))
        self.answered = 0

    async def complete(self, request: ChatRequest) -> Reply:
        self.answered += 1
        return await super().complete(request)


class World:
    """A small training in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target, self.optimizer = Counted("target"), Counted("optimizer")

    def config(self, **more: Any) -> TrainConfig:
        settings = {
            "run": {"folder": str(self.folder), "name": "small"},
            "train": {"epochs": 1},
            "test": {"no_skill": False},
            "limits": {"concurrency": 1},
        }
        return make_config({**settings, **more})

    @property
    def given(self) -> dict[str, Any]:
        return {
            "env": ListEnvironment(TASKS[:6], TASKS[6:12], TASKS[12:], scorer="exact"),
            "skill": Skill(name="everyday-tasks", text=SEED_SKILL),
            "target": self.target,
            "optimizer": self.optimizer,
        }

    def train(self, *seeds: int, **more: Any) -> SeedReport:
        return train_seeds(self.config(**more).model_dump(exclude_unset=True), seeds, **self.given)

    def summary(self, seed: int) -> Summary:
        return Summary.model_validate_json((self.folder / f"small-seed{seed}" / "summary.json").read_text())

    @property
    def answered(self) -> int:
        return self.target.answered + self.optimizer.answered


def scores(report: SeedReport) -> dict[str, Any]:
    """What does not depend on the folder, nor on how often it was started."""
    seeds = [seed.model_dump(exclude={"best", "calls"}) for seed in report.seeds]
    return {**report.model_dump(exclude={"file", "seeds"}), "seeds": seeds}


class Gathered(NamedTuple):
    world: World
    report: SeedReport
    answered: int


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    """Three seeds, trained once."""
    world = World(tmp_path_factory.mktemp("seeds"))
    report = world.train(1, 2, 3)
    return Gathered(world, report, world.answered)


def test_a_report_prints_as_one_line(gathered: Gathered) -> None:
    gain = gathered.report.gain
    assert gain is not None
    assert str(gathered.report) == f"<SeedReport 'small': {len(gathered.report.seeds)} seeds, gain {gain.mean:+.2f}>"


def test_attempts_with_the_initial_skill_are_paid_for_once(tmp_path: Path) -> None:
    both, second = World(tmp_path / "both"), World(tmp_path / "second")
    both.train(1, 2, search={"policy": "paper", "batch_size": 5})
    second.train(2, search={"policy": "paper", "batch_size": 5})
    baseline = 12  # validation and test
    alone = second.summary(2).cost.target_calls
    assert both.summary(2).cost.target_calls <= alone - baseline


def test_seeds_that_were_stopped_go_on_where_they_were(gathered: Gathered, tmp_path: Path) -> None:
    world = World(tmp_path / "stopped")
    world.train(1)
    with pytest.raises(BudgetStop) as caught:
        world.train(1, 2, 3, limits={"concurrency": 1, "calls": 1})
    assert caught.value.summary.name == "small-seed2"
    assert caught.value.hint.endswith("\nseed 2 stopped; done: 1; still to come: 3")
    assert not (tmp_path / "stopped" / "small-seed3").exists()
    report = world.train(1, 2, 3)
    assert scores(report) == scores(gathered.report)
    assert world.answered == gathered.answered


@pytest.mark.parametrize("seeds", [[], [1, 2, 1]])
def test_seeds_must_be_different_ones(seeds: list[int], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be one seed or several different ones"):
        World(tmp_path).train(*seeds)


def test_a_report_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "small-seeds.json").mkdir()
    with pytest.raises(StopRun, match=r"small-seeds.json' cannot be written: "):
        World(tmp_path).train(1)
