"""What is doubtful about tasks and scorer, found before anything is paid for."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, cast

from pydantic import JsonValue

from etude.envs.gold import scores_of
from etude.envs.scorers.answer_scorer import AnswerScorer, shorten
from etude.protocols import Environment
from etude.records import SPLITS, Split, Task, canonical
from etude.records.summary import Doubt

MOST_TASKS = 300
"""Tasks that are looked at, spread over all of them."""
_FEW = 5
_SHOWN = 90
_CHARS_PER_TOKEN = 4
_LONG_GOLD = 200
"""Characters. Nobody writes that much in the very same words."""
_SHARES = {"empty": 0.02, "letter": 0.5, "question": 0.2, "frequent": 0.8}
"""Of the tasks: the share that a reply may solve that knows nothing."""
_MOST = 0.8
_HIDDEN = 0.5
_OPTIONS = re.compile(
    r"(answer_?)?(choices?|options?|candidates|endings|distractors?\d?|option_?[a-z1-9]|[a-d])", re.I
)
_CONTEXT = re.compile(
    r"context|passage|paragraph|article|document|documents|evidence|table|schema|instruction|story", re.I
)
_ATTACHED = re.compile(
    r"<image|\[image|!\[|\b[\w-]+\.(?:png|jpe?g|gif|webp|pdf|csv|xlsx?|docx)\b"
    r"|\b(?:image|picture|figure|photo|diagram|screenshot|chart|attachment|file)s?"
    r"(?: that is| which is)? (?:shown|above|below|attached)"
    r"|\b(?:attached|following|shown in the|in the) (?:image|picture|figure|photo|diagram|screenshot|chart|file)\b",
    re.IGNORECASE,
)


async def doubts_about(
    env: Environment, tasks: Mapping[Split, Sequence[Task]], max_output_tokens: int
) -> tuple[Doubt, ...]:
    """The doubts, the gravest first; an answer has at most `max_output_tokens`."""
    every = [task for split in SPLITS for task in tasks[split]]
    some = every[:: -(-len(every) // MOST_TASKS)] if every else []
    if len(some) < _FEW:
        return ()
    found = [*await _replies(env, some)]
    scorer = _answer_scorer(env)
    if scorer is not None and scorer.checks_gold:
        found += _golds(scorer, some, max_output_tokens)
    return (*found, *_hidden(some), *_attached(some))


def _answer_scorer(env: Environment) -> AnswerScorer[Any] | None:
    scorer = getattr(env, "scorer", None)
    return cast("AnswerScorer[Any]", scorer) if isinstance(scorer, AnswerScorer) else None


async def _replies(env: Environment, tasks: Sequence[Task]) -> list[Doubt]:
    """Replies that know nothing, and what they score."""
    scorer = _answer_scorer(env)
    if scorer is None or not scorer.repeatable:
        return []
    replies: dict[str, tuple[str, Callable[[Task], str]]] = {
        "empty": ("an empty answer", lambda task: ""),
        "letter": ("the answer 'A'", lambda task: "A"),
        "question": ("the question copied as the answer", lambda task: task.input),
    }
    if scorer.checks_gold:
        ((frequent, _),) = Counter(map(scorer.gold_answer, tasks)).most_common(1)
        replies["frequent"] = (f"the fixed answer {shorten(frequent, 40)!r}", lambda task: frequent)
    found: list[Doubt] = []
    for kind, (what, reply) in replies.items():
        scores = await scores_of(env, [(task, reply(task)) for task in tasks])
        solved = [task for task, score in zip(tasks, scores, strict=True) if score.hard >= 1]
        if len(solved) <= _SHARES[kind] * len(tasks):
            continue
        if kind == "letter" and "frequent" in replies and replies["frequent"][1](tasks[0]) == "A":
            continue  # said of the most frequent one
        found.append(
            Doubt(
                what=f"{what} solves {len(solved)} of {len(tasks)} tasks (scorer {scorer.name!r})",
                example=_example(solved[0], reply(solved[0])),
                todo="check the gold answers and the scorer, or take another scorer (docs: tasks and scorers)",
            )
        )
    return found


def _golds(scorer: AnswerScorer[Any], tasks: Sequence[Task], longest: int) -> Iterator[Doubt]:
    """Gold answers that nobody can give, or that the task gives away."""
    golds = {task.id: scorer.gold_answer(task) for task in tasks}
    empty = [task for task in tasks if not golds[task.id].strip()]
    if empty:
        yield Doubt(
            what=f"{len(empty)} of {len(tasks)} gold answers are empty",
            example=_example(empty[0], ""),
            todo="name the right column in env.fields.gold, or leave these rows out",
        )
    cut = [task for task in tasks if len(golds[task.id]) > longest * _CHARS_PER_TOKEN]
    if cut:
        yield Doubt(
            what=f"{len(cut)} of {len(tasks)} gold answers are longer than an answer of {longest:,} tokens can be",
            example=_example(cut[0], golds[cut[0].id]),
            todo="raise target.max_output_tokens, or name the column with the short answer in env.fields.gold",
        )
    elif scorer.name == "exact" and median(map(len, golds.values())) > _LONG_GOLD:
        yield Doubt(
            what="most gold answers are long texts, and scorer 'exact' wants the same words",
            example=_example(tasks[0], golds[tasks[0].id]),
            todo="take scorer f1, or rubric with a judge",
        )
    told = [task for task in tasks if _ends_with(task.input, golds[task.id])]
    if len(told) > _MOST * len(tasks):
        yield Doubt(
            what=f"{len(told)} of {len(tasks)} tasks end with their gold answer: they give it away",
            example=_example(told[0], golds[told[0].id]),
            todo="leave the answer out of env.fields.input or env.template",
        )


def _ends_with(text: str, gold: str) -> bool:
    gold, text = gold.strip().casefold(), text.strip().casefold()
    return bool(gold) and len(text) > len(gold) and re.search(rf"(?<!\w){re.escape(gold)}\W*$", text) is not None


def _hidden(tasks: Sequence[Task]) -> Iterator[Doubt]:
    """Columns that a task needs and that the input does not show."""
    columns = Counter(name for task in tasks for name in task.data)
    for kind, pattern in (("answer options", _OPTIONS), ("something to read", _CONTEXT)):
        names = [name for name in columns if pattern.fullmatch(name)]
        hidden = {name: [task for task in tasks if _is_hidden(task, name)] for name in names}
        found = [name for name in names if len(hidden[name]) > _HIDDEN * len(tasks)]
        if not found:
            continue
        shown, example = ", ".join(map(repr, found)), hidden[found[0]][0]
        placed = " ".join(f"{{{name}}}" for name in found)
        yield Doubt(
            what=f"{'columns' if len(found) > 1 else 'column'} {shown}: looks like {kind}, and the input has nothing "
            "of it",
            example=f"task {example.id}: {_line(canonical(example.data[found[0]]))}",
            todo=f"put it into the input with env.template, as in '{{question}} {placed}'",
        )


def _is_hidden(task: Task, column: str) -> bool:
    leaves = [text for text in _leaves(task.data.get(column)) if text.strip()]
    return bool(leaves) and not any(text in task.input for text in leaves)


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield value if isinstance(value, str) else canonical(value)


def _attached(tasks: Sequence[Task]) -> Iterator[Doubt]:
    """Pictures and files that tasks speak of and do not have."""
    bare = [task for task in tasks if not task.images and not task.files]
    speaking = [
        task for task in bare if _ATTACHED.search(task.input) or any(_names_picture(task, n) for n in task.data)
    ]
    if len(speaking) <= _SHARES["question"] * len(tasks):
        return
    task = speaking[0]
    column = next((name for name in task.data if _names_picture(task, name)), "")
    yield Doubt(
        what=f"{len(speaking)} of {len(tasks)} tasks speak of pictures or files, and have none",
        example=f"task {task.id}: {_line(f'{column}: {task.data[column]}' if column else task.input)}",
        todo=f"name the column with their paths: env.fields.images: {column or 'COLUMN'}, or env.fields.files",
    )


def _names_picture(task: Task, column: str) -> bool:
    value = task.data[column]
    return isinstance(value, str) and re.fullmatch(r"\S+\.(png|jpe?g|gif|webp|bmp)", value, re.IGNORECASE) is not None


def _example(task: Task, answer: str) -> str:
    gold = task.gold if isinstance(task.gold, str) else canonical(task.gold)
    parts = [f"task {task.id}: {_line(task.input)}", f"answer: {_line(answer) or '(nothing)'}"]
    return "; ".join([*parts, *([f"gold: {_line(gold)}"] if task.gold is not None and gold != answer else [])])


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), _SHOWN)
