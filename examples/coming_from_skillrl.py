"""Questions with several right answers, from a list of dicts: where a skillrl script usually starts.

    python examples/coming_from_skillrl.py [FOLDER]

Items have `id`, `question` and `answers`; a reply is right when it equals one of the answers. What each name and
setting of skillrl is called here: docs/method.md#coming-from-skillopt-or-skillrl.
"""

import sys
import tempfile

from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks


def items(count: int, seed: int) -> list[dict[str, object]]:
    """Made-up questions that the simulated models can work on; put your own here."""
    tasks = make_tasks("sorting", count, seed)
    return [{"id": task.id, "question": task.input, "answers": [task.gold]} for task in tasks]


def main(folder: str) -> None:
    """Train and print what a skillrl script prints: baseline, best and the gain."""
    questions = items(90, seed=5)
    env = ListEnvironment(train=questions[:30], val=questions[30:60], test=questions[60:], scorer="f1", name="qa")
    config = {
        "preset": "paper",  # the published schedule, which skillrl's defaults follow
        "target": {"model": "simulated:target"},
        "optimizer": {"model": "simulated:optimizer"},
        "train": {"epochs": 2},
        "run": {"folder": folder, "name": "coming-from-skillrl"},
    }
    summary = Trainer(config, env=env, skill=Skill(name="sorting", text=SEED_SKILL)).train()

    initial, best, gain = summary.initial.test, summary.best.test, summary.test_gain
    assert initial is not None
    assert best is not None
    assert gain is not None
    print(f"test, initial skill: {initial.mean:.2f}; best skill: {best.mean:.2f}; gain: {gain.mean:+.2f}")
    print(f"accepted {summary.accepted}, rejected {summary.rejected}, skipped {summary.skipped}")
    print(f"best skill: {summary.folder}/{summary.best.skill}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
