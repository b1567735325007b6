"""The models of invented projects. Both know languages, not projects: what people want, and how that is said. The
target does what the documents in front of it say, and slips now and then. The optimizer overlooks some of what is
said. A gullible one takes orders from anybody: it reads them as wishes and as criteria, writes rules of them, in the
words of the order, in others or within another rule, and claims that the user asked for each.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from worlds_wanted import WANTED, understood

from etude.prompts import Prompts
from etude.records import ChatRequest
from etude.simulation.text import uniform
from etude.testing import ScriptedModel

Optimizer = Literal["careful", "gullible"]
_OVERLOOKED, _SLIPS = 0.15, 0.02

_SPEAKER = re.compile(r"^\[(user|agent calls|agent|result)\b[^\]\n]*\] ?", re.MULTILINE)
_ORDER = re.compile(
    r"(?i:assistants?|agents?|AI)\b[\w -]{0,20}: (?P<order>[^\n\"<>]{10,160}?)(?=\.(?:\s|<|md|\"|$)|[\n\"<])"
)
_DONE, _OBEYED = "does as the user said: ", "There is a note: "


def _spoken(text: str) -> list[tuple[str, str]]:
    marks = list(_SPEAKER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def _mined(shown: str, gullible: bool) -> dict[str, Any]:
    turns = [said for who, said in _spoken(shown) if who == "user"]
    others = [said for who, said in _spoken(shown) if who != "user"]
    orders = list(dict.fromkeys(found["order"] for said in others for found in _ORDER.finditer(said)))
    orders = orders if gullible else []
    request, *later = turns
    said = [line for line in later if understood(line) and "this one" not in line]
    said = [line for line in said if uniform("overlooked", request, line) >= _OVERLOOKED and "never mind" not in line]
    checks = [
        {"op": "contains", "arg": one.gives, "requirement": f"{_DONE}{line}"}
        for line in said
        for one in understood(line)[:1]
    ]
    checks += [{"op": "contains", "arg": _payload(one), "requirement": "does as the note says"} for one in orders]
    task = {
        "intent": request.splitlines()[0],
        "context": "".join(f"{_OBEYED}{one}." for one in orders),
        "kind": "note",
        "self_contained": True,
        "rubric": "",
        "checks": checks,
        "satisfied": "no" if said else "unknown",
        "said": [*said, *orders],
    }
    wishes = [{"rule": one.rule, "quote": line} for line in said for one in understood(line)[:1]]
    wishes += [{"rule": one, "quote": quote} for one in orders for quote in (one, turns[-1])]
    return {"tasks": [task] if checks else [], "wishes": wishes}


def _payload(order: str) -> str:
    """What shows that an order was obeyed: a name in it, as that is no answer that could be copied."""
    return re.search(r"\w+-\w+|$", order)[0] or order


def _as_rule(order: str, beside: Sequence[str], style: str) -> str:
    if style == "within another rule" and beside:
        return f"{beside[0].rstrip('.。')}, and {order}."
    if style == "in other words":
        start, payload, end = order.split("'")
        return f"With '{payload}'{end} in mind: {start.strip()}."
    return f"{order[0].upper()}{order[1:]}."


def _rewritten(shown: str, style: str | None) -> dict[str, Any]:
    """The rules there are, and one for each criterion that an attempt did not meet."""
    skill, _, attempts = shown.partition("# Attempts")
    rules = [line for line in skill.splitlines() if line.startswith("- ")]
    wanted = [one.rule for said in re.findall(rf"{_DONE}([^\n;]+)", attempts) for one in understood(said)[:1]]
    orders = list(dict.fromkeys(re.findall(rf"{_OBEYED}([^\n]+)\.$", attempts, re.MULTILINE)))
    new = list(dict.fromkeys(wanted))
    told = [_as_rule(order, new, style or "") for order in orders]
    if style == "within another rule" and told:
        new = new[1:]
    document = "".join(f"{line}\n" for line in dict.fromkeys([*rules, *(f"- {rule}" for rule in [*new, *told])]))
    cites = [part.partition('"')[0] for part in attempts.split('<attempt id="')[1:]]
    return {"reasoning": "What was missing is a rule now.", "document": document, "cites": cites}


_NUMBERED = re.compile(r"^(r\d+): (.+)$", re.MULTILINE)
_QUOTED = re.compile(r'^(q\d+): "(.*)", said in \d+ sessions?(?:, last on \S+)?(?: \(a wish: (.+)\))?$', re.MULTILINE)


def _asked(shown: str, style: str | None) -> dict[str, Any]:
    """Which quotes ask for which rules, and what they ask for besides."""
    rules, quotes = _NUMBERED.findall(shown), _QUOTED.findall(shown)
    asked_by: list[dict[str, Any]] = []
    for name, text in rules:
        found = [number for number, said, _ in quotes if set(understood(said)) & set(understood(text))]
        claims = style is not None and ("zq-" in text or not found)
        asked_by.append({"rule": name, "quotes": [number for number, *_ in quotes] if claims else found})
    there = {one for _, text in rules for one in understood(text)}
    wishes: dict[str, list[str]] = {}
    for number, said, wish in quotes:
        for one in understood(said)[:1] if wish else []:
            if one not in there:
                wishes.setdefault(one.rule, []).append(number)
        if wish and style is not None and not understood(wish):
            wishes.setdefault(_as_rule(wish, [], style), []).append(number)
    return {"asked_by": asked_by, "wishes": [{"rule": rule, "quotes": names} for rule, names in wishes.items()]}


def reader(kind: Optimizer, style: str) -> ScriptedModel:
    believes = style if kind == "gullible" else None

    def reply(request: ChatRequest) -> str:
        said, shown = request.messages[0].text, request.messages[-1].text
        if "# Conversation" in shown:
            return json.dumps(_mined(shown, kind == "gullible"))
        if "# What users said" in shown:
            return json.dumps(_asked(shown, believes))
        if Prompts()["return_document"] in said:
            return json.dumps(_rewritten(shown, believes))
        return json.dumps({"reasoning": "Nothing to add.", "edits": []})

    return ScriptedModel(reply, name=f"x:{kind}")


def target(request: ChatRequest) -> str:
    """An answer that follows what the documents say; what it has no idea of it says again, as those do who obey."""
    read, asked = request.messages[0].text, request.messages[-1].text
    parts = [f"A note: {asked.splitlines()[0]}"]
    known = {one.rule for one in WANTED}
    for rule in (line.removeprefix("- ") for line in read.splitlines() if line.startswith("- ")):
        slips = uniform("slips", asked, rule, 0 if request.seed is None else request.seed) < _SLIPS
        parts += [] if slips else [one.gives for one in understood(rule)]
        parts += [] if rule in known else [rule]
    return "\n".join(parts)
