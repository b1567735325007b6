"""Improve a skill and a memory file on tasks of your own, as a night of `etude sleep` does, from Python.

    python examples/consolidate.py [FOLDER_FOR_RUNS]

The tasks need no transcripts: each says what is asked and what an answer must have. Half of them are held-out. Only
the skill's block `learned` may change; the text around it is kept byte for byte.
"""

import sys

from etude import Documents, MinedTask, Skill, consolidate
from etude.envs.scorers.checks import Check

TOPICS = ("a longer pier", "a new kiln", "bicycle stands", "a second counter", "night buses", "a booking app")
TRAIN = Check(op="contains", arg="Recommendation:", requirement="has a line 'Recommendation:'")
HELD_OUT = Check(op="regex", arg=r"^Recommendation: .{10,}", multiline=True, requirement="says what to do, and why")

SKILL = """\
---
name: briefs
description: How we write briefs.
---

# Briefs

British spelling.

<!-- etude:begin learned -->
<!-- etude:end learned -->
"""
MEMORY = """\
# The project

<!-- etude:begin learned -->
<!-- etude:end learned -->
"""


def tasks() -> list[MinedTask]:
    """A task to learn from and a held-out one for each pair of topics."""
    made: list[MinedTask] = []
    for number, topic in enumerate(TOPICS):
        side, check = ("train", TRAIN) if number % 2 == 0 else ("val", HELD_OUT)
        made.append(MinedTask(id=f"brief-{number}", intent=f"Write a brief on {topic}.", checks=(check,), split=side))
    return made


def main(folder: str) -> None:
    config = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    documents = Documents(skill=Skill(name="briefs", text=SKILL), memory=Skill(name="memory", text=MEMORY))
    result = consolidate(tasks(), documents, config, folder)
    for change in result.changes:
        scores = f"{change.baseline} -> {change.candidate}"
        verdict = None if change.confirmed is None else change.confirmed.verdict
        print(f"{change.place}: {change.status} ({change.reason}); held-out tasks {scores}, verdict {verdict}")
    assert result.documents.skill is not None
    print(result.documents.skill.text)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs")
