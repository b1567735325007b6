"""The simulated target: it does the task it finds, as well as the instructions around it taught it.

With tools it opens a skill that fits, writes the answer where the task wants it, and then says what it did; what it
does next follows from the conversation alone. A request of an agent program holds much beside the task and the skill,
so only texts that are a skill, or largely say something about rules, teach.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from etude.records import ChatRequest, Message, Reply, TextPart, Tool, ToolCall, digest, user
from etude.simulation.families import Families, FoundTask, find_tasks, telling_rules
from etude.simulation.families.family import Family, Solution
from etude.simulation.noise import Reliability, draw_faults
from etude.simulation.rules import TeachableRule, statements
from etude.simulation.schemas import WantedForm, concept, fill, reply_calling, reply_in_form, reply_with, wanted_form
from etude.simulation.text import learned_blocks, sentences


@dataclass(frozen=True)
class Scene:
    """A request taken apart."""

    task: FoundTask
    lessons: str
    """All that may teach rules."""
    instructions: str
    """All that may say how to answer."""
    file: str | None = None
    """Where the task wants the answer, when there are tools."""
    since: tuple[Message, ...] = ()
    """What happened after the task was set, when there are tools."""


def read(request: ChatRequest, families: Families) -> Scene | None:
    """The last task in the last message that has one, user messages first; all else teaches, whoever says it. None
    when there is no task."""
    given = [message for message in request.messages if message.role != "assistant"]
    texts = [message.text for message in given]
    place = _newest_task(given, texts, families)
    if place is None:
        return None
    task = find_tasks(texts[place], families)[-1]
    texts[place] = texts[place][: task.start] + texts[place][task.end :]
    said = "\n\n".join(texts)
    return Scene(task, said, said)


def _newest_task(given: Sequence[Message], texts: Sequence[str], families: Families) -> int | None:
    newest_first = range(len(given) - 1, -1, -1)
    order = [place for place in newest_first if given[place].role == "user"]
    order += [place for place in newest_first if given[place].role != "user"]
    return next((place for place in order if find_tasks(texts[place], families)), None)


_TAGS = ("answer", "final_answer", "final", "output", "result", "solution", "response")
_TAG = re.compile(rf"<({'|'.join(_TAGS)})>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\b")


def answer_frame(instructions: str) -> tuple[str, str]:
    """What to put before and after the final answer: the tag the prompt shows, `\\boxed{}`, else a line `Answer:`."""
    tag = _TAG.search(instructions)
    if tag:
        return f"<{tag[1]}>", f"</{tag[1]}>"
    return ("\\boxed{", "}") if _BOXED.search(instructions) else ("Answer: ", "")


UNKNOWN_TASK = "I do not know how to do this task."


def attempt(target: Reliability, request: ChatRequest, families: Families) -> Reply:
    """Do the task of a request, with its tools where they help. The seed is 0 when there is none."""
    acts = request.tools and request.forced_tool is None and request.response_schema is None
    acted = look(request, families) if acts else None
    scene = acted or read(request, families)
    # A form for the reply is looked for in what is not a program's own.
    form = wanted_form(ChatRequest(messages=(user(acted.instructions),)) if acted else request)
    if scene is None:
        if form is not None:
            return reply_in_form(request, form, {"answer": UNKNOWN_TASK, "reasoning": UNKNOWN_TASK})
        return reply_with(request, UNKNOWN_TASK)
    family, text = scene.task.family, scene.task.text
    faults = draw_faults(target, family, text, scene.lessons, 0 if request.seed is None else request.seed)
    solution = family.solve(text, faults)
    call = next_call(request, acted, solution.answer, family.looks_up(text, faults)) if acted else None
    if call is not None:
        return reply_calling(request, call)
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    return reply_with(request, _said(family, scene.instructions, solution))


def _said(family: Family, instructions: str, solution: Solution) -> str:
    """What is said at the end, in the frame that is asked for; a text in prose is said as it is."""
    if family.prose:
        return solution.answer
    before, after = answer_frame(instructions)
    return f"{solution.work}\n{before}{solution.answer}{after}"


def _values(form: WantedForm, solution: Solution) -> dict[str, str]:
    """Work and answer by concept. Where no property is named after answers, the last free one takes it."""
    values = {"reasoning": solution.work, "answer": solution.answer}
    slots = {name: concept(name, values) for name in form.top}
    if "answer" not in slots.values():
        values |= dict.fromkeys([name for name, meant in slots.items() if meant is None][-1:], solution.answer)
    return values


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
    search = _call_of(request.tools, _SEARCHES, (_QUERIES, query)) if query else None
    if search is not None and _result(scene.since, search.name, query) is None:
        return search
    if scene.file is None:
        return None
    text = answer + "\n"
    write = _call_of(request.tools, _WRITES, (_PATHS, scene.file), (_CONTENTS, text))
    for call in (write, call_to_print(request.tools, scene.file, text)):
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


_SHELLS = re.compile(
    r"^(?:local_)?(?:bash|shell|sh|terminal)$|^run(?:_shell)?_?command$|^run_terminal_cmd$|^exec(?:ute)?(?:_bash|_command)?$"
)
_WRITES = re.compile(r"^(?:write|create|save)(?:_?(?:file|text_file|new_file))?$|^file_(?:write|create)$")
_READS = re.compile(r"^(?:read|view|open|cat)(?:_?(?:file|text_file))?$")
_SEARCHES = re.compile(r"^(?:mcp__\w+__)?search$")
_SKILLS = re.compile(r"^(?:activate_|invoke_|load_|use_)?skill$")

_PATHS = ("path", "file_path", "filepath", "filename", "file", "absolute_path", "target_file")
_CONTENTS = ("content", "contents", "text", "file_text", "data", "body")
_COMMANDS = ("command", "cmd", "script", "commands")
_NAMES = ("skill", "name", "skill_name", "command")
_QUERIES = ("query", "q", "search", "question", "text", "keywords", "terms", "topic", "input")


def call_to_print(tools: Sequence[Tool], path: str, text: str) -> ToolCall | None:
    """A call of a shell that writes a file. None when there is no shell."""
    folder = str(PurePosixPath(path).parent)
    before = "" if folder in (".", "/") else f"mkdir -p {shlex.quote(folder)} && "
    return _shell(tools, f"{before}printf '%s' {shlex.quote(text)} > {shlex.quote(path)}")


def call_to_open(tools: Sequence[Tool], skill: str, path: str | None) -> ToolCall | None:
    """A call that shows a skill: of the tool for skills, else of one that reads the file, else of a shell. None when
    there is nothing of the kind."""
    call = _call_of(tools, _SKILLS, (_NAMES, skill))
    if call is not None or path is None:
        return call
    return _call_of(tools, _READS, (_PATHS, path)) or _shell(tools, f"cat {shlex.quote(path)}")


def _call_of(tools: Sequence[Tool], kind: re.Pattern[str], *said: tuple[Sequence[str], str]) -> ToolCall | None:
    """A call of the first tool of a kind, by its name, that takes all of this: each by the first of these properties
    that it has. None when there is no such tool."""
    for tool in tools:
        found = {name: value for names, value in said if (name := _property(tool, names)) is not None}
        if kind.match(_plain(tool.name)) and len(found) == len(said):
            return _call(tool, found)
    return None


def _shell(tools: Sequence[Tool], command: str) -> ToolCall | None:
    for tool in tools:
        name = _property(tool, _COMMANDS)
        if not _SHELLS.match(_plain(tool.name)) or name is None:
            continue
        takes_list = _properties(tool)[name].get("type") == "array"
        return _call(tool, {name: ["bash", "-lc", command] if takes_list else command})
    return None


def _plain(name: str) -> str:
    """`WriteFile`, `write-file` and `write_file` are one name."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").casefold()


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    found: Any = tool.parameters.get("properties")
    return cast(Mapping[str, Mapping[str, Any]], found) if isinstance(found, Mapping) else {}


def _property(tool: Tool, names: Sequence[str]) -> str | None:
    """The first of these properties that the tool has, as it spells it."""
    spelt = {re.sub(r"[^a-z]", "", name.lower()): name for name in _properties(tool)}
    return next((spelt[bare] for name in names if (bare := name.replace("_", "")) in spelt), None)


def _call(tool: Tool, said: Mapping[str, Any]) -> ToolCall:
    """What else the schema requires gets an empty value of its type."""
    required = [name for name in cast(Sequence[str], tool.parameters.get("required", ())) if name not in said]
    properties = {name: shape for name, shape in _properties(tool).items() if name in required}
    more = fill({"type": "object", "properties": properties, "required": required}, {}) if properties else {}
    arguments = json.dumps({**said, **cast(Mapping[str, Any], more)}, ensure_ascii=False)
    return ToolCall(id=f"call_{digest([tool.name, arguments])[:12]}", name=tool.name, arguments=arguments)
