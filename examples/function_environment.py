"""An environment from one function that attempts a task: prompts, several calls and tools are all yours.

    python examples/function_environment.py [FOLDER]

The function gets the task, the skill and the target model. It returns an answer for the scorer, a score, or both.
"""

import re
import sys
import tempfile

from etude import Skill, Trainer, environment
from etude.simulation import SEED_SKILL, make_tasks

TASKS = make_tasks("counting", 80, seed=5)


@environment(train=TASKS[:30], val=TASKS[30:55], test=TASKS[55:], scorer="numeric")
async def counting(task, skill, target):
    """Ask once; ask again when the reply holds no number."""
    instructions = f"{skill.text}\n\nEnd with a line 'Answer: NUMBER'."
    reply = await target.ask(task.input, system=instructions)
    if re.search(r"\d", reply) is None:
        reply = await target.ask(f"{task.input}\nReply with a number.", system=instructions)
    return reply.rpartition("Answer:")[2].strip()


def main(folder: str) -> None:
    """Train on it."""
    config = {"train": {"epochs": 2}, "run": {"folder": folder, "name": "function-environment"}}
    summary = Trainer(config, env=counting, skill=Skill(name="counting", text=SEED_SKILL)).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test tasks: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
