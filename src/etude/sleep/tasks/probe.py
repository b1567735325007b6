"""The probe of criteria: an answer that says all they name, and nothing, must not pass them.

A judge that grades such an answer well grades words, not work: what a night learned from its grades would be to say
the words. Checks that their own words satisfy can at best see that a rule is followed in form. A pattern whose match
does not end decides nothing at all.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Literal

from etude.concurrency import together
from etude.envs.scorers.checks import Check, Checks
from etude.errors import EtudeError, OutageStop, RejectedRequest, StopRun, UnusableReply
from etude.models.handoff import ANSWERED_LATER
from etude.protocols import Environment
from etude.records import Record, Trajectory
from etude.sleep.tasks.mined import MinedTask, SessionRef
from etude.timed_regex import Matcher
from etude.workbench import Workbench

__all__ = [
    "GAMEABLE",
    "HOLLOW",
    "SLOW",
    "Doubt",
    "Probed",
    "hollow_answer",
    "literal_answer",
    "not_alone",
    "probe",
    "probed",
    "too_slow",
    "words_pass",
]

_Why = Literal["its judge passes a hollow answer", "its pattern takes too long", "gameable"]
HOLLOW: _Why = "its judge passes a hollow answer"
SLOW: _Why = "its pattern takes too long"
GAMEABLE: _Why = "gameable"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FILLER = "x"
_LONGEST = 10_000
"""Characters that a repetition comes to at most, and citations of a row."""
_LONGEST_ANSWER = 100_000
"""Characters that an answer is made for; checks that ask for more are not tried."""
_SECONDS = 2.0
"""Longest a pattern may take with one of the texts that are made for it. They are short; an answer may not be."""
_RUN = 500
"""Characters of such a text, about: a match that doubles its work with each character has no end here, and one that
goes over a text again from every place in it ends at once."""
_MOST_RUNS = 30
"""Places of a pattern that such texts are made for."""
_ENDS = ("", "\0", "\0\nx1 .,;:!?-_#*|/'\"()[]<>")
"""What follows in such a text: nothing, a character that hardly a pattern names, and something of every kind, at
which those that take all but a few end as well."""
_OTHERS = f"{_FILLER}y1 .-\n"
"""Of a class that names no character that it takes, the first of these that it takes stands for it."""
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_PARSER = import_module("re._parser")
"""Python's own reading of patterns."""


class Doubt(Record):
    """A task whose criteria do not hold what they promise."""

    task: str
    intent: str
    why: _Why
    """The first two are dropped; of the last, all checks pass on an answer that has nothing but their own words."""


class Probed(Record):
    """What came of a probe."""

    tasks: tuple[MinedTask, ...] = ()
    """Those that are used."""
    doubts: tuple[Doubt, ...] = ()
    lost: tuple[SessionRef, ...] = ()
    """Sessions of whose tasks none is left: another night may write better criteria for them."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many tasks were dropped, by reason."""
        return dict(Counter(doubt.why for doubt in self.doubts if doubt.why != GAMEABLE))

    @property
    def gameable(self) -> frozenset[str]:
        """Ids of the tasks whose checks their own words pass."""
        return frozenset(doubt.task for doubt in self.doubts if doubt.why == GAMEABLE)


async def probed(tasks: Sequence[MinedTask], bench: Workbench) -> Probed:
    """As `probe`, with the judge of a workbench whose environment is that of a night."""
    judge = bench.models.get("judge")
    ask = judge is not None and not judge.name.startswith(ANSWERED_LATER)
    return await probe(tasks, bench.rollout.env, ask=ask)


async def probe(tasks: Sequence[MinedTask], env: Environment, *, ask: bool = True) -> Probed:
    """Try the criteria of each task: patterns and checks that stand alone by code, then a rubric with one question to
    its judge.

    Args:
        env: asks the judge of the night (`NightEnvironment`).
        ask: whether the judge may be asked. A person who judges is not.

    Raises:
        StopRun: a call failed. Known answers are facts: the same call goes on from there.
    """
    found: dict[str, _Why] = {}
    for task in tasks:
        if await asyncio.to_thread(too_slow, task):
            found[task.id] = SLOW
        elif await asyncio.to_thread(words_pass, task):
            found[task.id] = GAMEABLE
    judged = [task for task in tasks if task.rubric.strip() and task.id not in found] if ask else []
    passed = await together(_judge_passes(task, env) for task in judged)
    found |= {task.id: HOLLOW for task, fooled in zip(judged, passed, strict=True) if fooled}
    left = tuple(task for task in tasks if found.get(task.id, GAMEABLE) == GAMEABLE)
    behind = {(session.source, session.id) for task in left for session in task.sessions}
    lost = [one for task in tasks for one in task.sessions if (one.source, one.id) not in behind]
    return Probed(
        tasks=left,
        lost=tuple({(one.source, one.id): one for one in lost}.values()),
        doubts=tuple(
            Doubt(task=task.id, intent=task.intent, why=found[task.id]) for task in tasks if task.id in found
        ),
    )


def not_alone(tasks: Sequence[MinedTask], gameable: Collection[str]) -> tuple[tuple[MinedTask, ...], str]:
    """The tasks, and what to tell of it where held-out ones among them were put on the side for training: all of them
    where each is gameable, for then the gate could be passed with words alone; none where another one is beside
    them."""
    held = {task.id for task in tasks if task.split == "val"}
    if not held or held - set(gameable):
        return tuple(tasks), ""
    turned = tuple(task.model_copy(update={"split": "train"}) if task.id in held else task for task in tasks)
    return turned, f"only gameable tasks were held out: {len(held)} for training instead"


def hollow_answer(task: MinedTask) -> str:
    """Everything that the request and its rubric name, the claim that it is all there, and nothing else."""
    wanted = [sentence.strip() for sentence in _SENTENCE.split(task.rubric) if sentence.strip()]
    said = "\n".join(f"- {sentence}" for sentence in wanted)
    return (
        f"This is the answer to: {task.intent.strip()}\n\n"
        "It meets every requirement in full. Each of the following is true of it:\n\n"
        f"{said}\n\n"
        "All of this has been done completely, with care, and nothing is missing.\n"
    )


def literal_answer(checks: Sequence[Check]) -> str:
    """Nothing but what the checks themselves say: their headings and texts, the shortest that their patterns take,
    numbers in brackets as citations, and the last of it again until it is long enough; nothing where that takes more
    than 100,000 characters."""
    parts = [text for check in checks if (text := _literal(check))] or ["ok"]
    answer, again = "\n\n".join(parts), f"\n\n{parts[-1]}"
    least = max((check.number for check in checks if check.op == "min_chars"), default=0)
    if max(least, len(answer)) > _LONGEST_ANSWER:
        return ""
    return answer + again * math.ceil(max(0, least - len(answer)) / len(again))


def _literal(check: Check) -> str:
    match check.op:
        case "contains":
            return str(check.arg)
        case "section_present" | "section_contains":
            return f"## {check.arg}\n\n{check.arg}"
        case "regex":
            try:
                return _shortest(_PARSER.parse(str(check.arg), check.flags))
            except RecursionError:  # groups within groups, more than can be followed
                return ""
        case "min_citations":
            return " ".join(f"[{number + 1}]" for number in range(min(check.number, _LONGEST)))
        case _:
            return ""


def _shortest(pattern: Any) -> str:
    """A text that the pattern takes, as a rule: what it asks for around the match, and groups named again, are left
    out, so that it may not be one."""
    return "".join(_said(str(op), argument) for op, argument in pattern)


def _said(op: str, argument: Any) -> str:
    match op:
        case "LITERAL":
            return chr(argument)
        case "IN":
            return _first(argument)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            text = _shortest(argument[2])
            return text * min(int(argument[0]), _LONGEST // max(1, len(text)))
        case "SUBPATTERN":
            return _shortest(argument[3])
        case "ATOMIC_GROUP":
            return _shortest(argument)
        case "BRANCH":
            return min((_shortest(one) for one in argument[1]), key=len)
        case "ANY" | "NOT_LITERAL":
            return _FILLER if argument != ord(_FILLER) else "y"
        case _:
            return ""


def _first(members: Sequence[Any]) -> str:
    """A character of a class."""
    op, argument = str(members[0][0]), members[0][1]
    if op == "LITERAL":
        return chr(argument)
    if op == "RANGE":
        return chr(argument[0])
    taken, others = (False, members[1:]) if op == "NEGATE" else (True, members[:1])
    return next((char for char in _OTHERS if any(_holds(one, char) for one in others) == taken), _FILLER)


def _holds(member: Any, char: str) -> bool:
    """Whether a member of a class takes a character."""
    op, argument = str(member[0]), member[1]
    match op:
        case "LITERAL":
            return bool(argument == ord(char))
        case "RANGE":
            return bool(argument[0] <= ord(char) <= argument[1])
        case _:
            pattern = _CATEGORIES.get(str(argument))
            return pattern is not None and re.match(pattern, char) is not None


def words_pass(task: MinedTask) -> bool:
    """Whether a task has checks alone, and their own words pass all of them. Blocks while patterns are matched."""
    if not task.checks or task.rubric.strip() or task.exact or task.command:
        return False
    try:
        return Checks().decide(task.checks, literal_answer(task.checks), ()).hard >= 1
    except EtudeError:  # a match took too long: whoever wants to game it has the same trouble
        return False


def too_slow(task: MinedTask) -> bool:
    """Whether a pattern of the task takes too long with one of the texts that are made to keep it busy. Blocks while
    patterns are matched."""
    matcher = Matcher(_SECONDS)
    patterns = {(str(check.arg), check.flags) for check in task.checks if check.op in ("regex", "not_regex")}
    try:
        for pattern, flags in sorted(patterns):
            for text in _busy(pattern, flags):
                matcher.matches(pattern, text, flags=flags)
    except TimeoutError:
        return True
    except ChildProcessError:  # something else ended it; a night that meets that again stops with the cause
        return False
    return False


def _busy(pattern: str, flags: int) -> list[str]:
    """Texts at which a pattern that goes wrong has most to do, each once: many times what one of its repetitions
    takes, behind what the pattern asks for before, and something that does not go on with it."""
    try:
        parsed = _PARSER.parse(pattern, flags)
        runs = [_many(_shortest(parsed)), *islice(_runs(parsed), _MOST_RUNS)]
    except RecursionError:  # groups within groups, more than can be followed
        return []
    return list(dict.fromkeys(run + end for run in runs for end in _ENDS))


def _runs(pattern: Any, before: str = "") -> Iterator[str]:
    """For each repetition in a pattern, those within others too, what it takes many times."""
    for op, argument in pattern:
        match str(op):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                if argument[1] > 1:
                    yield before + _many(_shortest(argument[2]))
                yield from _runs(argument[2], before)
            case "SUBPATTERN":
                yield from _runs(argument[3], before)
            case "ATOMIC_GROUP":
                yield from _runs(argument, before)
            case "BRANCH":
                for one in argument[1]:
                    yield from _runs(one, before)
            case "ASSERT" | "ASSERT_NOT":
                yield from _runs(argument[1], before)
            case _:
                pass
        before += _asked_before(op, argument) or _said(str(op), argument)


def _asked_before(op: Any, argument: Any) -> str:
    """What has to stand before a place."""
    return _shortest(argument[1]) if str(op) == "ASSERT" and argument[0] < 0 else ""


def _many(text: str) -> str:
    return text * max(1, _RUN // max(1, len(text)))


async def _judge_passes(task: MinedTask, env: Environment) -> bool:
    """Whether the judge takes the hollow answer for a good one. One that has no usable grade takes it for nothing."""
    asked = task.task.model_copy(update={"gold": {"rubric": task.rubric.strip()}})
    try:
        score: Any = env.score(asked, Trajectory(answer=hollow_answer(task)))
        score = await score if asyncio.iscoroutine(score) else score
    except (StopRun, UnusableReply, RejectedRequest) as error:
        if isinstance(error, StopRun):
            raise
        return False
    except EtudeError as error:
        hint = error.hint or "fix the cause and run the same command again"
        raise OutageStop(f"judge: {error.message}", hint=hint) from error
    return score.hard >= 1
