"""The simulated miner and drafter: which tasks a transcript holds, what its user found wanting, tasks for a skill.

It knows two kinds of tasks. For a brief it takes a criterion from what the user says next. For a summary of what was
done it takes one from what the agent said before: the name of the file that was asked for. What a transcript asks its
reader to do is data to it, unless its profile is gullible.
"""

import random
import re
from collections.abc import Iterator

from etude.records import ChatRequest
from etude.simulation.families import FAMILIES
from etude.simulation.families.briefs import BRAIN_FIRST, STRUCTURE, VERBOSE, VERDICT, Briefs, complaints, reworded
from etude.simulation.families.family import Family, FoundTask, find_in, relevant, right_answer
from etude.simulation.families.summaries import FILE, SUMMARISE
from etude.simulation.optimizer.profiles import Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.text import command_in, orders_in, sentences, uniform

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
    """Values by name for filling the form: a task for each brief that the user was not content with, and for each
    summary that was asked for."""
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
    tasks += [_summary(*found) for found in _summaries(text, seen)][: MOST_TASKS - len(tasks)]
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
    r"^[ \t]*[#>*\[<(-]*[ \t]*(?P<role>user|human|assistant|agent|tool|system)\b(?P<more>[^\n\])>:]{0,40})[\])>:*]+"
    r"(?P<after>[ \t]*)",
    re.MULTILINE | re.IGNORECASE,
)


_USERS = ("user", "human")


def _spoken(text: str) -> list[tuple[str, str]]:
    """Who said what, in order, by the roles that lines begin with. Calls of tools are nothing that is said."""
    marks = list(_ROLE.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    return [
        (mark["role"].lower(), text[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=True)
        if mark["role"].lower() in _USERS or not mark["more"].strip()
    ]


def _user_turns(text: str) -> list[str]:
    """What the user said, in order."""
    return [said for role, said in _spoken(text) if role in _USERS]


_SUMMARISE = re.compile(
    r"^\W*(?:(?:and|now|then|please)\s+)*summari[sz]e what you (?:did|have done)\W*$", re.IGNORECASE
)


def _summaries(text: str, seen: int) -> Iterator[tuple[str, str]]:
    """The request before each wish for a summary, and the file that it and the agent's answer to it name."""
    request, answer, number = "", "", -1
    for role, said in _spoken(text):
        if role not in _USERS:
            answer = f"{answer}\n{said}"
            continue
        number += 1
        if number >= seen and _SUMMARISE.match(said):
            file = next((name for name in FILE.findall(request) if name in answer), "")
            if file and "\n" not in request:
                yield request, file
        request, answer = said, ""


def _summary(request: str, file: str) -> dict[str, object]:
    """Nobody said whether the summary was a good one: what tells it is what the user has to know."""
    return {
        "intent": SUMMARISE.format(request if request.endswith((".", "?", "!")) else f"{request}."),
        "context": "",
        "checks": [{"op": "contains", "arg": file, "requirement": "names the file that was written"}],
        "rubric": "It names the file that was written.",
        "kind": "summary",
        "self_contained": True,
        "satisfied": "unknown",
        "said": [],
    }


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


_WANTED = re.compile(r"^# Tasks wanted: (\d+)$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: *(.+)$", re.MULTILINE)
_LONG = 8
"""Words of a sentence that is known again when it is copied."""


def draft(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """Values by name for filling the form: tasks of the families that the skill is about, none where it is about no
    known one. Each question has other tasks."""
    wanted = _WANTED.search(prompt.text)
    about = _families(prompt.skill)
    rng, drafts = random.Random(f"drafts/{prompt.text}"), list[dict[str, object]]()
    for number in range(int(wanted[1]) if wanted and about else 0):
        family = about[number % len(about)]
        text = family.make(rng)
        if uniform("missing", text) < profile.missing:
            continue
        if drafts and uniform("duplicate", text) < profile.duplicate:
            drafts.append(drafts[-1])
            continue
        copied = [each for each in sentences(prompt.skill) if len(each.split()) >= _LONG]
        said = f" {rng.choice(copied)}" if copied and uniform("copied", text) < profile.misanchored else ""
        drafts.append({"request": text + said, "kind": family.kind(text), **_criteria(family, text, profile)})
    return {"drafts": drafts}


def _families(skill: str) -> list[Family]:
    """Those that the description speaks of; without one, the whole text."""
    described = _DESCRIPTION.search(skill)
    about = described[1] if described else skill
    return [family for family in FAMILIES if re.search(family.subject, about, re.IGNORECASE)]


def _criteria(family: Family, text: str, profile: Profile) -> dict[str, object]:
    if uniform("vague", text) < profile.vague:
        short = {"op": "max_chars", "arg": "4000", "requirement": "is not too long"}
        return {"checks": [short], "rubric": ""}
    if family.prose:
        return {"checks": [], "rubric": " ".join(RUBRICS.values())}
    answer = right_answer(family, text)
    if uniform("harmful", text) < profile.harmful and (steps := relevant(family, text)):
        answer = family.solve(text, frozenset((steps[0].id,))).answer
    whole = {"op": "regex", "arg": rf"(?i)\A\s*{re.escape(answer)}\.?\s*\Z"}
    return {"checks": [{**whole, "requirement": "nothing is missing, added or out of place"}], "rubric": ""}
