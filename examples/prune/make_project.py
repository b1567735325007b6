"""Writes a small project around a published skill, to be shortened with `etude prune` as docs/skills.md shows.

    python examples/prune/make_project.py FOLDER

The skill is `nemo-rl-docs` of github.com/NVIDIA/skills, Apache-2.0. No model is asked: the target is the class below.
"""

import json
import re
import sys
from pathlib import Path

from etude import ChatModel, ChatRequest, Reply

SKILL = """\
---
name: nemo-rl-docs
license: Apache-2.0
description: "Documentation conventions for NeMo-RL. Covers docs/index.md updates and docstring format."
---

# Documentation Conventions

## Keep docs/index.md Up to Date

When a new markdown doc is added under `docs/**/*.md` or a markdown file is renamed, ensure that @docs/index.md is \
updated and the document appears in the most appropriate section.

## Docstring Format

Use [Google style](https://google.github.io/styleguide/pyguide.html) docstrings for classes and functions. These are \
parseable by Sphinx.

For interfaces that may be used outside a file, prefer docstrings over comments. Comments should be reserved for \
code within a function or interfaces local to a file.

## Document New Features

When a new feature is added, update or create documentation in the `docs/` directory that most closely matches the \
feature. Look at existing docs to find the best fit — if none exists, create a new doc and add it to @docs/index.md.

Documentation changes are **not required** for bug fixes or CI-related changes.
"""
TASKS = {
    "I renamed a markdown file. What has to be updated?": "index.md",
    "I added a markdown doc under docs. What else?": "index.md",
    "Which style do docstrings of classes have?": "Google",
    "Write docstrings for these functions. Which style?": "Google",
    "Are documentation changes required for bug fixes?": "not required",
    "Are documentation changes required for CI-related work?": "not required",
}
SETTINGS = """\
target: {model: "make_project:Reader:reader"}
env: {path: tasks.jsonl, scorer: regex, ratio: [4, 2, 0]}
"""


class Reader(ChatModel):
    """Answers with the paragraph of its skill that shares most words with the request, if there is one with three."""

    def __init__(self, name: str, settings: object) -> None:
        self.name = name

    async def complete(self, request: ChatRequest) -> Reply:
        asked = self._words(request.messages[-1].text)
        parts = request.messages[0].text.split("\n\n")
        best = max(parts, key=lambda part: len(asked & self._words(part)))
        return Reply(text=best if len(asked & self._words(best)) >= 3 else "I do not know.")

    def _words(self, text: str) -> set[str]:
        return set(re.findall(r"[a-z]{4,}", text.lower()))


def main(folder: Path) -> None:
    """Write it."""
    skill = folder / "nemo-rl-docs" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, encoding="utf-8")
    rows = [
        json.dumps({"id": f"t{n}", "input": task, "gold": said}) for n, (task, said) in enumerate(TASKS.items(), 1)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "etude.yaml").write_text(SETTINGS)
    (folder / "make_project.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{folder}: a skill, {len(rows)} tasks, and settings whose target is a script")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
