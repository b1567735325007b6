"""What a prompt of etude to an optimizer or a judge says: the skill, the attempts, and what is asked."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from etude.records import ChatRequest
from etude.simulation.families import FAMILIES, RULES, Families, FoundTask, find_tasks, rules_in
from etude.simulation.families.family import Faults, right_answer
from etude.simulation.rules import TeachableRule
from etude.simulation.text import element, same_answer, squeeze


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
    rules: tuple[TeachableRule, ...] = RULES
    """All that a skill for such a task may state."""


def first_turn(request: ChatRequest) -> str:
    """Everything up to the first reply of the model."""
    texts: list[str] = []
    for message in request.messages:
        if message.role == "assistant":
            break
        texts.append(message.text)
    return "\n\n".join(texts)


def read_prompt(request: ChatRequest, families: Families = FAMILIES) -> Prompt:
    """Read everything up to the first reply of the model."""
    return _read(first_turn(request), families)


ATTEMPT = element("attempt")
_SKILL = element("(?:current_)?skill")
_COMPARES = re.compile(
    r"(?<!not )(?<!n't )(?<!never )(?<!without )\b(?:compar(?:e|ing|ison)|contrast\w*)\b[^.\n]{0,60}"
    r"\b(?:them|attempts?|trajector\w+|failures?|each other|cases|runs|pass\w*)\b|\bin common\b|cross-refer"
    r"|\b(?:shared|common)\b[^.\n]{0,40}\b(?:across|among|between)\b"
    r"|\bcommon (?:failure|cause|pattern|mistake|error)",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\bat most (\d+) (?:edits?|changes?|suggestions?)\b", re.IGNORECASE)
_PATTERN_EDIT = re.compile(
    r"\{[^{}]*\"(?:op|operation)\"[^{}]*\"(?:content|target|text)\"\s*:\s*\"(?:<[^<>\"]*>|\.{3})\"[^{}]*\}"
)
"""An edit that only shows the form of edits."""


def without_form(text: str) -> str:
    """The text without edits that stand for the form only."""
    return _PATTERN_EDIT.sub(" ", text)


def asks_to_compare(instructions: str) -> bool:
    """The instructions ask to compare attempts with each other."""
    return bool(_COMPARES.search(instructions))


@lru_cache(maxsize=256)
def _read(text: str, families: Families) -> Prompt:
    text = without_form(text)
    shown = last(_SKILL, ATTEMPT.sub(lambda attempt: " " * len(attempt.group()), text))
    rest = text if shown is None else text[: shown.start()] + "\n" + text[shown.end() :]
    limit = _LIMIT.search(ATTEMPT.sub(" ", text))
    attempts = [(found.group(), found.start()) for found in ATTEMPT.finditer(rest)] or [(rest, 0)]
    return Prompt(
        text=text,
        skill=shown["body"].removeprefix("\n") if shown else "",
        observations=observations(rest, attempts, families),
        compares=asks_to_compare(ATTEMPT.sub(" ", rest)),
        limit=int(limit[1]) if limit else None,
        rules=rules_in(families),
    )


def last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match."""
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


_ID = re.compile(r"\bid=\"(?P<named>[\w./:-]+)")
_CATEGORY = re.compile(
    r"^\W*(?:\w+[ :]+)?(improved|regressed|persistent[ _-]fail\w*|stable[ _-]success\w*)", re.M | re.I
)
ELEMENT_ANSWER = element(r"(?:final_)?answer(?:-\w+)?|prediction")
LINE_ANSWER = re.compile(
    r"(?:^|[\n*\"'\]:\s>])(?:final answer|model answer|answer|predicted(?: answer)?|prediction|response|got)"
    r"\**\"?\s*[:=]\s*\**\"?(?P<body>[^\n<\"*]+)",
    re.IGNORECASE,
)
EXPECTED = re.compile(
    r"(?:expected(?: answer)?|gold(?: answer)?|correct answer|right answer|reference(?: answer)?|ground[ _]truth)"
    r"\**\"?(?:\s+(?:is|was))?\s*[:=]?\s*\**(?:'(?P<quoted>[^\n]+?)'(?=[.,;)\s]|$)|[\"'`]?(?P<body>[^\n<\"`*;]+))",
    re.IGNORECASE,
)
_FEEDBACK = element(r"feedback(?:-\w+)?")


def observations(
    text: str, blocks: list[tuple[str, int]], families: Families, name: Callable[[str], str] | None = None
) -> tuple[Observation, ...]:
    """What blocks of a text, each with its place, show of attempts. `name` finds the id in a block."""
    headings = [(found.start(), _plain_category(found[1])) for found in _CATEGORY.finditer(text)]
    seen = [
        _observe(
            tasks[0], block, (name or _id)(block), next((said for at, said in reversed(headings) if at < start), "")
        )
        for block, start in blocks
        if (tasks := find_tasks(block, families))
    ]
    return tuple(seen)


def _id(block: str) -> str:
    found = _ID.search(block)
    return found["named"] if found else ""


def _observe(task: FoundTask, block: str, id: str, category: str) -> Observation:
    after = block[task.end :]
    if task.family.prose:
        answer = last(ELEMENT_ANSWER, after)
        said = answer["body"].strip() if answer else None
        feedback = _FEEDBACK.search(after)
        blamed = task.family.blamed(feedback["body"] if feedback else "", said or "")
        return Observation(id, task, said, "", category, blamed)
    shown = EXPECTED.search(block, task.end)
    right = right_answer(task.family, task.text)
    expected = _expected(squeeze(shown["quoted"] or shown["body"]).rstrip(".,"), right) if shown else right
    return Observation(id, task, _answer(after), expected, category)


def _expected(shown: str, right: str) -> str:
    """What was expected, in full where the prompt shows only the beginning of it."""
    beginning = shown[:100].casefold()
    return right if len(beginning) == 100 and right.casefold().startswith(beginning) else shown


def _plain_category(word: str) -> str:
    lowered = word.lower().replace(" ", "_").replace("-", "_")
    return next((name for name in ("persistent_fail", "stable_success") if lowered.startswith(name)), lowered)


def _answer(text: str) -> str | None:
    unframed = EXPECTED.sub(" ", text)
    found = last(ELEMENT_ANSWER, unframed) or last(LINE_ANSWER, unframed)
    if found is None:
        return None
    line = last(LINE_ANSWER, found["body"])
    return squeeze(line["body"] if line else found["body"])
