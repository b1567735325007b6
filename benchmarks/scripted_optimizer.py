"""An optimizer that is a program: it reads the prompt, and proposes what helps in any family of short answers.

It knows no family. From the attempts in a prompt it takes tasks, answers and right answers; from these it makes a
rule for the form of the answer, a list of the labels, a rule for the most frequent confusion, and invented examples.
So a benchmark with a real target can be repeated without a second model.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from invented import copied, example, words

from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply

_ATTEMPT = re.compile(r'<attempt id="([^"]+)"([^>]*)>\n(.*?)\n</attempt\b', re.DOTALL)
_INNER = re.compile(r"<(\w+)\b[^>]*>\n(.*?)\n?</\1\b", re.DOTALL)
_SKILL = re.compile(r"<skill\b[^>]*>\n(.*?)\n</skill\b", re.DOTALL)
_RIGHT = re.compile(r"\bexpected:\s*(.+?)(?:; got:|\n|$)", re.DOTALL)
_LIMIT = re.compile(r"at most (\d+)")
_LISTED = "- The answer is one of: "
_MOST = 6
"""Edits in a reply where the prompt does not say how many."""
_LONGEST_LABEL = 3
_EXAMPLES_OF_LABEL = 2
_MOST_EXAMPLES = 12
"""In a skill: each is paid for in every attempt."""
_TRIES = 4
"""Variations of a task that are looked at, for one that was not proposed before."""


@dataclass(frozen=True)
class Shown:
    """An attempt in a prompt."""

    id: str
    task: str
    answer: str
    right: str
    """The right answer; empty where the prompt does not tell it."""
    passed: bool


def read_attempts(text: str) -> tuple[Shown, ...]:
    """The attempts in a prompt, by their tags alone."""
    return tuple(_read(*found) for found in _ATTEMPT.findall(text))


def _read(name: str, attributes: str, body: str) -> Shown:
    inner = {tag: text.strip() for tag, text in _INNER.findall(body)}
    passed = re.search(r'\bhard="1(\.0)?"', attributes) is not None
    answer = inner.get("answer", inner.get("transcript", "").rpartition("]")[2].strip())
    told = _RIGHT.search(inner.get("feedback", ""))
    right = answer if passed else inner.get("expected", told[1].strip() if told else "")
    return Shown(name, inner.get("task", ""), answer, right, passed)


@dataclass(frozen=True)
class Prompt:
    """What a prompt shows."""

    text: str

    @cached_property
    def attempts(self) -> tuple[Shown, ...]:
        """All of them."""
        return read_attempts(self.text)

    @cached_property
    def failures(self) -> tuple[Shown, ...]:
        """Those that failed, with a right answer that is known."""
        return tuple(one for one in self.attempts if not one.passed and one.right)

    @cached_property
    def skill(self) -> str:
        """The current skill."""
        found = _SKILL.search(self.text)
        return found[1] if found else ""

    @cached_property
    def limit(self) -> int:
        """Most edits."""
        found = _LIMIT.search(_ATTEMPT.sub("", self.text))
        return int(found[1]) if found else _MOST

    @cached_property
    def listed(self) -> str:
        """The line of the skill that lists the labels; empty when it has none."""
        return next((line for line in self.skill.splitlines() if line.startswith(_LISTED)), "")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Answers that are chosen and not taken from the task: seen twice, or listed in the skill."""
        known = [label for label in self.listed.removeprefix(_LISTED).rstrip(".").split(", ") if label]
        rights = Counter(one.right for one in self.attempts if one.right and not _stands_in(one.right, one.task))
        seen = (right for right, count in rights.items() if count > 1 and len(right.split()) <= _LONGEST_LABEL)
        return tuple(sorted({*known, *seen}))

    @cached_property
    def cue(self) -> str:
        """What the tasks call the answer."""
        ends = Counter(one.task.rstrip().rpartition("\n")[2] for one in self.attempts)
        end = ends.most_common(1)[0][0] if ends else ""
        return end[:-1] if end.endswith(":") else "Answer"

    @cached_property
    def examples(self) -> int:
        """How many the skill has."""
        return sum(line.startswith(f"{self.cue}: ") for line in self.skill.splitlines())

    def is_new(self, content: str) -> bool:
        """Neither in the skill nor among edits that were tried."""
        return content not in self.skill and json.dumps(content, ensure_ascii=False)[1:-1] not in self.text


class ScriptedOptimizer(ChatModel):
    """Answers a prompt with attempts with edits, and any other with nothing to change."""

    name = "scripted"
    endpoint = "this process"

    async def complete(self, request: ChatRequest) -> Reply:
        text = "\n".join(message.text for message in request.messages if message.role == "user")
        schema = request.response_schema.body if request.response_schema else {}
        empty = nothing(schema, schema) if schema else {"reasoning": "", "edits": []}
        prompt = Prompt(text)
        values = cast("dict[str, Any]", empty)
        if "edits" in values and prompt.failures:
            values |= {"reasoning": _reasoning(prompt), "edits": list(edits(prompt))[: prompt.limit]}
        return Reply(text=json.dumps(values, ensure_ascii=False))


def edits(prompt: Prompt) -> Iterator[dict[str, Any]]:
    """What is proposed, rules first."""
    for rule in (_form_rule, _label_rule, _confusion_rule):
        yield from rule(prompt)
    yield from _examples(prompt)


def _form_rule(prompt: Prompt) -> Iterator[dict[str, Any]]:
    loose = [one for one in prompt.failures if one.right.casefold() != one.answer.casefold()]
    content = f"- Answer with only the {prompt.cue.lower()}, and nothing before or after it."
    if loose and prompt.is_new(content):
        yield _added(prompt, content, "The form of the answer is missed.", loose)


def _label_rule(prompt: Prompt) -> Iterator[dict[str, Any]]:
    content = f"{_LISTED}{', '.join(prompt.labels)}."
    answered = [one for one in prompt.failures if one.right in prompt.labels]
    if answered and len(prompt.labels) > 1 and prompt.is_new(content):
        why = "Only these answers were right."
        if prompt.listed:
            yield _edit("replace", prompt.listed, content, why, answered)
        else:
            yield _added(prompt, content, why, answered)


def _confusion_rule(prompt: Prompt) -> Iterator[dict[str, Any]]:
    pairs = Counter(
        (one.right, one.answer.rstrip(".").lower()) for one in prompt.failures if one.right in prompt.labels
    )
    for (right, given), count in pairs.most_common():
        marks = _marks(prompt, right)
        content = f"- Answer {right} and not {given} where it is about {', '.join(marks)}."
        if count > 1 and given in prompt.labels and marks and prompt.is_new(content):
            mistaken = [one for one in prompt.failures if one.right == right]
            yield _added(prompt, content, f"{given} was given for {right} {count} times.", mistaken)
            return


def _marks(prompt: Prompt, label: str) -> list[str]:
    """Words of the tasks with this answer that tasks with other answers do not have, the most frequent first."""
    mine, others = Counter[str](), set[str]()
    for one in prompt.attempts:
        found = set(re.findall(r"\b[a-z]{4,}\b", one.task))
        if one.right == label:
            mine.update(found)
        else:
            others |= found
    return [word for word, _ in sorted(mine.items(), key=lambda item: (-item[1], item[0])) if word not in others][:3]


def _examples(prompt: Prompt) -> Iterator[dict[str, Any]]:
    """Invented examples, for different answers or tasks of different forms."""
    tasks = [one.task for one in prompt.attempts]
    golds = {one.right for one in prompt.attempts} - set(prompt.labels)
    shapes: set[str] = set()
    for one in prompt.failures:
        is_label = one.right in prompt.labels
        shape = one.right if is_label else _shape(one)
        if prompt.examples + len(shapes) >= _MOST_EXAMPLES:
            return
        if shape in shapes or (is_label and _shown_for(prompt, one.right) >= _EXAMPLES_OF_LABEL):
            continue
        for salt in range(_TRIES):
            content = example(one.task, one.right, is_label, salt)
            if content and prompt.is_new(content) and not copied(content, tasks, golds):
                shapes.add(shape)
                alike = [other for other in prompt.failures if (other.right if is_label else _shape(other)) == shape]
                yield _edit("append", "", f"\n{content}", "An invented example shows form and answer.", alike)
                break


def _shown_for(prompt: Prompt, label: str) -> int:
    return sum(line.endswith(f": {label}") for line in prompt.skill.splitlines())


def _shape(one: Shown) -> str:
    """The task without what is its own: names, numbers and the answer."""
    return re.sub(r"\b[A-Z]\w*|\d+", "*", one.task)


def _stands_in(right: str, task: str) -> bool:
    return set(words(right)) <= set(words(task))


def _added(prompt: Prompt, content: str, reason: str, attempts: Sequence[Shown]) -> dict[str, Any]:
    """A rule below the other rules, so that examples stay together."""
    lines = prompt.skill.splitlines()
    last = next((line for line in reversed(lines) if line.startswith("- ") and lines.count(line) == 1), "")
    return _edit("insert_after" if last else "append", last, content, reason, attempts)


def _edit(op: str, target: str, content: str, reason: str, attempts: Sequence[Shown]) -> dict[str, Any]:
    cites = [one.id for one in attempts]
    return {"op": op, "target": target, "content": content, "reason": reason, "cites": cites}


def _reasoning(prompt: Prompt) -> str:
    pairs = "; ".join(f"{one.right} expected, {one.answer[:40]!r} given" for one in prompt.failures[:4])
    return f"{len(prompt.failures)} of {len(prompt.attempts)} attempts failed: {pairs}"


def nothing(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The emptiest value that follows a schema."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return nothing(root["$defs"][name], root)
    if "anyOf" in schema:
        return nothing(schema["anyOf"][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: nothing(one, root) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(schema.get("type", ""), "")
