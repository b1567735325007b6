"""Training with an agent program over HTTP, on tasks whose answer belongs into a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude import Trainer
from etude.protocols import Environment
from etude.records import Score, Skill, Split, Task, Trajectory
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.endpoint import running_endpoint

SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)


@dataclass(frozen=True)
class FileTasks(Environment):
    """Tasks whose answer has to be in a file."""

    train: int = 2
    val: int = 1
    test: int = 2
    name: str = "files"
    family: str = "dates"
    seed: int = 5

    def tasks(self, split: Split) -> Sequence[Task]:
        sizes = {"train": self.train, "val": self.val, "test": self.test}
        start = sum(list(sizes.values())[: list(sizes).index(split)])
        tasks = make_tasks(self.family, sum(sizes.values()), seed=self.seed)[start : start + sizes[split]]
        wanted = "Write the answer, and nothing else, to `answer.txt`."
        return [task.model_copy(update={"input": f"{task.input}\n\n{wanted}"}) for task in tasks]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        file = trajectory.files.get("answer.txt")
        right = file is not None and file.data.decode().strip() == task.gold
        return Score(hard=float(right), soft=float(right), feedback="" if right else "answer.txt is not right")

    def fingerprint(self) -> str:
        return self.name


def settings(folder: Path, url: str, program: str, **more: Any) -> dict[str, Any]:
    return {
        "agent": {"name": program},
        "target": {"model": "openai:target", "base_url": url, "api_key_env": "NO_SUCH_KEY"},
        "optimizer": {"model": "simulated:optimizer"},
        "train": {"epochs": 1},
        # One or two validation tasks show no gain: the default would hand out the initial skill.
        "search": {"policy": "paper", "batch_size": 5},
        "run": {"folder": str(folder), "name": "run"},
        "limits": {"concurrency": 4, **more},
    }


def train(config: dict[str, Any], env: Environment | None = None) -> Summary:
    return Trainer(config, env=env or FileTasks(), skill=SKILL).train()


def training_changes_the_skill(folder: Path, program: str, delivery: str) -> None:
    """Attempts of the program are read, and an edit that answers them enters the skill."""
    summary = training_is_in_the_account(folder, program, delivery)
    assert summary.initial.test is not None
    assert summary.accepted > 0


def training_is_in_the_account(folder: Path, program: str, delivery: str) -> Summary:
    """Every attempt has a score, and whatever the program asked is counted."""
    with running_endpoint() as endpoint:
        config = settings(folder, endpoint.url, program)
        config["agent"]["delivery"] = delivery
        config["search"]["gate"] = False  # a single validation task shows no gain
        summary = train(config, FileTasks(train=4, test=1, seed=4))
        stats = endpoint.stats()
    assert summary.simulated
    assert summary.voids == 0
    assert summary.cost.target_calls == stats["answered"] == stats["received"]
    assert summary.cost.tokens["target"].input_tokens > 500 * summary.cost.target_calls  # with their own prompts
    return summary
