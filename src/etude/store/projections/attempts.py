"""One attempt: what was said in it, what came of it, and what the journal holds of it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from etude.errors import DataError
from etude.records import Attempt, Message, Record, Split, Usage
from etude.records.said import last_answer, without_thoughts
from etude.store.database import FACT, Database, intact
from etude.store.projections.log import Log, LoggedAttempt
from etude.store.projections.skills import skill_names
from etude.store.views import JOURNAL, AskedTask, numbered, read_tasks, read_view

_MESSAGES = TypeAdapter(tuple[Message, ...])
_WHOLE = "trajectory "
"""Begins the name of a fact that is all of what an agent program did."""


class FactRow(Record):
    """A fact of the journal that an attempt rests on."""

    name: str
    """As in `reply 46a061c00cc631cf`."""
    seconds: float
    """How long the work took."""
    created: str
    usage: Usage | None
    """Of a reply."""
    said: str
    """The text of a reply, or the answer of an agent program; of a fact that was changed in the journal, that it
    was."""
    asked: tuple[Message, ...]
    """What the reply answers; none where the journal keeps only its hash."""


class AttemptLine(Record):
    """Another attempt at the same task."""

    attempt: str
    skill: str
    """As `initial` or `after step 3`; of one that was tried only, its hash."""
    hard: float | None


class AttemptPage(Record):
    """One attempt."""

    name: str
    task: str
    split: Split
    outcome: str
    hard: float | None
    soft: float | None
    reason: str
    skill: str
    """As `initial` or `after step 3`; of one that was tried only, its hash."""
    usd: float | None
    """What the calls of its agent cost, in US dollars; None when that is unknown."""
    input: str
    """What the task asks; empty where the run does not say it."""
    gold: JsonValue
    answer: str | None
    """None where the run kept only the score."""
    attempt: Attempt | None
    """All of it, where a step kept it."""
    facts: tuple[FactRow, ...]
    others: tuple[AttemptLine, ...]


def read_attempts(file: Path) -> tuple[Attempt, ...]:
    """The attempts of a step; none where it has none yet. Raises DataError: the file is damaged."""
    return read_view(file, tuple[Attempt, ...]) or ()


def golds(path: Path) -> Iterator[JsonValue]:
    """The gold answers of all tasks of a run, and of those that its steps attempted. Raises DataError: a file is
    damaged."""
    yield from (task.gold for task in read_tasks(path).values())
    for file in numbered(path, "steps/*/rollout.json"):
        yield from (attempt.task.gold for attempt in read_attempts(file))


def attempt_page(log: Log, name: str) -> AttemptPage:
    """An attempt of a run. Raises DataError: there is none of that id, or a file is damaged."""
    for page in attempt_pages(log, [name]):
        return page
    raise DataError(
        f"run {log.path.name!r} has no attempt {name!r}",
        hint=f"the edits of a step cite attempts: `etude show {log.path} --step 1`",
    )


def attempt_pages(log: Log, names: Sequence[str]) -> Iterator[AttemptPage]:
    """Many of them, in this order as far as they are there; each file is read once for attempts that follow each
    other. Raises DataError: a file is damaged."""
    wanted = {log.known[name].task for name in names if name in log.known}
    called, asked = skill_names(log.path), read_tasks(log.path)
    lines: dict[str, dict[str, AttemptLine]] = {}
    """By task and attempt."""
    for each in log.known.values():
        if each.task in wanted:
            skill = called.get(each.skill, f"tried only, {each.skill}")
            line = AttemptLine(attempt=each.attempt, skill=skill, hard=each.hard)
            lines.setdefault(each.task, {})[each.attempt] = line
    steps: dict[str, Path] = {}
    for step, batch in sorted(log.batches.items()):
        file = log.path / f"steps/{step:04d}/rollout.json"
        steps.update((seen.attempt, file) for seen in batch)
    last: tuple[Path | None, dict[str, Attempt]] = None, {}
    with closing(Database(log.path / JOURNAL, read_only=True)) as database:
        for name in names:
            file = steps.get(name)
            if file is not None and file != last[0]:
                last = file, {attempt.id: attempt for attempt in read_attempts(file)}
            attempt = None if file is None else last[1].get(name)
            seen = log.known.get(name)
            if seen is not None:
                facts = _facts(database, seen)
                yield _page(seen, attempt, asked.get(seen.task, AskedTask()), facts, lines[seen.task])


def _page(
    seen: LoggedAttempt,
    attempt: Attempt | None,
    asked: AskedTask,
    facts: tuple[FactRow, ...],
    lines: Mapping[str, AttemptLine],
) -> AttemptPage:
    """That of an attempt; `lines` are those of all at its task."""
    return AttemptPage(
        name=seen.attempt,
        task=seen.task,
        split=seen.split,
        outcome=seen.outcome,
        hard=seen.hard,
        soft=seen.soft,
        reason=seen.reason,
        skill=lines[seen.attempt].skill,
        usd=seen.usd,
        input=asked.input if attempt is None else attempt.task.text,
        gold=asked.gold if attempt is None else attempt.task.gold,
        answer=_answer(facts) if attempt is None else attempt.trajectory.answer,
        attempt=attempt,
        facts=facts,
        others=tuple(line for name, line in lines.items() if name != seen.attempt),
    )


def _answer(facts: Sequence[FactRow]) -> str | None:
    """What was answered: that of the whole attempt where it is one fact, else that of the last reply."""
    for fact in reversed(facts):
        if fact.name.startswith(_WHOLE):
            return fact.said
    said = [fact.said for fact in facts if fact.usage is not None]
    return last_answer(without_thoughts(said[-1]) or "", cut=False) if said else None


def _facts(database: Database, seen: LoggedAttempt) -> tuple[FactRow, ...]:
    found: list[FactRow] = []
    for name in seen.facts:
        kind, _, start = name.partition(" ")
        rows = database.rows(
            f"SELECT {FACT} FROM facts WHERE kind = ? AND key_hash BETWEEN ? AND ?", (kind, start, f"{start}g")
        )
        whole = [row for row in rows if intact("facts", row)]
        found += [_fact(name, *row[2:-1]) for row in whole] or [_changed(name)]  # its name may be what was changed
    return tuple(sorted(found, key=lambda fact: fact.created))


def _changed(name: str) -> FactRow:
    said = "(this fact was changed in the journal since it was written; `etude train` pays for it again)"
    return FactRow(name=name, seconds=0, created="", usage=None, said=said, asked=())


def _fact(name: str, key: bytes | None, value: bytes, seconds: float, created: str) -> FactRow:
    made: Any = from_json(value)
    if name.startswith(_WHOLE):
        said = str(made.get("answer", ""))
        return FactRow(name=name, seconds=seconds, created=created, usage=None, said=said, asked=())
    reply: Any = made if name.startswith("reply ") else {}
    request: Any = from_json(key) if key and reply else {}
    return FactRow(
        name=name,
        seconds=seconds,
        created=created,
        usage=Usage(**reply["usage"]) if reply else None,
        said=reply.get("text", ""),
        asked=_MESSAGES.validate_python(request["request"]["messages"]) if request else (),
    )
