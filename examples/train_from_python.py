"""Train a skill from Python: tasks in lists, models by name, a typed summary.

    python examples/train_from_python.py [FOLDER]

Without FOLDER the run is written to a new temporary folder.
"""

import sys
import tempfile

from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks


def main(folder: str) -> None:
    """Train, then print what came out and where it is."""
    tasks = make_tasks("counting", 90, seed=1)
    env = ListEnvironment(train=tasks[:30], val=tasks[30:60], test=tasks[60:], scorer="exact")
    config = {
        "target": {"model": "simulated:target"},
        "optimizer": {"model": "simulated:optimizer"},
        "train": {"epochs": 4},
        "run": {"folder": folder, "name": "train-from-python"},
    }
    summary = Trainer(config, env=env, skill=Skill(name="counting", text=SEED_SKILL)).train()

    gain = summary.test_gain
    assert gain is not None
    print(f"gain on {gain.n} test tasks: {gain.mean:+.2f}, 95% interval [{gain.low:+.2f}, {gain.high:+.2f}]")
    print(f"{summary.accepted} candidates accepted, {summary.rejected} rejected, {summary.skipped} skipped")
    print(f"best skill: {summary.folder}/{summary.best.skill}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
