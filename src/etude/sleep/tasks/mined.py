"""Tasks that were mined from transcripts: what is asked, how an answer is judged, where it comes from."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from etude.envs.scorers.checks import Check
from etude.envs.scorers.checks_operators import impossible
from etude.envs.splits import fold
from etude.records import Record, Split, Task, digest
from etude.stages.shared.render import fence

Origin = Literal["real", "dream", "recall"]
Feedback = Literal["satisfied", "unsatisfied", "unknown"]

_PUBLISHED: Mapping[object, Split] = {"replay": "train", "holdout": "val"}
"""Names of sides in the published consolidation."""

SHORTEST_INTENT = 8
LONGEST_INTENT = 4_000
LONGEST_CONTEXT = 8_000
LONGEST_RUBRIC = 4_000
MOST_CHECKS = 12
LONGEST_QUOTE = 300

_OFFERED = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names under which every model can be offered a tool."""


class SessionRef(Record):
    """A session that a task comes from."""

    source: str
    """Name of the source, as in `claude-code`."""
    id: str
    """The program's own id of the session."""

    @property
    def name(self) -> str:
        """Both in one text."""
        return f"{self.source}:{self.id}"


class Quote(Record):
    """What a user said, letter for letter."""

    session: SessionRef
    text: str = Field(min_length=1, max_length=LONGEST_QUOTE)
    at: datetime | None = None
    """When it was said, in UTC."""
    once: bool = False
    """It seems to be about one occasion only."""


class Wish(Record):
    """What a user said outright that an agent should do in all later work."""

    rule: str = Field(min_length=1)
    """The wish as a rule for the agent, in the words of the miner."""
    quote: Quote


class MinedTask(Record):
    """One thing that a user asks for again and again, with at least one criterion. Where several kinds of criteria
    are given, all of them apply."""

    id: str = Field(min_length=1, max_length=200)
    intent: str = Field(max_length=LONGEST_INTENT)
    """What is asked, in words that need nothing else but `context`; at least 8 characters."""
    context: str = Field(default="", max_length=LONGEST_CONTEXT)
    """What has to be known to do it."""
    checks: tuple[Check, ...] = Field(default=(), max_length=MOST_CHECKS)
    """What code can decide."""
    rubric: str = Field(default="", max_length=LONGEST_RUBRIC)
    """What makes an answer good, for a model to judge."""
    exact: tuple[str, ...] = ()
    """Answers of which each is right as a whole, case and white space apart."""
    type: str = ""
    """Kind of task, as in `commit message`."""
    tags: tuple[str, ...] = ()
    cluster: str = ""
    """Tasks of one cluster ask for the same in other words, and are on the same side; empty until it is found."""
    split: Annotated[Split, BeforeValidator(lambda name: _PUBLISHED.get(name, name))] = "train"
    """`replay` and `holdout` are read as `train` and `val`. A night leaves `test` tasks alone."""
    origin: Origin = "real"
    """`dream`: a rewording of another task; `recall`: a task of an earlier night. Both are for training only."""
    derived_from: str = ""
    """Id of the task that a dream or a recalled task stands for."""
    project: str = ""
    """Absolute path of the folder that the sessions worked in, as the sessions tell it."""
    sessions: tuple[SessionRef, ...] = ()
    """The sessions in which it was asked, each once."""
    quotes: tuple[Quote, ...] = ()
    """Words of the user that say what a good answer must be, each found in its session by code."""
    night: int | None = Field(default=None, ge=0)
    """The night in which it was mined; None for a task that a person wrote."""
    feedback: Feedback = "unknown"
    """Whether the user was content with what the agent did."""
    gameable: bool = False
    """An answer that only says the right words passes: nothing but plain words decides."""
    skill: str = ""
    """Name of the only skill that the sessions loaded; empty when there was none, or several."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.intent.strip()) < SHORTEST_INTENT:
            raise ValueError(f"intent {self.intent!r} has fewer than {SHORTEST_INTENT} characters")
        if not self.criteria:
            raise ValueError("there is no criterion: give checks, a rubric or exact answers")
        if contradiction := impossible(self.checks):
            raise ValueError(f"no answer passes all checks: {contradiction}")
        if self.origin != "real" and (self.split != "train" or not self.derived_from):
            raise ValueError(f"a task of origin {self.origin!r} is for training, and says what it is derived from")
        return self

    @property
    def criteria(self) -> Mapping[str, JsonValue]:
        """What an answer is judged by, as `Task.gold` holds it: those of `checks`, `rubric` and `exact` that are
        given."""
        gold: dict[str, JsonValue] = {}
        if self.checks:
            gold["checks"] = [check.model_dump(mode="json", exclude_defaults=True) for check in self.checks]
        if self.rubric.strip():
            gold["rubric"] = self.rubric.strip()
        if exact := [answer for answer in self.exact if answer.strip()]:
            gold["exact"] = list[JsonValue](exact)
        return gold

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that checks ask about and that a model can be offered, each once."""
        names = [str(check.arg) for check in self.checks if check.op in ("tool_called", "tool_not_called")]
        return tuple(name for name in dict.fromkeys(names) if _OFFERED.fullmatch(name))

    @property
    def task(self) -> Task:
        """The task as environments and agents have it. `data.tools` names the tools that its checks ask about."""
        text = self.intent.strip()
        if self.context.strip():
            text = f"{text}\n\n{fence('context', self.context.strip())}"
        data: dict[str, JsonValue] = {"tools": list(self.tools)} if self.tools else {}
        return Task(id=self.id, input=text, gold=dict(self.criteria), type=self.type, group=self.cluster, data=data)


def learnable(tasks: Sequence[MinedTask]) -> tuple[MinedTask, ...]:
    """The tasks with something to learn from: where that are none but held-out ones, those. Tasks of the test are
    never learned from."""
    if any(task.split == "train" for task in tasks):
        return tuple(tasks)
    return tuple(task.model_copy(update={"split": "train"}) if task.split == "val" else task for task in tasks)


def untested(tasks: Iterable[MinedTask]) -> tuple[str, ...]:
    """What to say of tasks of which none is held out, though there are some to learn from."""
    splits = {task.split for task in tasks}
    said = "nothing was held out: rules are tried on the tasks they come from, and are proposed as not tested"
    return (said,) if "train" in splits and "val" not in splits else ()


def task_id(project: str, intent: str, context: str = "") -> str:
    """The id of a mined task: the same for the same words in the same project, case and white space apart."""
    return f"m{digest([project, fold(intent), fold(context)])[:12]}"


def merged(tasks: Iterable[MinedTask]) -> tuple[MinedTask, ...]:
    """One task for each id, in the order of ids: with the sessions and quotes of all, and with feedback and skill
    where all that know one agree. Everything else comes from the one with most criteria; of several, the one whose
    sessions come first. The result does not depend on the order of the tasks."""
    together: dict[str, list[MinedTask]] = {}
    for task in tasks:
        together.setdefault(task.id, []).append(task)
    return tuple(_one(together[name]) for name in sorted(together))


def _one(tasks: Sequence[MinedTask]) -> MinedTask:
    def rank(task: MinedTask) -> tuple[int, list[tuple[str, str]], str]:
        sessions = [(session.source, session.id) for session in task.sessions]
        count = len(task.checks) + bool(task.rubric) + len(task.exact)
        return -count, sessions, digest(task.model_dump(mode="json"))

    first = min(tasks, key=rank)
    sessions = {(session.source, session.id): session for task in tasks for session in task.sessions}
    quotes = dict.fromkeys(quote for task in sorted(tasks, key=rank) for quote in task.quotes)
    labels = {task.feedback for task in tasks if task.feedback != "unknown"}
    return first.model_copy(
        update={
            "sessions": tuple(sessions[key] for key in sorted(sessions)),
            "quotes": tuple(quotes),
            "feedback": labels.pop() if len(labels) == 1 else "unknown",
            "skill": first.skill if all(task.skill == first.skill for task in tasks) else "",
        }
    )
