"""The optimizer of the noisy world.

It compares what was asked with what was given. Where a field went wrong that the skill states already, the failure is
noise or the cost of another edit, and whatever it proposes is useless or harmful. What it writes is drawn from the
whole prompt.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from noisy_world import (
    EXAMPLE,
    FIELDS,
    GENERAL,
    HEDGED,
    LINE,
    USELESS,
    WAYS,
    WORDINGS,
    Said,
    World,
    by_frequency,
    chance,
    parts_of,
    said,
    unsigned,
    ways,
    written,
)

from etude import ChatModel, ChatRequest, Reply

_ATTEMPT = re.compile(r'<attempt id="(a-[0-9a-f]+)"[^>]*>(.*?)</attempt\b', re.DOTALL)
_TASK = re.compile(r"<task\b[^>]*>\n(.*?)\n</task\b", re.DOTALL)
_ANSWER = re.compile(r"<(answer|transcript)\b[^>]*>\n(.*?)\n</\1\b", re.DOTALL)
_SKILL = re.compile(r"<skill\b[^>]*>\n(.*?)\n</skill\b", re.DOTALL)
_MOST = re.compile(r"at most (\d+) edits")
_PATCH = re.compile(r"<patch\b[^>]*>\n(.*?)\n</patch\b", re.DOTALL)
_RANKED = re.compile(r"<edits\b[^>]*>\n(.*?)\n</edits\b", re.DOTALL)


@dataclass(frozen=True)
class Optimizer:
    """How often an optimizer does what to a finding (a field that went wrong and is not stated) and to noise."""

    missing: float = 0.15
    useless: float = 0.12
    wrong: float = 0.06
    hedged: float = 0.1
    broad: float = 0.0
    """The right rule, with a general remark in the same line that makes all other forms worse."""
    general: float = 0.01
    """A general remark alone."""
    duplicate: float = 0.1
    miscited: float = 0.05
    on_noise: float = 0.2
    """Share of failures without a cause of which it proposes something all the same."""
    examples: float = 0.0
    """Share of the rules that have an example."""
    late: float = 0.0
    """`broad`, for the rule that fewest tasks need, once most of the others are stated."""


GOOD = Optimizer()
OPTIMIZERS: Mapping[str, Optimizer] = {
    "good": GOOD,
    "poor": replace(GOOD, useless=0.5),
    "useless": replace(GOOD, useless=1.0, missing=0.0),
    "miscites": replace(GOOD, miscited=0.5),
    "breaks": replace(GOOD, broad=0.15, general=0.1),
    "late": replace(GOOD, late=1.0),
    "shows": replace(GOOD, examples=0.5),
}


class Writer(ChatModel):
    """The optimizer: sees which field of which form went wrong."""

    def __init__(self, world: World) -> None:
        self.world, self.profile = world, OPTIMIZERS[world.optimizer]
        self.name = f"writer {world!r}"

    async def complete(self, request: ChatRequest) -> Reply:
        """Propose edits; for the published loop also merge patches and rank edits."""
        prompt = "\n".join(message.text for message in request.messages)
        if ranked := _RANKED.search(prompt):
            rows = [json.loads(row) for row in ranked[1].splitlines()]
            return Reply(text=json.dumps({"order": [row["index"] for row in sorted(rows, key=_worst_last)]}))
        if patches := _PATCH.findall(prompt):
            edits = _merged([edit for patch in patches for edit in json.loads(patch)["edits"]])
            return Reply(text=json.dumps({"reasoning": "Merged.", "edits": edits}))
        shown = _SKILL.search(prompt)
        edits = self._edits(prompt, shown[1] if shown else "")
        return Reply(text=json.dumps({"reasoning": "Compared fields.", "edits": edits}))

    def _edits(self, prompt: str, skill: str) -> list[dict[str, Any]]:
        """At most as many as are asked for."""
        wrong = {id: self._wrong(block) for id, block in _ATTEMPT.findall(prompt)}
        most = _MOST.search(prompt)
        return self.propose(wrong, skill, prompt)[: int(most[1]) if most else None]

    def propose(self, wrong: Mapping[str, Sequence[str]], skill: str, prompt: str) -> list[dict[str, Any]]:
        """Edits for attempts, by id, with the fields that went wrong in each."""
        key, ids = (self.world.seed, prompt), list(wrong)
        known = said(skill, self.world)
        blamed: dict[str, list[str]] = {}
        for id, names in wrong.items():
            for name in names:
                blamed.setdefault(name, []).append(id)
        edits: list[dict[str, Any]] = []
        for name, cites in sorted(blamed.items(), key=lambda item: (-len(item[1]), item[0])):
            edits += self._of(name, cites, known, skill, key)
        for number, edit in enumerate(edits):
            if ids and chance(*key, "miscited", number) < self.profile.miscited:
                edit["cites"] = [ids[int(chance(*key, "other", number) * len(ids))]]
        return edits

    def _wrong(self, block: str) -> list[str]:
        """The fields of an attempt that are not as they should be."""
        task, answers = _TASK.search(block), _ANSWER.findall(block)
        fields = parts_of(task[1]) if task else {}
        if not fields or not answers:
            return []
        given = unsigned(answers[-1][1].strip().splitlines()[-1]).split("/")
        if len(given) != len(fields):
            return list(fields)[:1]
        right = ways(self.world.seed)
        return [n for (n, value), got in zip(fields.items(), given, strict=True) if written(value, right[n]) != got]

    def _of(
        self, name: str, cites: list[str], known: Said, skill: str, key: tuple[object, ...]
    ) -> list[dict[str, Any]]:
        """What is proposed for a field that went wrong."""
        profile, right = self.profile, ways(self.world.seed)[name]
        draw = chance(*key, name, "kind")
        number = int(chance(*key, name, "number") * 10**6)
        line = next((one for one in skill.splitlines() if (m := LINE.search(one)) and m[1] == name), "")
        if self.world.null is not None or self.world.wanders or profile.useless == 1:
            return [_edit(USELESS.format(number=number), cites)]
        if name in known.right and name not in known.wrong:
            return self._of_noise(name, cites, line, key, number)
        if draw < profile.missing:
            return []
        other = [way for way in WAYS if way != right]
        statement = self._statement(name, right, key)
        kinds = (
            (profile.useless, USELESS.format(number=number)),
            (profile.wrong, self._statement(name, other[number % len(other)], key)),
            (profile.hedged, HEDGED.format(field=name, way=right)),
            (profile.general, GENERAL.format(number=number)),
        )
        draw = chance(*key, name, "which")
        for share, text in kinds:
            if draw < share:
                statement = text
                break
            draw -= share
        planted = name == by_frequency(self.world.seed)[-1] and len(known.right) >= 0.8 * len(FIELDS)
        late = profile.late if planted else 0.0
        if chance(*key, name, "broad") < profile.broad + late and right in statement:
            statement = f"{statement} {GENERAL.format(number=number)}"
        wrong = name in known.wrong or name in known.hedged
        if wrong and line:
            edits = [{**_edit(statement, cites), "op": "replace", "target": line}]
        else:
            edits = [_edit(statement, cites)]
        if chance(*key, name, "duplicate") < profile.duplicate:
            edits.append(_edit(self._statement(name, right, (*key, "again")), cites))
        return edits

    def _of_noise(
        self, name: str, cites: list[str], line: str, key: tuple[object, ...], number: int
    ) -> list[dict[str, Any]]:
        """What is proposed where the skill was right and the attempt was not."""
        if chance(*key, name, "noise") >= self.profile.on_noise:
            return []
        draw, right = chance(*key, name, "on noise"), ways(self.world.seed)[name]
        if draw < 0.4:
            return [_edit(self._statement(name, right, key), cites)]
        if draw < 0.55:
            return [{**_edit(self._statement(name, right, key), cites), "op": "replace", "target": line}]
        if draw < 0.8:
            return [_edit(USELESS.format(number=number), cites)]
        if draw < 0.96:
            other = [way for way in WAYS if way != right]
            return [_edit(self._statement(name, other[number % len(other)], key), cites)]
        return [_edit(GENERAL.format(number=number), cites)]

    def _statement(self, name: str, way: str, key: tuple[object, ...]) -> str:
        stated = WORDINGS[int(chance(*key, name, "wording") * len(WORDINGS))].format(field=name, way=way)
        if chance(*key, name, "example") >= self.profile.examples:
            return stated
        return f"{stated} {EXAMPLE.format(answer=written('sample', way))}"


def _edit(text: str, cites: list[str]) -> dict[str, Any]:
    return {"op": "append", "target": "", "content": f"- {text}", "reason": "The forms show it.", "cites": cites}


def _merged(edits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One edit for each field and way, or for each text, the best supported ones of a field."""
    found: dict[str, dict[str, Any]] = {}
    for edit in edits:
        rule = LINE.search(edit["content"])
        key = f"{rule[1]} {rule[2]}" if rule else edit["content"]
        first = found.setdefault(key, {**edit, "cites": []})
        first["cites"] = list(dict.fromkeys([*first["cites"], *edit["cites"]]))
    best: dict[str, dict[str, Any]] = {}
    for edit in sorted(found.values(), key=lambda one: -len(one["cites"])):
        rule = LINE.search(edit["content"])
        best.setdefault(rule[1] if rule else edit["content"], edit)
    return list(best.values())


def _worst_last(row: dict[str, Any]) -> tuple[bool, int]:
    """What is vague comes last, then what is supported by little."""
    return LINE.search(row["content"]) is None, -row["support"]
