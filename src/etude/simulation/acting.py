"""How the simulated target works with tools: it opens a skill that fits, writes the answer where the task wants it,
and then says what it did. What it does next follows from the conversation alone.

A request of an agent program holds much beside the task and the skill, so what teaches is kept apart from the rest:
only texts that are a skill, or largely say something about rules, count. Which program asks does not matter then.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from etude.records import ChatRequest, Message, TextPart, ToolCall
from etude.simulation.conversation import Scene
from etude.simulation.families import Families, find_tasks, telling_rules
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.text import learned_blocks, sentences
from etude.simulation.tools import call_to_open, call_to_print, call_to_search, call_to_write

DENSE = 0.1
"""Share of sentences about rules from which on a text teaches."""
FITS = 0.05
"""Share of words about the task from which on the description of a skill fits: long ones mention many things."""
LONG_PROMPT = 4000
"""Characters of a system prompt that is a program's own: how to answer stands elsewhere."""


def look(request: ChatRequest, families: Families) -> Scene | None:
    """The scene of a request; None when it has no task."""
    place = _place_of_task(request.messages, families)
    if place is None:
        return None
    text = request.messages[place].text
    task = find_tasks(text, families)[-1]
    around = text[: task.start] + "\n" + text[task.end :]
    rules = telling_rules(task.family)
    lessons: list[str] = []
    said: list[str] = []
    for at, message in enumerate(request.messages):
        if message.role == "assistant":
            continue
        parts = [around] if at == place else [part.text for part in message.content if isinstance(part, TextPart)]
        taught = [lesson for part in parts if (lesson := _lesson(part, rules))]
        lessons += taught
        asked = message.role == "user" or (message.role == "system" and len(message.text) <= LONG_PROMPT)
        said += parts if asked else taught
    return Scene(
        task=task,
        lessons="\n\n".join(lessons),
        instructions="\n\n".join(said),
        file=_wanted_file(text[task.end :]) or _wanted_file(text[: task.start]),
        since=request.messages[place + 1 :],
    )


def _place_of_task(messages: Sequence[Message], families: Families) -> int | None:
    """The last user message with a task. What programs add after the result of a tool sets none."""
    found: int | None = None
    after_result = False
    for at, message in enumerate(messages):
        if message.role == "user" and not after_result and find_tasks(message.text, families):
            found = at
        after_result = message.role == "tool" or (message.role != "assistant" and after_result)
    return found


_BEGINS = (
    re.compile(r"^# Skill(?:: .*)?[ \t]*$|^Base directory for this skill:", re.MULTILINE),
    re.compile(r"^(?:[ \t]*\d+[\t→|:])?---[ \t]*\n(?=(?:.*\n){0,8}?.*\bname:[ \t]*[\"']?\w)", re.MULTILINE),
)
"""The heading above a skill in a prompt or in what a tool shows; else its front matter."""


def _lesson(text: str, rules: Sequence[TeachableRule]) -> str:
    """The part of a text that teaches: from where a skill begins, else all of it if it is largely about rules, else
    its blocks of learned rules."""
    begin = next((found for begins in _BEGINS if (found := begins.search(text))), None)
    if begin:
        return text[begin.start() :]
    about = len({one.sentence for one in statements(text, rules)})
    if about and about >= DENSE * len(sentences(text)):
        return text
    return "\n\n".join(text[start:end] for start, end in learned_blocks(text))


_WANTED = re.compile(
    r"\b(?:writ|sav|put|stor|record|creat)\w*\b[^.\n]{0,80}?(?<![\w./-])(?P<path>[\w./-]*\w\w\.[A-Za-z]\w{1,4})\b",
    re.I,
)


def _wanted_file(text: str) -> str | None:
    found = _WANTED.search(text)
    return found["path"] if found else None


def next_call(request: ChatRequest, scene: Scene, answer: str, query: str) -> ToolCall | None:
    """The tool to call next, None when all is done. `query` is to be looked up first, unless it is empty."""
    opening = _opening(request, scene)
    if opening is not None:
        return opening
    search = call_to_search(request.tools, query) if query else None
    if search is not None and _result(scene.since, search.name, query) is None:
        return search
    if scene.file is None:
        return None
    text = answer + "\n"
    for call in (call_to_write(request.tools, scene.file, text), call_to_print(request.tools, scene.file, text)):
        if call is None:
            continue
        result = _result(scene.since, call.name, scene.file)
        if result is None:
            return call
        if not _FAILED.search(result[:200]):
            return None
    return None


_FAILED = re.compile(
    r"\b(?:error|errors|failed|denied|invalid|not been read|cannot|not permitted|not allowed|must be absolute)\b",
    re.I,
)


def _result(since: Sequence[Message], tool: str, mentioned: str) -> str | None:
    """What the last call of the tool that mentioned this came to; None when there was none."""
    calls = [call for message in since for call in message.tool_calls if call.name == tool]
    ids = [call.id for call in calls if mentioned in _arguments(call)]
    if not ids:
        return None
    return "\n".join(message.text for message in since if message.tool_call_id == ids[-1])


def _arguments(call: ToolCall) -> str:
    """The arguments, without the escapes of JSON."""
    try:
        return json.dumps(json.loads(call.arguments), ensure_ascii=False)
    except ValueError:
        return call.arguments


@dataclass(frozen=True)
class _Listed:
    """A skill of which the request shows the description only."""

    name: str
    description: str
    path: str | None


_ENTRY = re.compile(
    r"<skill>\s*<name>(?P<name>[^<]+)</name>\s*<description>(?P<about>[^<]*)</description>"
    r"(?:\s*<location>(?P<path>[^<]*)</location>)?"
)
_LINE = re.compile(
    r"^(?:-(?= \S+: )|•(?= \S+ - )) (?P<name>[a-z0-9][a-z0-9:-]*?)(?:: | - )(?P<about>.+?)"
    r"(?: \(file: (?P<path>[^)\n]+)\))?$",
    re.MULTILINE,
)
_ROOT = re.compile(r"^- `(?P<short>[\w-]+)` = `(?P<long>[^`\n]+)`", re.MULTILINE)


def _opening(request: ChatRequest, scene: Scene) -> ToolCall | None:
    """The call that opens the listed skill which fits best, None when none does or it was opened."""
    subject = re.compile(scene.task.family.subject, re.I)
    best: tuple[float, _Listed] | None = None
    for skill in _listed(request):
        words = f"{skill.name} {skill.description}"
        share = len(subject.findall(words)) / len(words.split())
        if share >= FITS and (best is None or share > best[0]):
            best = share, skill
    if best is None:
        return None
    call = call_to_open(request.tools, best[1].name, best[1].path)
    if call is None or _result(scene.since, call.name, best[1].path or best[1].name) is not None:
        return None
    return None if _result(scene.since, call.name, best[1].name) is not None else call


def _listed(request: ChatRequest) -> list[_Listed]:
    """The skills that programs list, as elements or as lines under a word on skills."""
    found: list[_Listed] = []
    for message in request.messages:
        for part in message.content if message.role in ("system", "user") else ():
            if not isinstance(part, TextPart) or not re.search(r"(?:\b|_)skills\b", part.text):
                continue
            roots = {root["short"]: root["long"] for root in _ROOT.finditer(part.text)}
            for entry in (*_ENTRY.finditer(part.text), *_LINE.finditer(part.text)):
                short, _, rest = (entry["path"] or "").partition("/")
                path = f"{roots[short]}/{rest}" if short in roots else entry["path"]
                found.append(_Listed(entry["name"].strip(), entry["about"].strip(), path))
    return found
