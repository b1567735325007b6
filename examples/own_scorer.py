"""A scorer of your own: a class with `score`, or for the simple case a function `score(task, answer)`.

    python examples/own_scorer.py [FOLDER]

The feedback of a score is what the optimizer learns from.
"""

import sys
import tempfile

from etude import ListEnvironment, Score, Scorer, Skill, Task, Trainer, Trajectory
from etude.simulation import SEED_SKILL, make_tasks


class Near(Scorer):
    """Full marks for the right number, partial credit for one that is at most `reach` off."""

    name = "near"
    repeatable = True  # the same trajectory always gets the same score, for nothing: no need to remember it

    def __init__(self, reach: int) -> None:
        self.reach = reach

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        want = int(str(task.gold))
        try:
            off = abs(int(trajectory.answer) - want)
        except ValueError:
            return Score(hard=0, soft=0, feedback=f"expected the number {want}, got {trajectory.answer!r}")
        soft = max(0.0, 1 - off / (self.reach + 1))
        return Score(hard=float(off == 0), soft=soft, feedback=f"expected {want}, got {trajectory.answer}: {off} off")

    def fingerprint(self) -> str:
        return f"near {self.reach}"


def main(folder: str) -> None:
    """Train with it."""
    tasks = make_tasks("counting", 80, seed=7)
    env = ListEnvironment(tasks[:30], tasks[30:55], tasks[55:], scorer=Near(reach=3))
    config = {"train": {"epochs": 2}, "gate": {"metric": "mixed"}, "run": {"folder": folder, "name": "own-scorer"}}
    summary = Trainer(config, env=env, skill=Skill(name="counting", text=SEED_SKILL)).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test tasks, half of it partial credit: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
