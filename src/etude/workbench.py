"""What a run works with: its settings, its models, its folder, what is known already."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from etude.config import Price, TrainConfig
from etude.envs.scorers.answer_scorer import Judge
from etude.errors import ConfigError, DataError, Interrupted, did_you_mean
from etude.events import Event, SpendChanged
from etude.models import Structured
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel, Environment, Executor, Sink, Wrapper
from etude.records import Attempt, Candidate, ChatRequest, GateResult, Reply, Skill, Split, Task, TrainState, role_of
from etude.records.summary import Doubt
from etude.stages.shared.golds import Golds
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.render import told_block
from etude.stages.shared.rollout import Rollout
from etude.store import RunFolder, SqliteSpend
from etude.store.spend import check_minutes

F = TypeVar("F", bound=Callable[..., Any])


class StopSwitch:
    """Asks a run to stop: what is in flight ends, nothing new starts."""

    def __init__(self) -> None:
        self.requested = False
        self._file: Path | None = None
        self._minutes: float | None = None
        self._since = 0.0

    def allow(self, minutes: float | None) -> None:
        """Let nothing start once so many minutes have gone by from now, in all that has this switch; None for any."""
        self._minutes, self._since = minutes, time.monotonic()

    def stop(self) -> None:
        """Ask."""
        self.requested = True

    def watch(self, file: Path) -> None:
        """A file of this name, made from now on, asks as well: so another process can."""
        file.unlink(missing_ok=True)
        self._file = file

    def check(self) -> None:
        """Raise Interrupted once asked, and BudgetStop once the minutes are over."""
        if self.requested or (self._file is not None and os.path.exists(self._file)):
            raise Interrupted("interrupted", hint="run the same command again to resume")
        check_minutes(self._minutes, time.monotonic() - self._since)


class Given(TypedDict, total=False):
    """Objects to use instead of building them from the config."""

    env: "Environment | MakeEnvironment"
    """An environment, or what makes one."""
    target: ChatModel
    optimizer: ChatModel
    judge: ChatModel
    agent: Agent
    skill: Skill | Path | str | None
    """A skill, or the path of one; None for no skill, whatever the settings say."""
    executor: Executor
    prompts: Prompts | Mapping[str, str | Path]
    """Prompts, or prompt name to text (str) or Markdown file (Path)."""
    sinks: Sequence[Sink]
    """Readers of events, while they happen."""
    progress: bool
    """Show the progress in the terminal or notebook. Unless given, synchronous functions do where a person watches,
    async ones do not."""
    observer: "Observer"
    """Follows the search from outside."""
    fork: str
    """Name of a run in the same folder whose facts a fresh run starts over."""
    switch: StopSwitch
    """To stop the run from outside."""
    offline: bool
    """Nobody is asked: what the journal lacks stops the run."""


def takes_given(function: F) -> F:
    """Name the keywords of `Given`, each of which may be left out, in the signature that notebooks and `help` show.
    Type checkers know them anyway."""
    known = signature(function)
    named = [parameter for parameter in known.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
    for name, kind in Given.__annotations__.items():
        named.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=..., annotation=getattr(kind, "__forward_arg__", kind))
        )
    cast(Any, function).__signature__ = known.replace(parameters=named)
    return function


def check_given(given: Given) -> None:
    """Raises ConfigError: a name is none of `Given`."""
    for name in given:
        if name not in Given.__annotations__:
            raise ConfigError(f"unknown argument {name!r}", hint=did_you_mean(name, Given.__annotations__))


MakeEnvironment = Callable[[Callable[[], Judge]], Environment]
"""Makes an environment, given what makes the judge of the settings; without one in the settings that is an error."""


class Observer:
    """Follows a search from outside. This one looks away: override what is needed."""

    def attempted(self, attempts: Sequence[Attempt]) -> None:
        """Training tasks were attempted in a step."""

    def decided(self, candidate: Candidate, result: GateResult | None, skipped: str) -> None:
        """It was decided on a candidate, or `skipped` says why it was not tried."""

    async def finished(self, bench: "Workbench", state: TrainState) -> None:
        """The search is over; the test comes next."""


@dataclass(frozen=True)
class Workbench:
    """Everything a run works with, wired and checked."""

    config: TrainConfig
    skill: Skill
    tasks: Mapping[Split, Sequence[Task]]
    rollout: Rollout
    structured: Structured
    prompts: Prompts
    folder: RunFolder
    spend: SqliteSpend
    emit: Callable[[Event], None]
    models: Mapping[str, "Watched"]
    """By where the settings have them: `target`, or `targets.0` and so on, `optimizer` and `judge`."""
    resumed: bool
    observer: Observer
    doubts: tuple[Doubt, ...] = ()
    judge_agrees: str = ""
    """How far a person agreed with the judge; empty where nobody has labelled its answers."""
    """About tasks and scorer."""
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """The optimizer's answers since the last decision, as `facts_noted` names them."""

    def optimizer(self, memory: str = "") -> Optimizer:
        """The optimizer, with its memory where it proposes and chooses edits."""
        preferences = self.config.reflect.preferences
        known = self.answers
        return Optimizer(
            self.structured, self.prompts, self.emit, memory=memory, preferences=preferences, facts=known
        )

    @cached_property
    def golds(self) -> Golds:
        """The gold answers of the training tasks."""
        return Golds(self.tasks["train"])

    @property
    def told(self) -> str:
        """What an optimizer is told of the agent: its models, and what they are told besides skill and task."""
        sections = self.config.models
        called = {f"targets.{number}": f"{one.called!r} is " for number, one in enumerate(self.config.targets)}
        models = [
            (
                called.get(place, "") + ("a person" if model.answered_by_hand else model.name),
                sections[place].temperature,
            )
            for place, model in self.models.items()
            if role_of(place) == "target"
        ]
        return told_block(models, self.rollout.agent.told)

    def split(self, name: Split) -> Sequence[Task]:
        """The tasks of a split. Raises DataError: there are none."""
        if not self.tasks.get(name):
            raise DataError(f"split {name!r} has no tasks", hint="choose train, val or test, or give it tasks")
        return self.tasks[name]

    def tell_spend(self) -> None:
        """Emit what the run has used so far."""
        used = self.spend.totals()
        self.emit(SpendChanged(calls=used.total_calls, tokens=used.total_tokens, usd=used.usd))

    @property
    def simulated(self) -> bool:
        """An answer came, or will come, from the simulated world."""
        return any(model.simulated for model in self.models.values())

    @property
    def dry(self) -> bool:
        """The target is simulated and knows none of the tasks: only the plumbing is tried."""
        if not all(model.simulated for place, model in self.models.items() if role_of(place) == "target"):
            return False
        from etude.simulation.families import find_tasks  # many patterns, which runs of real models do not need

        return not any(find_tasks(task.input) for tasks in self.tasks.values() for task in tasks)


class Watched(Wrapper):
    """The outermost wrapper of a role: knows whether answers are simulated, and lets nothing pass after a stop."""

    def __init__(self, model: ChatModel, check: Callable[[], None], price: Price | None) -> None:
        super().__init__(model)
        self.price = price
        """None when unknown."""
        self.simulated = model.name.startswith("simulated:")
        self._check = check

    async def complete(self, request: ChatRequest) -> Reply:
        self._check()
        reply = await super().complete(request)
        self.simulated = self.simulated or reply.simulated
        return reply
