"""How often a step goes wrong. Everything random is a hash of what it depends on, see `text.uniform`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from etude.readable import token_count
from etude.simulation.families import telling_rules
from etude.simulation.families.family import Family, Faults, relevant
from etude.simulation.rules import TeachableRule, Teaching, statements, states, taught
from etude.simulation.text import element, uniform

_FRONT_MATTER = re.compile(r"^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n)+---[ \t]*$", re.MULTILINE)
_ELEMENT = element(r"[\w-]*skill[\w-]*")
MOST_SKILL = 8000
"""Estimated tokens that no skill has: a longer text has the prompt of an agent program around the skill."""


@lru_cache(maxsize=512)
def skill_tokens(instructions: str, rules: tuple[TeachableRule, ...]) -> int:
    """Estimated tokens of the skill: the element named after skills, else the document with front matter, else all
    of the instructions. In a text too long to be a skill, only what stands from the first statement on a rule to the
    last one counts: which program asks must not matter."""
    shown = _ELEMENT.search(instructions)
    front = _FRONT_MATTER.search(instructions)
    text = shown["body"] if shown else instructions[front.start() :] if front else instructions
    if token_count(text) <= MOST_SKILL:
        return token_count(text)
    said = [one.sentence for one in statements(text, rules)]
    places = [(start, start + len(sentence)) for sentence in said if (start := text.find(sentence)) >= 0]
    return token_count(text[min(places)[0] : max(places)[1]]) if places else 0


@dataclass(frozen=True)
class Reliability:
    """How reliable a simulated target is."""

    slip: float = 0.01
    """How often a taught step goes wrong, unless its rule says so itself (`TeachableRule.slip`)."""
    harmed: float = 0.9
    """How often a step goes wrong when the skill teaches the opposite, unless `TeachableRule.harmed` says so."""
    torn: float = 0.5
    """How often a step goes wrong when the skill teaches both."""
    long_skill: int = 1200
    """Estimated tokens of instructions from which on every step goes wrong more often."""
    per_length: float = 0.1 / 12
    """Added to every rate for each 100 tokens beyond `long_skill`, at most `most_for_length`."""
    most_for_length: float = 0.4
    steady: bool = False
    """No noise: a taught step never goes wrong, and what an untaught one does is the same in every trial."""
    sampled: bool = False
    """Every change of the skill's text draws again what goes wrong, but for untaught steps, as with a model that is
    sampled. Else an edit that teaches nothing changes no outcome."""
    contrary: float = 0.0
    """Share of rules that it does the opposite of when a skill states them, and better without."""
    seed: int = 0

    def takes(self, known: Mapping[str, Teaching]) -> Mapping[str, Teaching]:
        """What an instruction text does to it, by what that does about each rule."""
        if not self.contrary:
            return known
        turned = {Teaching.TAUGHT: Teaching.HARMED, Teaching.HARMED: Teaching.TAUGHT}
        return {
            rule: turned.get(state, state) if uniform("contrary", rule) < self.contrary else state
            for rule, state in known.items()
        }


def length_rate(target: Reliability, family: Family, instructions: str) -> float:
    """What a long skill adds to every rate."""
    beyond = skill_tokens(instructions, telling_rules(family)) - target.long_skill
    return min(target.most_for_length, max(0.0, beyond / 100 * target.per_length))


def fault_rate(target: Reliability, family: Family, rule: TeachableRule, known: Mapping[str, Teaching]) -> float:
    """Probability that the step of the rule goes wrong under a short skill, in [0, 1], by what that does about each
    rule of the family."""
    match known[rule.id]:
        case Teaching.TAUGHT:
            return target.slip if rule.slip is None or target.steady else rule.slip
        case Teaching.HARMED:
            return target.harmed if rule.harmed is None else rule.harmed
        case Teaching.CONTRADICTED:
            return target.torn
        case Teaching.UNTAUGHT:
            return family.untaught(rule, known)


def fault_rates(target: Reliability, family: Family, task: str, instructions: str) -> dict[str, float]:
    """Fault probability of every step that matters in the task, by rule id."""
    known = target.takes(states(instructions, family.rules))
    extra = length_rate(target, family, instructions)
    bases = {rule.id: fault_rate(target, family, rule, known) for rule in relevant(family, task)}
    return {rule: base + (1 - base) * extra for rule, base in bases.items()}


def draw_faults(target: Reliability, family: Family, task: str, instructions: str, seed: int) -> Faults:
    """The steps that go wrong under one seed."""
    known = target.takes(states(instructions, family.rules))
    text = instructions if target.sampled else ",".join(taught(dict(sorted(known.items()))))
    rates = fault_rates(target, family, task, instructions)

    def drawn(rule: str) -> float:
        # Whoever was not told how a step is done does it wrong at a task, or does not, each time.
        always = target.steady or known[rule] == Teaching.UNTAUGHT
        return uniform(target.seed, task, rule, *(("steady",) if always else (text, seed)))

    return frozenset(rule for rule, rate in rates.items() if drawn(rule) < rate)
