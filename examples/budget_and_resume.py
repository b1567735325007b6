"""A budget stops a run; the same run with a larger one continues, and ends like one that was never stopped.

    python examples/budget_and_resume.py [FOLDER]

Answers are cached in the run's journal; the next start asks only for the rest.
"""

import sys
import tempfile

from etude import BudgetStop, ListEnvironment, Skill, Summary, Trainer
from etude.simulation import SEED_SKILL, make_tasks

TASKS = make_tasks("dates", 70, seed=2)


def train(folder: str, name: str, calls: int | None) -> Summary:
    """Train, or continue, with at most this many model requests over all its processes."""
    config = {
        "train": {"epochs": 2},
        "limits": {"calls": calls, "concurrency": 1},
        "run": {"folder": folder, "name": name},
    }
    env = ListEnvironment(TASKS[:30], TASKS[30:50], TASKS[50:], scorer="exact")
    return Trainer(config, env=env, skill=Skill(name="dates", text=SEED_SKILL)).train()


def calls(summary: Summary) -> int:
    """Requests since the run was first started."""
    return summary.cost.target_calls + summary.cost.optimizer_calls


def main(folder: str) -> None:
    """Stop, resume, and compare with a run that was left alone."""
    try:
        train(folder, "stopped", calls=80)
    except BudgetStop as stop:
        print(f"stopped: {stop.message}")
        print(f"it had {stop.summary.accepted} accepted candidates after {stop.summary.steps} steps")
    resumed = train(folder, "stopped", calls=None)
    alone = train(folder, "alone", calls=None)
    print(f"same best skill: {resumed.best == alone.best}")
    print(f"calls: {calls(resumed)} resumed, {calls(alone)} undisturbed")
    print(f"calls of a finished run started again: {calls(train(folder, 'alone', calls=None)) - calls(alone)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
