"""Agent and environment from settings, in the process that holds the run and in those that make its attempts.

Workers build both with `build`, an import string in the `Recipe` of the run. Their models are not models: each
question goes to the process that holds the run, whose models answer with all their wrappers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from etude.agents.chat import ChatAgent
from etude.config import TrainConfig
from etude.config.sections import AgentSection, EnvSection
from etude.errors import ConfigError
from etude.events import Event, Notice
from etude.models.keys import key_variable, used_key_variable
from etude.models.wrappers.structured import Form, Structured
from etude.prompts import Prompts, prompt_names
from etude.protocols import Agent, Ask, ChatModel, Environment, Recipe
from etude.records import SPLITS, ChatRequest, Message, Record, Reply, Role, as_text
from etude.registry import find

M = TypeVar("M", bound=BaseModel)


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


class _Model(Record):
    """What agents and scorers know of a model without asking it."""

    name: str
    endpoint: str
    answered_by_hand: bool
    fingerprint: str
    takes_seed: bool
    takes_tools: bool
    max_output_tokens: int


class _Order(Record):
    """What a worker builds agent and environment from. No part of it has a key."""

    env: dict[str, JsonValue]
    agent: dict[str, JsonValue]
    prompts: dict[str, str]
    target: _Model
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
    models: Mapping[Role, ChatModel],
    judge: Structured | None,
    made: tuple[Agent, Environment],
    emit: Callable[[Event], None],
) -> Recipe:
    """How a worker makes agent and environment of a run, which are `made` here from the same settings."""
    judged = models.get("judge")
    order = _Order(
        env=config.env.model_dump(mode="json"),
        agent=config.agent.model_dump(mode="json"),
        prompts={name: prompts[name] for name in prompt_names()},
        target=_known(models["target"]),
        judge=None if judged is None else _known(judged),
    )
    variables = [named(section) for section in config.models.values() for named in (key_variable, used_key_variable)]
    return Recipe(
        builder=f"{__name__}:build",
        order=as_text(order),
        answer=_Answers(models["target"], judge).answer,
        fingerprints=[one.fingerprint() for one in made],
        secret_variables=[name for name in variables if name is not None],
        notice=lambda text: emit(Notice(level="info", text=text)),
    )


def _known(model: ChatModel) -> _Model:
    facts = {name: getattr(model, name) for name in _Model.model_fields if name != "fingerprint"}
    return _Model(fingerprint=model.fingerprint(), **facts)


class _Answers:
    """Answers what workers ask: the target's requests and the judge's."""

    def __init__(self, target: ChatModel, judge: Structured | None) -> None:
        self._target = target
        self._judge = judge

    async def answer(self, name: str, text: str) -> str:
        """The reply to a `ChatRequest` ("target") or to a question in a given form ("judge"), as JSON text."""
        if name == "target":
            return as_text(await self._target.complete(ChatRequest.model_validate_json(text)))
        assert self._judge is not None
        asked = _Question.model_validate_json(text)
        form = Form(asked.name, asked.form, asked.skeleton)
        return as_text(await self._judge.send(asked.messages, asked.corrections, form, asked.seed))


def build(order: str, ask: Ask) -> tuple[Agent, Environment]:
    """Agent and environment in a worker. `ask` is `_Answers.answer` of the process that holds the run. Raises
    InputError: one of them cannot be made here."""
    told = _Order.model_validate_json(order)
    prompts = Prompts(told.prompts)
    judge = RunJudge(prompts["rubric"], None)
    if told.judge is not None:
        judge.model = _FarStructured(_FarModel(told.judge, ask), ask)
    env = make_environment(EnvSection.model_validate(told.env), judge)
    for split in SPLITS:  # an environment may count on it
        env.tasks(split)
    target = _FarModel(told.target, ask)
    return make_agent(AgentSection.model_validate(told.agent), env, target, prompts), env


class _FarModel(ChatModel):
    """A model that answers in the process that holds the run."""

    def __init__(self, known: _Model, ask: Ask) -> None:
        self.name = known.name
        self.endpoint = known.endpoint
        self.answered_by_hand = known.answered_by_hand
        self._known = known
        self._ask = ask

    async def complete(self, request: ChatRequest) -> Reply:
        return Reply.model_validate_json(await self._ask("target", as_text(request)))

    def fingerprint(self) -> str:
        return self._known.fingerprint

    @property
    def takes_seed(self) -> bool:
        return self._known.takes_seed

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
        self, messages: Sequence[Message], corrections: Sequence[Message], form: Form, seed: int | None
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
