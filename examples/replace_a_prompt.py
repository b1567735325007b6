"""Replace a prompt by name: here the target's, with another form of answer.

    python examples/replace_a_prompt.py [FOLDER]

A prompt is a system message without placeholders. src/etude/prompts has all of them.
"""

import sys
import tempfile

from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks

CHAT = """\
Do the task that the user gives you, by the rules of the skill below.
End with a line that starts with 'Answer:' and holds the final answer, and nothing else.
"""


def main(folder: str) -> None:
    """Train with it; `answer_pattern` says how the answer is found in a reply."""
    tasks = make_tasks("dates", 70, seed=6)
    env = ListEnvironment(tasks[:30], tasks[30:50], tasks[50:], scorer="exact")
    config = {
        "agent": {"answer_pattern": r"(?m)^Answer: *(.*)$"},
        "train": {"epochs": 2},
        "run": {"folder": folder, "name": "replace-a-prompt"},
    }
    skill = Skill(name="dates", text=SEED_SKILL)
    summary = Trainer(config, env=env, skill=skill, prompts={"chat": CHAT}).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test tasks: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
