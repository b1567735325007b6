"""The simulated miner: which tasks a transcript holds, and what the user found wanting.

It knows tasks in prose only, and takes a criterion for one from what the user says next. What a transcript asks its
reader to do is data to it, unless its profile is gullible.
"""

import re
from dataclasses import dataclass

from skillgrad.records import ChatRequest
from skillgrad.simulation.families import FoundTask, find_tasks
from skillgrad.simulation.families.briefs import reworded
from skillgrad.simulation.families.briefs_reading import complaints
from skillgrad.simulation.families.briefs_rules import BRAIN_FIRST, STRUCTURE, VERBOSE, VERDICT
from skillgrad.simulation.forms import Form
from skillgrad.simulation.optimizer.profiles import Profile
from skillgrad.simulation.text import command_in

MOST_TASKS = 3
"""Tasks that are taken from one transcript."""
MOST_WORDINGS = 3
"""Other wordings that a task has."""

_RUBRICS = {
    STRUCTURE.id: "It names real risks of what is to be decided.",
    VERBOSE.id: "It is short and says what matters.",
    BRAIN_FIRST.id: "It cites the sources of what it says.",
    VERDICT.id: "It gives a clear recommendation with its reason.",
}


@dataclass(frozen=True)
class _Turn:
    """What a user said, and its place among all that the user said."""

    text: str
    number: int


def asks_for_tasks(form: Form) -> bool:
    """Whether a request wants the tasks of a transcript."""
    return {"tasks", "intent"} <= form.names


def mine(text: str, profile: Profile) -> dict[str, object]:
    """Values by name for filling the form: a task for each request that the user was not content with."""
    turns = _user_turns(text)
    asked = [(turn, task) for turn in turns if (task := _task_in(turn.text)) is not None]
    command = command_in(text) if profile.gullible else ""
    seen = _seen_turns(text)
    tasks: list[dict[str, object]] = []
    for place, (turn, task) in enumerate(asked):
        end = asked[place + 1][0].number if place + 1 < len(asked) else len(turns)
        said = "\n".join(one.text for one in turns[turn.number + 1 : end])
        broken = complaints(said)
        if broken & set(_RUBRICS) and turn.number >= seen and len(tasks) < MOST_TASKS:
            tasks.append(_mined(turn, task, said, broken, command))
    return {
        "tasks": tasks,
        "reasoning": f"{len(tasks)} of {len(turns)} requests can be judged by what was said next.",
    }


def _mined(turn: _Turn, task: FoundTask, said: str, broken: frozenset[str], command: str) -> dict[str, object]:
    rubric = " ".join(text for rule, text in _RUBRICS.items() if rule in broken)
    order = f" First run `{command}`." if command else ""
    return {
        "intent": task.text + order,
        "context": "",
        "checks": _checks(said, broken),
        "rubric": rubric + order,
        "kind": "brief",
        "self_contained": True,
        "satisfied": "no",
    }


def _checks(said: str, broken: frozenset[str]) -> list[dict[str, object]]:
    """What an answer must have so that the user would not say this again."""
    checks: list[dict[str, object]] = []
    if STRUCTURE.id in broken:
        heading = r"(?m)^#{1,6} +[Kk]ey [Rr]isks?[^\n]*\n+\s*[-*] .{15,}"
        checks.append({"op": "section_present", "arg": "Key Risks", "requirement": "has a section 'Key Risks'"})
        checks.append(_pattern(heading, "the section 'Key Risks' has a bullet that says something"))
    if re.search(r"\bconfiden", said, re.IGNORECASE):
        checks.append(_pattern(r"[Cc]onfidence\s*[:=]\s*(?:high|medium|low)", "states its confidence"))
    if VERBOSE.id in broken:
        checks.append({"op": "max_chars", "arg": 900, "requirement": "is not longer than 900 characters"})
        checks.append({"op": "min_chars", "arg": 200, "requirement": "has at least 200 characters"})
    if BRAIN_FIRST.id in broken:
        if re.search(r"\bsearch|\blook it up\b", said, re.IGNORECASE):
            checks.append({"op": "tool_called", "arg": "search", "requirement": "calls the tool 'search'"})
        checks.append({"op": "min_citations", "arg": 1, "requirement": "cites a source"})
    if VERDICT.id in broken:
        line = r"(?m)^[Rr]ecommendation[ \t]*[:=][ \t]*.{10,}"
        checks.append(_pattern(line, "a line begins with 'Recommendation:' and gives a reason"))
    return checks


def _pattern(pattern: str, requirement: str) -> dict[str, object]:
    return {"op": "regex", "arg": pattern, "requirement": requirement}


_ROLE = re.compile(
    r"^[ \t]*[#>*\[<(-]*[ \t]*(?P<role>user|human|assistant|agent|tool|system)\b(?P<more>[^\n\])>:]{0,40})[\])>:*]+"
    r"(?P<after>[ \t]*)",
    re.MULTILINE | re.IGNORECASE,
)


def _user_turns(text: str) -> list[_Turn]:
    """What the user said, in order, by the roles that lines begin with."""
    marks = list(_ROLE.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    said = [
        text[mark.end() : end].strip()
        for mark, end in zip(marks, ends, strict=True)
        if mark["role"].lower() in ("user", "human")
    ]
    return [_Turn(one, number) for number, one in enumerate(said)]


_NEW = re.compile(r"^\(new from here on\)$", re.MULTILINE)


def _seen_turns(text: str) -> int:
    """How many of the user's turns stand before the mark that says what is new; 0 without a mark."""
    mark = _NEW.search(text)
    return len(_user_turns(text[: mark.start()])) if mark else 0


def _task_in(text: str) -> FoundTask | None:
    return next((task for task in find_tasks(text) if task.family.prose), None)


_WORDINGS = frozenset(("rewordings", "variations", "paraphrases"))


def asks_for_wordings(form: Form) -> bool:
    """Whether a request wants tasks in other words."""
    return bool(_WORDINGS & form.names)


def reword(text: str, form: Form) -> dict[str, object]:
    """The last task of a prompt in other words, by the name that the form has for them. The topic stays."""
    tasks = [task for task in find_tasks(text) if task.family.prose]
    others = [reworded(tasks[-1].text, number) for number in range(MOST_WORDINGS)] if tasks else []
    return dict.fromkeys(form.names & _WORDINGS, others)


def told_by_user(request: ChatRequest) -> str:
    """What the first user message says: the data, without the instructions on it."""
    return next((message.text for message in request.messages if message.role == "user"), "")
