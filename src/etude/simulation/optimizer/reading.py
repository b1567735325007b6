"""What an optimizer prompt says: the skill, the attempts, and what is asked.

Prompts of several programs are understood: attempts are found by the tasks in them, whatever the layout.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from etude.records import ChatRequest
from etude.simulation.families import FoundTask, find_tasks
from etude.simulation.families.base import Faults, right_answer
from etude.simulation.text import same_answer, squeeze

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Observation:
    """An attempt as a prompt shows it."""

    id: str
    task: FoundTask
    answer: str | None
    """None when the prompt does not show it."""
    expected: str
    category: str = ""
    """improved, regressed, persistent_fail or stable_success, where the prompt sorts attempts so."""
    blamed: Faults = frozenset()
    """What feedback complains of, where the answer is in prose."""

    @property
    def failed(self) -> bool:
        if self.task.family.prose:
            return bool(self.blamed)
        return self.answer is not None and not same_answer(self.answer, self.expected)

    @property
    def passed(self) -> bool:
        return self.answer is not None and not self.failed


@dataclass(frozen=True)
class Prompt:
    """A request taken apart. What follows the first reply, such as a re-ask, is not part of it."""

    text: str
    """All of it; edits are shown as JSON."""
    skill: str
    observations: tuple[Observation, ...]
    compares: bool
    """The instructions ask to compare attempts."""
    limit: int | None
    """Most edits, where the prompt says so."""


def read_prompt(request: ChatRequest) -> Prompt:
    """Read everything up to the first reply of the model."""
    told: list[str] = []
    for message in request.messages:
        if message.role == "assistant":
            break
        told.append(message.text)
    return _read("\n\n".join(told))


_PATTERN_EDIT = re.compile(
    r"\{[^{}]*\"(?:op|operation)\"[^{}]*\"(?:content|target|text)\"\s*:\s*\"(?:<[^<>\"]*>|\.{3})\"[^{}]*\}"
)
"""An edit that only shows the form of edits."""
_LISTED_EDIT = re.compile(r"^\[(?P<index>\d+)\]\s+(?P<fields>(?:op|type)=\w+\b.*)$", re.MULTILINE)
_FIELD = re.compile(r"\b(?P<name>\w+)=(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\"]+)")


def _edits_as_json(text: str) -> str:
    """Edits of a numbered list such as `[0] op=append  content='...'` in the notation of the others, and none that
    stand for the form only."""
    return _LISTED_EDIT.sub(_listed_edit, _PATTERN_EDIT.sub(" ", text))


def _listed_edit(listed: re.Match[str]) -> str:
    fields = {field["name"]: _unquoted(field["value"]) for field in _FIELD.finditer(listed["fields"])}
    return json.dumps({"index": int(listed["index"]), **fields}, ensure_ascii=False)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "'\"" else value


@lru_cache(maxsize=256)
def _read(text: str) -> Prompt:
    text = _edits_as_json(text)
    skill, start, end = _skill(_ATTEMPT.sub(lambda attempt: " " * len(attempt.group()), text))
    rest = text[:start] + "\n" + text[end:]
    instructions = _ATTEMPT.sub(" ", rest)
    return Prompt(
        text=text,
        skill=skill,
        observations=_observations(rest),
        compares=bool(_COMPARES.search(instructions)),
        limit=_limit(_ATTEMPT.sub(" ", text)),
    )


_ATTEMPT = re.compile(r"<attempt\b[^>]*>(?:(?!<attempt\b).)*?</attempt(?:\s[^>]*)?>", re.DOTALL)
_COMPARES = re.compile(
    r"(?<!not )(?<!n't )(?<!never )(?<!without )\b(?:compar(?:e|ing|ison)|contrast\w*)\b[^.\n]{0,60}"
    r"\b(?:them|attempts?|trajector\w+|failures?|each other|cases|runs|pass\w*)\b|\bin common\b|cross-refer"
    r"|\b(?:shared|common)\b[^.\n]{0,40}\b(?:across|among|between)\b"
    r"|\bcommon (?:failure|cause|pattern|mistake|error)",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    rf"\b(?:at most|no more than|up to|maximum(?: of)?|limit(?:ed)? to|budget(?: is| of|:))"
    rf"\s+\**(?:\w\s?=\s?)?(\d+|{'|'.join(_WORDS)})\**\s+(?:\w+\s+)?(?:edits?|changes?|operations?|suggestions?)"
    r"|\bedit[ _-]budget\D{0,12}(\d+)",
    re.IGNORECASE,
)


def _limit(text: str) -> int | None:
    found = _LIMIT.search(text)
    if found is None:
        return None
    number = (found[1] or found[2]).lower()
    return _WORDS.index(number) + 1 if number in _WORDS else int(number)


_SKILL_ELEMENT = re.compile(
    r"<(?P<tag>(?:current_)?skill)(?:\s[^>]*)?>\n?(?P<body>(?:(?!<(?P=tag)\b).)*?)</(?P=tag)(?:\s[^>]*)?>",
    re.DOTALL | re.I,
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


def _skill(text: str) -> tuple[str, int, int]:
    """The current skill and where it stands; ("", 0, 0) when the prompt shows none."""
    element = _last(_SKILL_ELEMENT, text)
    if element:
        return element["body"], element.start(), element.end()
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


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


_ID = re.compile(
    r"\b(?:attempt[_ ]|task[_ ]|trajectory[_ ])?id\"?\s*[=:]\s*[\"'`]?(?P<named>[\w./:-]+)"
    r"|^#{1,6}\s+(?:\w+\s+)?(?:#?\d+\s*[.):/-]\s*)?(?:\w+\s*:\s*)?[\[(`\"']?(?P<heading>[\w./-]*[\d_-][\w./-]*)[\])`\"']?\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_CATEGORY = re.compile(
    r"^\W*(?:\w+[ :]+)?(improved|regressed|persistent[ _-]fail\w*|stable[ _-]success\w*)", re.M | re.I
)
_ELEMENT_ANSWER = re.compile(
    r"<(?P<tag>(?:final_)?answer(?:-\w+)?|prediction)(?:\s[^>]*)?>(?P<body>(?:(?!<(?P=tag)\b).)*?)</(?P=tag)(?:\s[^>]*)?>",
    re.DOTALL | re.I,
)
_LINE_ANSWER = re.compile(
    r"(?:^|[\n*\"'\]:\s>])(?:final answer|model answer|answer|predicted(?: answer)?|prediction|response|got)"
    r"\**\"?\s*[:=]\s*\**\"?(?P<body>[^\n<\"*]+)",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"(?:expected(?: answer)?|gold(?: answer)?|correct answer|right answer|reference(?: answer)?|ground[ _]truth)"
    r"\**\"?(?:\s+(?:is|was))?\s*[:=]?\s*\**(?:'(?P<quoted>[^\n]+?)'(?=[.,;)\s]|$)|[\"'`]?(?P<body>[^\n<\"`*;]+))",
    re.IGNORECASE,
)


def _observations(text: str) -> tuple[Observation, ...]:
    attempts = [(found.start(), found.end()) for found in _ATTEMPT.finditer(text)]
    if attempts:
        blocks = [(text[start:end], start) for start, end in attempts]
    else:
        blocks = [(text[start:end], start) for start, end in _segments(text)]
    headings = [(found.start(), _plain_category(found[1])) for found in _CATEGORY.finditer(text)]
    seen = [
        _observe(block, next((name for at, name in reversed(headings) if at < start), "")) for block, start in blocks
    ]
    return tuple(observation for observation in seen if observation is not None)


def _segments(text: str) -> list[tuple[int, int]]:
    """From the id before each task to the id before the next other one."""
    marks = [found.start() for found in _ID.finditer(text)]
    starts: list[int] = []
    before = ""
    for task in find_tasks(text):
        start = max((mark for mark in marks if mark < task.start), default=task.start)
        if task.text != before or (starts and start > starts[-1] and start in marks):
            starts.append(start)
        before = task.text
    starts = sorted(set(starts))
    return list(pairwise([*starts, len(text)]))


def _observe(block: str, category: str) -> Observation | None:
    tasks = find_tasks(block)
    if not tasks:
        return None
    task = tasks[0]
    name = _ID.search(block)
    id = (name["named"] or name["heading"]) if name else ""
    if task.family.prose:
        answer = _prose(block[task.end :])
        blamed = task.family.blamed(_feedback(block[task.end :]), answer or "")
        return Observation(id, task, answer, "", category, blamed)
    shown = _EXPECTED.search(block, task.end)
    right = right_answer(task.family, task.text)
    return Observation(
        id=id,
        task=task,
        answer=_answer(block[task.end :]),
        expected=_expected(squeeze(shown["quoted"] or shown["body"]).rstrip(".,"), right) if shown else right,
        category=category,
    )


def _expected(shown: str, right: str) -> str:
    """What was expected, in full where the prompt shows only the beginning of it."""
    beginning = shown[:100].casefold()
    return right if len(beginning) == 100 and right.casefold().startswith(beginning) else shown


def _plain_category(word: str) -> str:
    lowered = word.lower().replace(" ", "_").replace("-", "_")
    for name in ("persistent_fail", "stable_success"):
        if lowered.startswith(name):
            return name
    return lowered


def _answer(text: str) -> str | None:
    unframed = _EXPECTED.sub(" ", text)
    found = _last(_ELEMENT_ANSWER, unframed) or _last(_LINE_ANSWER, unframed)
    return None if found is None else squeeze(_bare_answer(found["body"]))


_LINE_PROSE = re.compile(
    r"^\W*(?:final answer|model answer|answer|prediction|response|reply|output)\**\s*:\**[ \t]*\n?(?P<body>.*?)"
    r"(?=^\W*(?:feedback|failure reason|critique|verdict of the check|score)\b[^\n]*:|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_FEEDBACK = re.compile(
    r"<(?P<tag>feedback(?:-\w+)?)(?:\s[^>]*)?>(?P<told>.*?)</(?P=tag)(?:\s[^>]*)?>"
    r"|^\W*(?:feedback|failure reason|critique)\**\s*:(?P<line>.*)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)


def _prose(text: str) -> str | None:
    """An answer of several lines, as it stands."""
    found = _last(_ELEMENT_ANSWER, text) or _LINE_PROSE.search(text)
    return None if found is None else found["body"].strip()


def _feedback(text: str) -> str:
    found = _FEEDBACK.search(text)
    return (found["told"] or found["line"] or "") if found else ""


def _bare_answer(body: str) -> str:
    line = _last(_LINE_ANSWER, body)
    return line["body"] if line else body
