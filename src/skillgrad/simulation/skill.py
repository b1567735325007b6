"""Finding the skill document within instructions, and a weak one to start from."""

import re
from functools import lru_cache

from skillgrad.simulation.text import tokens

SEED_SKILL = """\
---
name: everyday-tasks
description: Small everyday tasks with words, things and dates.
---

# Everyday tasks

- Read the task carefully and work step by step.
- Ignore case when you compare words: a capital letter counts the same as the small one.
- List each repeated word only once.
- Write day and month of a date with two digits.
- Keep the answer short.
"""

_FRONT_MATTER = re.compile(r"^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n)+---[ \t]*$", re.MULTILINE)
_ELEMENT = re.compile(
    r"<(?P<tag>[\w-]*skill[\w-]*)(?:\s[^>]*)?>(?P<body>.*?)</(?P=tag)(?:\s[^>]*)?>", re.DOTALL | re.IGNORECASE
)


@lru_cache(maxsize=512)
def skill_tokens(instructions: str) -> int:
    """Estimated tokens of the skill: the document with front matter, else the element named after skills, else all
    of the instructions. The scaffolding of an agent program around a skill does not count where it can be told."""
    element = _ELEMENT.search(instructions)
    if element:
        return tokens(element["body"])
    front = _FRONT_MATTER.search(instructions)
    return tokens(instructions[front.start() :] if front else instructions)
