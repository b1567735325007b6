"""Reads the prompts that the compared systems send to an optimizer, for the simulated one.

The world itself reads etude's prompts only. In these the skill stands under a heading or in a fenced text, attempts
are told apart by the ids and tasks in them, and edits may be a numbered list.
"""

import json
import re
from itertools import pairwise

from etude.records import ChatRequest
from etude.simulation.families import FAMILIES, Families, find_tasks, rules_in
from etude.simulation.optimizer import reading
from etude.simulation.optimizer.reading import Prompt

_OURS = re.compile(r"<(?:attempt|skill)\b|^# Current skill$", re.MULTILINE)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LISTED_EDIT = re.compile(r"^\[(?P<index>\d+)\]\s+(?P<fields>(?:op|type)=\w+\b.*)$", re.MULTILINE)
_FIELD = re.compile(r"\b(?P<name>\w+)=(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\"]+)")
_LIMIT = re.compile(
    rf"\b(?:at most|no more than|up to|maximum(?: of)?|limit(?:ed)? to|budget(?: is| of|:))"
    rf"\s+\**(?:\w\s?=\s?)?(\d+|{'|'.join(_WORDS)})\**\s+(?:\w+\s+)?(?:edits?|changes?|operations?|suggestions?)"
    r"|\bedit[ _-]budget\D{0,12}(\d+)",
    re.IGNORECASE,
)
_SKILL_HEADING = re.compile(
    r"^(?P<level>#{1,6})(?!#)[^\n]*\b(?:current|present)\s+(?:epoch\b[^\n]{0,20}?\s)?skill\b[^\n]*\n", re.M | re.I
)
_NEXT_SECTION = re.compile(
    r"^(?:(?P<level>#{1,6})(?!#)[^\n]*\b(?:trajector|attempt|budget|edits?\b|fail|success|previous|memory|ledger|patch"
    r"|guidance|task|minibatch|pool|context|comparison|update)"
    r"|<(?:attempt|trajector|task|edits|patch|ledger|memory))",
    re.MULTILINE | re.IGNORECASE,
)
_INSTRUCTIONS = re.compile(
    r"\b(?:following|current|present)\s+(?:\w+\s+)?(?:instructions?|prompt)\b[^\n`]*:[ \t]*\n", re.IGNORECASE
)
"""Words before a fenced text that the assistant was given."""
_REMARK = re.compile(r"\s*\([^()\n]*\)[ \t]*$", re.MULTILINE)
"""Such as "(The skill is empty.)"."""
_FENCE = re.compile(r"\s*(`{3,})\w*\n(?P<body>.*?)\n\1", re.DOTALL)
_ID = re.compile(
    r"\b(?:attempt[_ ]|task[_ ]|trajectory[_ ])?id\"?\s*[=:]\s*[\"'`]?(?P<named>[\w./:-]+)"
    r"|^#{1,6}\s+(?:\w+\s+)?(?:#?\d+\s*[.):/-]\s*)?(?:\w+\s*:\s*)?[\[(`\"']?(?P<heading>[\w./-]*[\d_-][\w./-]*)[\])`\"']?\s*$",
    re.MULTILINE | re.IGNORECASE,
)


def read_prompt(request: ChatRequest, families: Families = FAMILIES) -> Prompt:
    """Take a prompt of any of the systems apart."""
    text = reading.first_turn(request)
    if _OURS.search(text):
        return reading.read_prompt(request, families)
    text = _LISTED_EDIT.sub(_listed_edit, reading.without_form(text))
    skill, start, end = _skill(text)
    rest = text[:start] + "\n" + text[end:]
    blocks = [(rest[first:after], first) for first, after in _segments(rest, families)]
    return Prompt(
        text=text,
        skill=skill,
        observations=reading.observations(rest, blocks, families, _id),
        compares=reading.asks_to_compare(rest),
        limit=_limit(text),
        rules=rules_in(families),
    )


def _listed_edit(listed: re.Match[str]) -> str:
    """An edit such as `[0] op=append  content='...'` as JSON."""
    fields = {field["name"]: _unquoted(field["value"]) for field in _FIELD.finditer(listed["fields"])}
    return json.dumps({"index": int(listed["index"]), **fields}, ensure_ascii=False)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "'\"" else value


def _limit(text: str) -> int | None:
    found = _LIMIT.search(text)
    if found is None:
        return None
    number = (found[1] or found[2]).lower()
    return _WORDS.index(number) + 1 if number in _WORDS else int(number)


def _skill(text: str) -> tuple[str, int, int]:
    """The current skill and where it stands; ("", 0, 0) when the prompt shows none."""
    heading = _SKILL_HEADING.search(text)
    if heading is None:
        return _given_instructions(text)
    remark = _REMARK.match(text, heading.end())
    if remark:
        return "", heading.start(), remark.end()
    fenced = _FENCE.match(text, heading.end())
    if fenced:
        return fenced["body"], heading.start(), fenced.end()
    sections = _NEXT_SECTION.finditer(text, heading.end())
    least = len(heading["level"])  # a title above it is the skill's own
    end = next((one.start() for one in sections if len(one["level"] or "#" * least) >= least), len(text))
    return text[heading.end() : end], heading.start(), end


def _given_instructions(text: str) -> tuple[str, int, int]:
    """Fenced instructions, in prompts that do not speak of skills."""
    for named in _INSTRUCTIONS.finditer(text):
        fenced = _FENCE.match(text, named.end())
        if fenced:
            return fenced["body"], named.start(), fenced.end()
    return "", 0, 0


def _segments(text: str, families: Families) -> list[tuple[int, int]]:
    """From the id before each task to the id before the next other one."""
    marks = [found.start() for found in _ID.finditer(text)]
    starts: list[int] = []
    before = ""
    for task in find_tasks(text, families):
        start = max((mark for mark in marks if mark < task.start), default=task.start)
        if task.text != before or (starts and start > starts[-1] and start in marks):
            starts.append(start)
        before = task.text
    return list(pairwise([*sorted(set(starts)), len(text)]))


def _id(block: str) -> str:
    found = _ID.search(block)
    return (found["named"] or found["heading"]) if found else ""
