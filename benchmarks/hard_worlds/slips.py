"""Codes of slips: rules with exceptions, and statements that are right for one kind of slip and wrong for the others.

A field has its usual form, most fields have another one on slips of one kind. A reader of failures of that kind only
may take the exception for the rule ("on every slip"), which fixes these and breaks all others. The rule without the
exception breaks the exception.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.simulation.families.family import Family, Faults, Solution, table
from etude.simulation.rules import TeachableRule, Teaching

_TABLE = table("slips", Path(__file__).parent)
KINDS: tuple[str, ...] = tuple(_TABLE["kinds"])
_FIELDS: Mapping[str, Mapping[str, Any]] = _TABLE["fields"]
_REASONS = ("as the office asks", "so that it can be filed", "which the counter expects")
_UNTAUGHT, _UNTAUGHT_EXCEPTION, _OVERLOOKED = 0.5, 0.4, 0.92
"""How often a form goes wrong: of a rule that is not stated, of an exception that is not stated, and of an exception
where only the rule is stated."""


@dataclass(frozen=True, eq=False)
class ExceptionRule(TeachableRule):
    """A rule of slips of one kind."""

    broad: tuple[str, ...] = ()
    """Ways to state it as if it held everywhere, which teaches it and harms the rule."""


def _statements(field: str, form: str, scope: str) -> tuple[str, ...]:
    says = _TABLE["forms"][form]["says"]
    starts = (f"Write the {field}{scope} {says}", f"Give the {field}{scope} {says}", f"Put the {field}{scope} {says}")
    return tuple(f"{start}, {reason}." for start, reason in zip(starts, _REASONS, strict=True))


def _rules(field: str, fields: Mapping[str, Any]) -> list[TeachableRule]:
    usual, other, kind = fields["usual"], fields["other"], fields.get("except")
    reads = {form: _TABLE["forms"][form]["reads"] for form in (usual, other)}
    everywhere = " on every slip" if kind else ""
    rule = TeachableRule(
        id=f"slips.{field}",
        topic=(rf"\b{field}\b",),
        good=reads[usual],
        bad=reads[other],
        statements=_statements(field, usual, ""),
        harmful=_statements(field, other, everywhere),
        untaught=_UNTAUGHT,
        unless=rf"\b{kind}\b" if kind else "",
    )
    if kind is None:
        return [rule]
    exception = ExceptionRule(
        id=f"slips.{field}-{kind}",
        topic=(rf"\b{field}\b", rf"\b{kind}\b|\bevery slip\b"),
        good=reads[other],
        bad=reads[usual],
        statements=_statements(field, other, f" on slips of {kind}"),
        harmful=_statements(field, usual, everywhere),
        broad=_statements(field, other, everywhere),
        untaught=_UNTAUGHT_EXCEPTION,
    )
    return [rule, exception]


class Slips(Family):
    """The code of a slip: its fields, each in the form that its kind asks for."""

    name = "slips"
    subject = r"\b(?:slip|code)"
    skill = _TABLE["skill"]
    rules = tuple(rule for field, fields in _FIELDS.items() for rule in _rules(field, fields))
    pattern = re.compile(
        r"Code this slip of (?P<kind>" + "|".join(KINDS) + r"):\s*(?P<fields>\w+ \w+(?:;\s*\w+ \w+)*)\."
    )

    def untaught(self, rule: TeachableRule, known: Mapping[str, Teaching]) -> float:
        field, _, kind = rule.id.partition("-")
        return _OVERLOOKED if kind and known[field] == Teaching.TAUGHT else rule.untaught

    def solve(self, text: str, faults: Faults) -> Solution:
        found = self.match(text)
        parts: list[str] = []
        for entry in found["fields"].split(";"):
            field, value = entry.split()
            fields = _FIELDS[field]
            special = fields.get("except") == found["kind"]
            step = f"slips.{field}-{found['kind']}" if special else f"slips.{field}"
            usual = special == (step in faults)
            parts.append(_written(value, fields["usual" if usual else "other"]))
        return Solution("/".join(parts), f"Wrote {len(parts)} fields.")

    def accepts(self, text: str) -> bool:
        return all(entry.split()[0] in _FIELDS for entry in self.match(text)["fields"].split(";"))

    def kind(self, text: str) -> str:
        return self.match(text)["kind"]

    def make(self, rng: random.Random) -> str:
        chosen = rng.sample(sorted(_FIELDS), rng.randint(3, 4))
        entries = [f"{field} {rng.choice(_FIELDS[field]['values'].split())}" for field in chosen]
        return f"Code this slip of {rng.choice(KINDS)}: {'; '.join(entries)}."


def _written(value: str, form: str) -> str:
    match form:
        case "initial":
            return value[0]
        case "begins":
            return value[:3]
        case "ends":
            return value[-3:]
        case "tens":
            return str(int(value) // 10 * 10)
        case _:
            return value
