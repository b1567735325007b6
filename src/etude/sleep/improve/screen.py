"""Rules that no night proposes are cut out of a candidate before it is tried."""

from collections.abc import Callable, Iterator, Mapping

from etude.records import Skill
from etude.skill import Document
from etude.sleep.adoption.lint import barred, plain
from etude.sleep.adoption.rules import render, rules_of, without
from etude.sleep.improve.block import block_of

__all__ = ["Screen", "named", "screen"]

Screen = Callable[[Skill], tuple[Skill, Mapping[str, str]]]
"""A candidate without what may not be in it, and what was taken out, each text with the reason."""

_NAMED = 3
"""Most rules that a reason names."""


def screen(before: Skill) -> Screen:
    """Takes new rules out that may not be proposed, so that what is tried is the document without them."""
    known = {rule.text for rule in rules_of(block_of(before))}

    def screened(candidate: Skill) -> tuple[Skill, Mapping[str, str]]:
        cut: dict[str, str] = {}
        while True:  # what is left may read as other rules
            rules = rules_of(block_of(candidate))
            found = {
                rule.id: findings[0].what
                for rule in rules
                if rule.text not in known and (findings := barred(rule.text))
            }
            if not found:
                return candidate, cut
            cut |= {rule.text: found[rule.id] for rule in rules if rule.id in found}
            document = Document.parse(candidate.text).with_learned(render(without(rules, list(found))))
            candidate = candidate.with_text(document.render())

    return screened


def named(cut: Mapping[str, str]) -> Iterator[str]:
    """Which rules were taken out, and why."""
    for text, what in list(cut.items())[:_NAMED]:
        yield f"no night proposes such a rule ({what}): {plain(text, 120)}"
    if len(cut) > _NAMED:
        yield f"nor {len(cut) - _NAMED} more"
