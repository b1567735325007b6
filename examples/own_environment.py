"""An environment of your own: a class with two methods, `tasks` and `score`.

    python examples/own_environment.py [FOLDER]

The score gives partial credit (the share of words in their right place) and tells the optimizer what was wrong; an
edit has to raise that share, instead of solving tasks, and the comparison at the end is about it.
"""

import sys
import tempfile
from collections.abc import Sequence

from etude import Environment, Score, Skill, Task, Trainer, Trajectory
from etude.simulation import SEED_SKILL, make_tasks


class Alphabet(Environment):
    """Words to be put in order."""

    name = "alphabet"

    def __init__(self) -> None:
        tasks = make_tasks("sorting", 80, seed=3)
        self._tasks = {"train": tasks[:30], "val": tasks[30:55], "test": tasks[55:]}

    def tasks(self, split: str) -> Sequence[Task]:
        return self._tasks[split]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        want, got = str(task.gold).split(), trajectory.answer.split()
        right = sum(one == other for one, other in zip(want, got, strict=False))
        share = right / max(len(want), len(got))
        feedback = f"{right} of {len(want)} words in place; expected: {task.gold}; got: {trajectory.answer}"
        return Score(hard=float(share == 1), soft=share, feedback=feedback)

    def fingerprint(self) -> str:
        return "alphabet 1"  # to be changed whenever `score` is: scores are remembered under it


def main(folder: str) -> None:
    """Train on it."""
    config = {
        "train": {"epochs": 2},
        "gate": {"metric": "soft"},
        "run": {"folder": folder, "name": "own-environment"},
    }
    summary = Trainer(config, env=Alphabet(), skill=Skill(name="alphabet", text=SEED_SKILL)).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test tasks, in words in place: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
