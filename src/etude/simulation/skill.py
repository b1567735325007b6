"""Finding the skill document within instructions."""

import re
from functools import lru_cache

from etude.simulation.rules import TeachableRule, statements
from etude.simulation.text import tokens

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
