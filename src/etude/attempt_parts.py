"""Agent and environment from settings, in the process that holds the run and in those that make its attempts.

Workers build both with `build`, an import string in the `Recipe` of the run. Their models are not models: each
question goes to the process that holds the run, whose models answer with all their wrappers.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from etude.agents.chat import ChatAgent
from etude.agents.targets import one_of
from etude.config import TrainConfig
from etude.config.sections import AgentSection, EnvSection
from etude.errors import ConfigError, InputError, Missing
from etude.events import Event, Notice
from etude.models.keys import key_variable, used_key_variable
from etude.models.wrappers.structured import ReplyShape, Structured
from etude.prompts import Prompts, prompt_names
from etude.protocols import Agent, Ask, ChatModel, Environment, Recipe
from etude.records import SPLITS, ChatRequest, Message, Record, Reply, Skill, Task, Trajectory, as_text
from etude.registry import find
from etude.skill.folder import to_open
from etude.skill.parts import FOLDERS, TRAINABLE

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


_LOOK = "`etude doctor` says what it needs"


class AbsentAgent(Agent):
    """Stands for an agent of the settings that needs what is not here, where nothing is attempted."""

    opens_files = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        raise ConfigError(f"agent {self.name!r} is not here", hint=_LOOK)


class AbsentModel(ChatModel):
    """Stands for a model of the settings that needs what is not here, where nothing is asked."""

    endpoint = "absent"

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: ChatRequest) -> Reply:
        raise ConfigError(f"model {self.name!r} is not here", hint=_LOOK)


def or_absent(make: Callable[[], T], absent: T, missing: list[Missing] | None) -> T:
    """What `make` makes; `absent` where that needs what is not here, which is then in `missing`, if that is given."""
    try:
        return make()
    except Missing as error:
        if missing is None:
            raise
        missing.append(error)
        return absent


class RunJudge:
    """The judge of the rubric scorer: known by its settings at first, wired to the journal once there is one."""

    def __init__(self, instructions: str, provider: ChatModel | None) -> None:
        self.instructions = instructions
        self.model = None if provider is None else Structured(provider)

    def __call__(self) -> "RunJudge":
        if self.model is None:
            raise ConfigError("the rubric scorer needs a judge", hint="set judge.model")
        return self

    async def ask(self, messages: Sequence[Message], reply_type: type[M]) -> M:
        """As `Structured.ask`."""
        assert self.model is not None
        return await self.model.ask(messages, reply_type)

    def fingerprint(self) -> str:
        """Of the judge's model."""
        return "" if self.model is None else self.model.fingerprint()


def make_environment(section: EnvSection, judge: RunJudge) -> Environment:
    """The environment of the settings. Raises InputError: it cannot be made."""
    cls = find("environments", section.name)
    asked = None if judge.model is None else judge
    return cls.from_options(dict(section.model_extra or {}), where="env", judge=asked)


def unopened(config: TrainConfig, skill: Skill) -> dict[str, str]:
    """What keeps files of a skill from being used: an agent of the settings that cannot open them;
    a file that cannot be trained although files are. With what to do."""
    blind = [each.name for each in config.agents.values() if not find("agents", each.name).opens_files]
    beside, found = " and ".join(to_open(skill)), dict[str, str]()
    if blind and beside:
        text = f"skill {skill.name!r} has {beside}, and agent {blind[0]!r} shows only its text"
        found[text] = "set agent.name: tools, or an agent program"
    kept = ", ".join(path for path in skill.files if path.startswith(FOLDERS))
    if kept and config.skill.files:  # those that are trained are in the text
        found[f"skill.files leaves {kept} as it is"] = TRAINABLE
    return found


def make_agent(
    section: AgentSection, env: Environment, target: ChatModel, prompts: Prompts, given: Agent | None = None
) -> Agent:
    """The agent that was given, that of the environment, or that of the settings, with the environment's tools.
    Raises InputError: it cannot be made."""
    agent = given or env.agent(target, prompts)
    if agent is None:
        make = ChatAgent if section.name == ChatAgent.name else find("agents", section.name)
        agent = make.from_options(dict(section.model_extra or {}), target, prompts, where="agent")
    # Without tools of its own, an environment leaves attempts independent of how they are scored.
    return agent.with_tools(env.tools, env.fingerprint()) if env.has_tools else agent


def make_agents(
    sections: Mapping[str, AgentSection],
    env: Environment,
    targets: Mapping[str, ChatModel],
    prompts: Prompts,
    given: Agent | None = None,
    missing: list[Missing] | None = None,
) -> dict[str, Agent]:
    """The agents of all targets, by name. What one of them needs and is not here is added to `missing`, where that is
    given. Raises InputError: one cannot be made."""
    agents: dict[str, Agent] = {}
    for name, model in targets.items():
        with about_target(name):
            make = partial(make_agent, sections[name], env, model, prompts, given)
            agents[name] = or_absent(make, AbsentAgent(sections[name].name), missing)
    return agents


@contextmanager
def about_target(name: str) -> Generator[None, None, None]:
    """Errors of what is wrong with one of several targets say which; one target has no name."""
    try:
        yield
    except InputError as error:
        if name:
            error.message = f"target {name!r}: {error.message}"
        raise


def targets_of(config: TrainConfig, models: Mapping[str, T]) -> dict[str, T]:
    """The models of the targets by what these are called, out of those of `TrainConfig.models`."""
    return dict(zip(config.agents, models.values(), strict=False))  # targets come first


class _Model(Record):
    """What agents and scorers know of a model without asking it."""

    name: str
    endpoint: str
    answered_by_hand: bool
    fingerprint: str
    takes_tools: bool
    max_output_tokens: int


class _Order(Record):
    """What a worker builds agent and environment from. No part of it has a key."""

    env: dict[str, JsonValue]
    agents: dict[str, dict[str, JsonValue]]
    """By the names of the targets, as the next ones."""
    targets: dict[str, _Model]
    prompts: dict[str, str]
    judge: _Model | None


class _Question(Record):
    """What `Structured.send` is given."""

    messages: tuple[Message, ...]
    corrections: tuple[Message, ...]
    name: str
    form: dict[str, JsonValue]
    skeleton: str
    seed: int | None


def recipe_of(
    config: TrainConfig,
    prompts: Prompts,
    models: Mapping[str, ChatModel],
    judge: Structured | None,
    made: tuple[Agent, Environment],
    emit: Callable[[Event], None],
) -> Recipe:
    """How a worker makes agent and environment of a run, which are `made` here from the same settings."""
    judged, targets = models.get("judge"), targets_of(config, models)
    order = _Order(
        env=config.env.model_dump(mode="json"),
        agents={name: section.model_dump(mode="json") for name, section in config.agents.items()},
        targets={name: _known(model) for name, model in targets.items()},
        prompts={name: prompts[name] for name in prompt_names()},
        judge=None if judged is None else _known(judged),
    )
    variables = [named(section) for section in config.models.values() for named in (key_variable, used_key_variable)]
    return Recipe(
        builder=f"{__name__}:build",
        order=as_text(order),
        answer=_Answers(targets, judge).answer,
        fingerprints=[one.fingerprint() for one in made],
        secret_variables=[name for name in variables if name is not None],
        notice=lambda text: emit(Notice(level="info", text=text)),
    )


def _known(model: ChatModel) -> _Model:
    facts = {name: getattr(model, name) for name in _Model.model_fields if name != "fingerprint"}
    return _Model(fingerprint=model.fingerprint(), **facts)


class _Answers:
    """Answers what workers ask: requests of the targets and the judge's."""

    def __init__(self, targets: Mapping[str, ChatModel], judge: Structured | None) -> None:
        self._targets = targets
        self._judge = judge

    async def answer(self, name: str, text: str) -> str:
        """The reply to a question in a given form ("judge") or to a `ChatRequest` ("target:" and the name of one of
        several), as JSON text."""
        kind, _, target = name.partition(":")
        if kind == "target":
            return as_text(await self._targets[target].complete(ChatRequest.model_validate_json(text)))
        assert self._judge is not None
        asked = _Question.model_validate_json(text)
        form = ReplyShape(asked.name, asked.form, asked.skeleton)
        return as_text(await self._judge.send(asked.messages, asked.corrections, form, asked.seed))


def build(order: str, ask: Ask) -> tuple[Agent, Environment]:
    """Agent and environment in a worker. `ask` is `_Answers.answer` of the process that holds the run. Raises
    InputError: one of them cannot be made here."""
    told = _Order.model_validate_json(order)
    prompts = Prompts(told.prompts)
    judge = RunJudge(prompts["rubric"], None)
    if told.judge is not None:
        judge.model = _FarStructured(_FarModel(told.judge, ask, "judge"), ask)
    env = make_environment(EnvSection.model_validate(told.env), judge)
    for split in SPLITS:  # an environment may count on it
        env.tasks(split)
    targets = {name: _FarModel(model, ask, f"target:{name}") for name, model in told.targets.items()}
    sections = {name: AgentSection.model_validate(section) for name, section in told.agents.items()}
    agents = make_agents(sections, env, targets, prompts)
    return agents.get("") or one_of(agents), env


class _FarModel(ChatModel):
    """A model that answers in the process that holds the run."""

    def __init__(self, known: _Model, ask: Ask, asked: str) -> None:
        self.name = known.name
        self.endpoint = known.endpoint
        self.answered_by_hand = known.answered_by_hand
        self._known = known
        self._ask = ask
        self._asked = asked

    async def complete(self, request: ChatRequest) -> Reply:
        return Reply.model_validate_json(await self._ask(self._asked, as_text(request)))

    def fingerprint(self) -> str:
        return self._known.fingerprint

    @property
    def takes_tools(self) -> bool:
        return self._known.takes_tools

    @property
    def max_output_tokens(self) -> int:
        return self._known.max_output_tokens


class _FarStructured(Structured):
    """Asks there as well: which form the server takes is learned, told and remembered once, for all workers."""

    def __init__(self, model: ChatModel, ask: Ask) -> None:
        super().__init__(model)
        self._ask = ask

    async def send(
        self, messages: Sequence[Message], corrections: Sequence[Message], form: ReplyShape, seed: int | None
    ) -> Reply:
        question = _Question(
            messages=tuple(messages),
            corrections=tuple(corrections),
            name=form.name,
            form=form.schema,
            skeleton=form.skeleton,
            seed=seed,
        )
        return Reply.model_validate_json(await self._ask("judge", as_text(question)))
