"""What a run is made of besides what runs its attempts."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import JsonValue

from etude.errors import ConfigError
from etude.events import Event
from etude.protocols.code_digest import class_digest
from etude.records import ChatRequest, Reply, Role, Score, Skill, Split, Task, Trajectory, Usage
from etude.secret_values import Secrets

T = TypeVar("T")


class Texts(Protocol):
    """The prompts of a run, by name."""

    def __getitem__(self, name: str, /) -> str: ...


class ChatModel(ABC):
    """A model one can send messages to. Own models implement `complete` and set `name`."""

    name: str
    """What a person calls it, as in `openai:gpt-5.5`."""
    endpoint: str = ""
    """Where it is reached, for error messages."""
    answered_by_hand: bool = False
    """A person answers in their own time, in the files of the folder `endpoint`: no server's limits count."""
    secrets: Secrets | None = None
    """What it knows and must not be stored; may grow as it works."""

    @abstractmethod
    async def complete(self, request: ChatRequest) -> Reply:
        """Answer the request.

        Raises:
            TransientError: the same request may succeed later.
            RejectedRequest: this request never will.
            RejectedRole: no request ever will (wrong key, unknown model).
        """

    def fingerprint(self) -> str:
        """Text that changes whenever the same request could be answered otherwise: model, sampling settings.

        By default the name and the source of the class.
        """
        return f"{self.name} {class_digest(type(self))}"

    @property
    def takes_tools(self) -> bool:
        """Whether a request may have tools."""
        return True

    @property
    def trouble(self) -> str:
        """Why the last request came to nothing that is being tried again; empty once one is answered."""
        return ""

    @property
    def max_output_tokens(self) -> int:
        """Most tokens one reply may have; budgets reserve for it."""
        return 4096

    def leave_out(self, parameter: str) -> str:
        """Send later requests without a parameter that a `RejectedRequest` names, or under its other name. Says what
        the server does not take and what is done instead, as in "does not take seed: ..."; empty where that changes
        nothing."""
        return ""

    async def aclose(self) -> None:  # noqa: B027 - most models have nothing to close
        """Close connections."""


class Wrapper(ChatModel):
    """Answers as the model inside does, and is it in every respect a subclass does not change."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self.endpoint = model.endpoint
        self.answered_by_hand = model.answered_by_hand

    async def complete(self, request: ChatRequest) -> Reply:
        return await self._model.complete(request)

    def fingerprint(self) -> str:
        return self._model.fingerprint()

    @property
    def takes_tools(self) -> bool:
        return self._model.takes_tools

    @property
    def trouble(self) -> str:
        return self._model.trouble

    @property
    def max_output_tokens(self) -> int:
        return self._model.max_output_tokens

    def leave_out(self, parameter: str) -> str:
        return self._model.leave_out(parameter)

    async def aclose(self) -> None:
        await self._model.aclose()


@dataclass(frozen=True)
class EnvironmentTool:
    """A tool that an environment brings to an attempt."""

    name: str
    """Letters, digits, `_` and `-`, at most 64."""
    description: str
    """What the model reads about it."""
    parameters: Mapping[str, JsonValue]
    """JSON schema of the arguments, of type object."""
    call: Callable[[Mapping[str, JsonValue]], Awaitable[str]]
    """What is done. The text that the model gets also says what is wrong with arguments; whatever is raised makes
    the attempt void."""


ToolSource = Callable[[Task], Sequence[EnvironmentTool]]
"""The tools of one attempt at a task."""


class Agent(ABC):
    """Attempts tasks with a skill. An agent does not know which environment asks."""

    name: str
    secrets: Secrets | None = None
    """As of a `ChatModel`."""
    told: str = ""
    """What its model is told besides skill and task, for the optimizer to know; empty where that is not known."""
    journals_calls: ClassVar[bool] = False
    """All that is paid for in an attempt are calls of the target model, which are facts already. False makes the
    attempt itself a fact."""
    opens_files: ClassVar[bool] = False
    """Its model can open the files of a skill; else it is shown the text only."""

    @abstractmethod
    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """Try the task once. Faults of the agent itself go to `Trajectory.failure`; whatever is raised is void."""

    def check_task(self, task: Task) -> None:
        """Look at a task before anything is paid for; by default there is nothing to look at.

        Raises:
            DataError: the agent cannot attempt the task.
        """
        del task

    def fingerprint(self) -> str:
        """Text that changes whenever the same task could be attempted otherwise; by default name and source."""
        return f"{self.name} {class_digest(type(self))}"

    def with_tools(self, tools: ToolSource, fingerprint: str) -> "Agent":
        """The same agent with the tools of an environment; agents that call tools override it.

        Args:
            tools: called once in each attempt.
            fingerprint: changes whenever the tools could do otherwise.

        Raises:
            ConfigError: the agent calls no tools.
        """
        del tools, fingerprint
        raise ConfigError(
            f"agent {self.name!r} cannot call the tools that the environment brings", hint="set agent.name to 'tools'"
        )

    def room(self) -> AbstractAsyncContextManager[object]:
        """Held during an attempt, for agents of which the machine has room for a few at a time. Waiting for it does
        not count for `limits.attempt_seconds`, and it is left before the attempt is scored."""
        return nullcontext()

    @property
    def metered(self) -> bool:
        """All model calls of an attempt are those of the target, so that its price holds for them."""
        return True

    async def aclose(self) -> None:  # noqa: B027 - most agents have nothing to close
        """Stop what was started for attempts."""


class Scorer(ABC):
    """Compares an attempt with the gold answer."""

    name: str
    repeatable: ClassVar[bool] = False
    """Scoring the same trajectory again gives the same score and costs nothing but model calls, which are facts
    already. False makes the score a fact."""
    tries_solutions: bool = False
    """`check_solution` knows of some tasks how their author solves them."""

    @abstractmethod
    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Score the trajectory. Whatever is raised is void, never a zero."""

    def expectation(self, task: Task) -> str:
        """What feedback on an attempt without an answer tells of the right one; by default nothing."""
        del task
        return ""

    def patterns(self, task: Task) -> Sequence[str]:
        """What answers to the task are matched with, where that is not an answer itself; by default nothing.

        Feedback never tells them. The optimizer reads feedback, and a skill made to satisfy a pattern need not
        satisfy anything else.
        """
        del task
        return ()

    def check_task(self, task: Task) -> None:
        """Look at a task before anything is paid for; by default there is nothing to look at.

        Raises:
            DataError: attempts at the task cannot be scored.
        """
        del task

    async def check_solution(self, task: Task) -> None:
        """Solve a task as its author does and score that, before anything is paid for; by default nothing is known.

        Raises:
            DataError: the solution has not full marks.
        """
        del task

    def fingerprint(self) -> str:
        """Text that changes whenever the same answer could be scored otherwise; by default name and source."""
        return f"{self.name} {class_digest(type(self))}"


class Environment(ABC):
    """Tasks and their scoring. Own environments implement two methods: `tasks` and `score`."""

    name: str = "environment"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @abstractmethod
    def tasks(self, split: Split) -> Sequence[Task]:
        """All tasks of a split, in a fixed order. Called once for each split, before anything is paid for.

        Raises:
            DataError: the data cannot be used.
        """

    @abstractmethod
    def score(self, task: Task, trajectory: Trajectory) -> Score | float | Awaitable[Score | float]:
        """Score a trajectory; a plain number counts as both hard and soft. May be `async def`."""

    def expectation(self, task: Task) -> str:
        """As `Scorer.expectation`."""
        del task
        return ""

    def fingerprint(self) -> str:
        """Text that changes whenever the same attempt could be scored otherwise; by default the name and the source
        of the class. Tasks are counted in separately."""
        return f"{self.name} {class_digest(type(self))}"

    @property
    def repeatable(self) -> bool:
        """As `Scorer.repeatable`."""
        return False

    @property
    def warnings(self) -> Sequence[str] | None:
        """What is doubtful about the tasks, one sentence each; None when that was not checked."""
        return None

    def image(self, reference: str) -> str:
        """The http(s) or data URL that a model is sent for an entry of `Task.images`. Called in a thread.

        Raises:
            DataError: there is no such picture any more.
        """
        return reference

    trains_skills: ClassVar[bool] = True
    """What is trained on its tasks is a skill, and can be compared as one."""
    has_tools: ClassVar[bool] = False
    """`tools` gives some: attempts need an agent that calls tools, and depend on the environment."""

    def tools(self, task: Task) -> Sequence[EnvironmentTool]:
        """Tools for one attempt at a task, in addition to those the agent has; asked for where `has_tools` is set.
        What a tool has to remember during an attempt belongs into what is returned here: it is called once in each.
        What was called and came back stands in the trajectory, for `score` to read."""
        del task
        return ()

    def agent(self, target: ChatModel, prompts: Texts) -> Agent | None:
        """The agent that belongs to this environment; None to use the configured one."""
        del target, prompts
        return None


class Journal(ABC):
    """Facts: paid or decided results, remembered under the hash of everything they depend on."""

    @abstractmethod
    async def once(self, kind: str, key: Any, type: type[T], work: Callable[[], Awaitable[T]]) -> T:
        """The fact under (`kind`, `key`), else the result of `work`, remembered. Asked twice at the same time the
        work is done once. Work that raises leaves nothing behind. `key` is JSON data."""

    @abstractmethod
    def get(self, kind: str, key: Any, type: type[T]) -> T | None:
        """The fact under (`kind`, `key`), None when there is none."""


class Spend(ABC):
    """A durable account of what was sent and billed; it survives `kill -9`."""

    @abstractmethod
    async def reserve(self, role: Role, tokens: int, usd: float | None) -> int:
        """Write down an upper bound before sending; returns a ticket.

        Raises:
            BudgetStop: the bound does not fit into what is left. Nothing was written.
        """

    @abstractmethod
    async def settle(self, ticket: int, usage: Usage | None, usd: float | None) -> None:
        """Replace the bound by what was billed: `usage` None for a request that failed without a bill, `usd` None
        where the price is unknown."""

    @abstractmethod
    def abandon(self, ticket: int) -> None:
        """The request was cut off and may have been billed: the bound stays, and nothing has to wait for it."""

    @abstractmethod
    def withdraw(self, ticket: int) -> None:
        """The request was not sent: nothing of it counts."""


class Sink(Protocol):
    """Reads events."""

    def emit(self, event: Event) -> None:
        """Take one event. Must not block and must not raise."""
        ...
