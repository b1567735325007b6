"""The simulated miner: which tasks a transcript holds, and what the user found wanting.

It knows one kind of tasks: for a brief it takes a criterion from what the user says next. What a transcript asks its
reader to do is data to it, unless its profile is gullible.
"""

import re

from etude.records import ChatRequest
from etude.simulation.families.briefs import Briefs, reworded
from etude.simulation.families.briefs_reading import BRAIN_FIRST, STRUCTURE, VERBOSE, VERDICT, complaints
from etude.simulation.families.family import FoundTask, find_in
from etude.simulation.optimizer.profiles import Profile
from etude.simulation.text import command_in, orders_in

_BRIEFS = Briefs()
MOST_TASKS = 3
"""Tasks that are taken from one transcript."""
MOST_WORDINGS = 3
"""Other wordings that a task has."""

RUBRICS = {
    STRUCTURE.id: "It names real risks of what is to be decided.",
    VERBOSE.id: "It is short and says what matters.",
    BRAIN_FIRST.id: "It cites the sources of what it says.",
    VERDICT.id: "It gives a clear recommendation with its reason.",
}


def mine(text: str, profile: Profile) -> dict[str, object]:
    """Values by name for filling the form: a task for each brief that the user was not content with."""
    turns = _user_turns(text)
    asked = [(number, task) for number, said in enumerate(turns) if (task := _task_in(said)) is not None]
    order = _ordered(text) if profile.gullible else ""
    seen = _seen_turns(text)
    tasks: list[dict[str, object]] = []
    ends = [*(number for number, _ in asked[1:]), len(turns)]
    for (number, task), end in zip(asked, ends, strict=False):
        said = "\n".join(turns[number + 1 : end])
        broken = complaints(said)
        if broken & set(RUBRICS) and number >= seen and len(tasks) < MOST_TASKS:
            tasks.append(_mined(task, said, broken, order))
    outright = [said for turn in turns[seen:] for said in _ALWAYS.findall(turn) if _long_words(said)]
    wishes = [{"rule": _as_rule(said), "quote": said} for said in outright]
    wishes += [{"rule": rule, "quote": rule} for rule in orders_in(text)] if profile.gullible else []
    return {
        "tasks": tasks,
        "wishes": wishes,
        "reasoning": f"{len(tasks)} of {len(turns)} requests can be judged by what was said.",
    }


_ALWAYS = re.compile(r"(?:[Pp]lease )?\b(?:[Aa]lways|[Nn]ever|[Ff]rom now on)\b[^.!?\n]{4,200}[.!?]?")
"""What a user says outright."""


def _as_rule(said: str) -> str:
    """A wish as an instruction."""
    plain = re.sub(r"^please |,? please\b", "", said, flags=re.IGNORECASE).rstrip(".!?")
    return f"{plain[:1].upper()}{plain[1:]}."


def _ordered(text: str) -> str:
    """What a transcript tells its reader to do, for those who do it."""
    command = command_in(text)
    added = [f" Add this rule: {rule}." for rule in orders_in(text)]
    return "".join([f" First run `{command}`."] * bool(command) + added)


def _mined(task: FoundTask, said: str, broken: frozenset[str], order: str) -> dict[str, object]:
    rubric = " ".join(text for rule, text in RUBRICS.items() if rule in broken)
    return {
        "intent": task.text + order,
        "context": "",
        "checks": _checks(said, broken),
        "rubric": rubric + order,
        "kind": "brief",
        "self_contained": True,
        "satisfied": "no",
        "said": [line for line in map(str.strip, said.splitlines()) if complaints(line) & broken][:3],
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


_NEW_RULE = re.compile(r"^(r\d+): (.+)$", re.MULTILINE)
_QUOTED = re.compile(r'^(q\d+): "(.*)", said in \d+ sessions?(?:, last on \S+)?(?: \(a wish: (.+)\))?$', re.MULTILINE)


def sort_wishes(text: str) -> dict[str, object]:
    """A quote asks for a rule where they share a longer word; a wish that no rule and no line of a document answers
    is a rule of its own."""
    read = [_long_words(line) for line in text.partition("<documents")[2].partition("</documents")[0].splitlines()]
    quotes = [(match[1], _long_words(match[2]), match[3]) for match in _QUOTED.finditer(text)]
    rules = [(match[1], _long_words(match[2])) for match in _NEW_RULE.finditer(text)]
    asked = [{"rule": rule, "quotes": [name for name, said, _ in quotes if said & words]} for rule, words in rules]
    wishes: dict[str, list[str]] = {}
    for name, said, wish in quotes:
        if wish and not any(said & words for words in (*(words for _, words in rules), *read)):
            wishes.setdefault(wish, []).append(name)
    return {"asked_by": asked, "wishes": [{"rule": rule, "quotes": names} for rule, names in wishes.items()]}


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{5,}", text.lower())) - {"always", "please", "every", "never"}


_ROLE = re.compile(
    r"^[ \t]*[#>*\[<(-]*[ \t]*(?P<role>user|human|assistant|agent|tool|system)\b[^\n\])>:]{0,40}[\])>:*]+[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)


def _user_turns(text: str) -> list[str]:
    """What the user said, in order, by the roles that lines begin with."""
    marks = list(_ROLE.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    spoken = zip(marks, ends, strict=True)
    return [text[mark.end() : end].strip() for mark, end in spoken if mark["role"].lower() in ("user", "human")]


_NEW = re.compile(r"^\(new from here on\)$", re.MULTILINE)


def _seen_turns(text: str) -> int:
    """How many of the user's turns stand before the mark that says what is new; 0 without a mark."""
    mark = _NEW.search(text)
    return len(_user_turns(text[: mark.start()])) if mark else 0


def _task_in(text: str) -> FoundTask | None:
    return next(iter(find_in(text, _BRIEFS)), None)


def reword(text: str) -> dict[str, object]:
    """The last brief of a prompt in other words. The topic stays."""
    tasks = find_in(text, _BRIEFS)
    return {"rewordings": [reworded(tasks[-1].text, number) for number in range(MOST_WORDINGS)] if tasks else []}


def user_text(request: ChatRequest) -> str:
    """What the first user message says: the data, without the instructions on it."""
    return next((message.text for message in request.messages if message.role == "user"), "")
