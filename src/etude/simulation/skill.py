"""Finding the skill document within instructions, and a weak one to start from."""

import re
from functools import lru_cache

from etude.simulation.families import IN_TURN, families_named
from etude.simulation.families.tables import table
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.text import tokens

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


def seed_skill(family: str | None) -> str:
    """A weak skill to start from, for tasks that `make_tasks` makes of the same family. One of its rules is wrong;
    the one for `briefs` teaches none. Raises ConfigError: no family has that name."""
    first = families_named(family)[0]
    if first in IN_TURN:
        return SEED_SKILL
    return table(first.name).get("skill") or table("briefs")["skill"]


_FRONT_MATTER = re.compile(r"^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n)+---[ \t]*$", re.MULTILINE)
_ELEMENT = re.compile(
    r"<(?P<tag>[\w-]*skill[\w-]*)(?:\s[^>]*)?>(?P<body>.*?)</(?P=tag)(?:\s[^>]*)?>", re.DOTALL | re.IGNORECASE
)


MOST_SKILL = 8000
"""Estimated tokens that no skill has: a longer text has the prompt of an agent program around the skill."""


@lru_cache(maxsize=512)
def skill_tokens(instructions: str, rules: tuple[TeachableRule, ...]) -> int:
    """Estimated tokens of the skill: the element named after skills, else the document with front matter, else all
    of the instructions. In a text too long to be a skill, only what stands from the first statement on a rule to the
    last one counts: which program asks must not matter."""
    element = _ELEMENT.search(instructions)
    front = _FRONT_MATTER.search(instructions)
    text = element["body"] if element else instructions[front.start() :] if front else instructions
    if tokens(text) <= MOST_SKILL:
        return tokens(text)
    said = [one.sentence for one in statements(text, rules)]
    places = [(start, start + len(sentence)) for sentence in said if (start := text.find(sentence)) >= 0]
    return tokens(text[min(places)[0] : max(places)[1]]) if places else 0
