"""All settings of a training run, section by section."""

from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from etude.config.models import ModelSection, OptimizerSection, Price
from etude.config.section_base import Section, at_home
from etude.errors import ConfigError
from etude.records import Metric, brief


class EnvSection(Section):
    """Where tasks come from. Further keys are options of the chosen environment."""

    model_config = ConfigDict(frozen=True, extra="allow")

    paths: ClassVar[frozenset[str]] = frozenset({"path", "train", "val", "test"})
    free: ClassVar[frozenset[str]] = frozenset({"allow_constant_gold"})

    name: str = "dataset"
    """`dataset`, or the name or import path of another environment."""
    allow_constant_gold: bool = False
    """Also train on tasks that one fixed reply solves. Otherwise this is an error: a skill can learn nothing from
    them but that reply."""


class AgentSection(Section):
    """What attempts the tasks. Further keys are options of the chosen agent."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = "chat"
    """`chat`, `tools`, `claude-code`, `codex`, `copilot-cli`, `gemini-cli`, `opencode`, `pi`, `qwen-code`,
    `command`, or the name or import path of another agent."""


class TargetSection(ModelSection):
    """One of several targets: a model, as `target` is, with an agent of its own where that differs."""

    name: str = ""
    """What it is called in reports; by default the model's name."""
    agent: AgentSection | None = None
    """What attempts the tasks with this model; by default the section `agent`."""

    @property
    def called(self) -> str:
        """The name in reports, and in the ids of tasks."""
        return self.name or self.model

    @property
    def alone(self) -> ModelSection:
        """The model, as the section `target` has it."""
        return ModelSection(**{name: getattr(self, name) for name in ModelSection.model_fields})


class SkillSection(Section):
    """The skill to start from."""

    paths: ClassVar[frozenset[str]] = frozenset({"path"})

    path: str | None = None
    """A skill folder, a SKILL.md or a plain Markdown file. None starts with an empty skill."""
    max_tokens: int = Field(default=5000, ge=1)
    """A longer candidate is not evaluated. Tokens are estimated as characters / 4."""
    files: bool = False
    """Train the texts under `references/` and `scripts/`, too. They count for `max_tokens` then."""


class TrainSection(Section):
    """The schedule."""

    epochs: int = Field(default=12, ge=1)
    """Passes over the training tasks. With `search.policy: evidence` there are fewer when two in a row, or twelve
    steps, bring nothing, or one where there are several targets."""
    seed: int = 42
    """Seed of all shuffles and samples."""
    fresh_attempts: bool = False
    """Attempt a task again in each epoch even when it was attempted under the same skill before."""


class SearchSection(Section):
    """How a run looks for a better skill. Further keys are options of the chosen policy."""

    model_config = ConfigDict(frozen=True, extra="allow")

    policy: str = "evidence"
    """`evidence` tests edits on the failures they cite. `paper` makes one candidate in a step and validates it as a
    whole. `rewrite_first` has the skill rewritten once and continues like `paper`. Or the name or import path of
    another policy."""


class ReflectSection(Section):
    """Reading trajectories."""

    mode: Literal["shallow", "deep"] = "deep"
    """`shallow` reads each trajectory on its own terms, `deep` compares several: clusters of failures, pass and
    fail of the same task, flips since the last skill."""
    max_trajectory_chars: int = Field(default=12_000, ge=200)
    """A longer trajectory is cut in the middle, and the cut is marked."""
    ledger_entries: int = Field(default=20, ge=0)
    """Most earlier edits, with their outcomes, shown to the optimizer."""
    preferences: str = ""
    """House rules in your own words, which the optimizer is shown with every call."""


class GateSection(Section):
    """How scores are compared."""

    metric: Metric = "hard"
    """What is compared: `hard`, `soft`, or `mixed` = (1 - w) * hard + w * soft."""
    mixed_weight: float = Field(default=0.5, ge=0, le=1)
    """The weight w of soft in `mixed`."""
    allow_loss: float = Field(default=0.0, ge=0, le=1)
    """With several `targets`: what one of them may lose in mean score by a line or a candidate; 1 for anything."""


class TestSection(Section):
    """The test at the end."""

    free: ClassVar[frozenset[str]] = frozenset({"no_skill"})

    enabled: bool = True
    """Score the initial and the best skill on the test split, once."""
    no_skill: bool = True
    """Attempt the test tasks without any skill, too: what is the best one worth? Costs nothing where the initial
    skill is empty."""
    trials: int = Field(default=1, ge=1)
    """Attempts at each test task."""


class LimitsSection(Section):
    """What a run may use. All of it may change when a run is resumed."""

    usd: float | None = Field(default=None, gt=0)
    """Most US dollars; needs a price for every role that costs money."""
    tokens: int | None = Field(default=None, gt=0)
    """Most tokens, input and output of all roles together."""
    calls: int | None = Field(default=None, gt=0)
    """Most model requests, retries included."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes after which nothing more is sent."""
    max_void: float = Field(default=0.1, ge=0, lt=1)
    """Largest share of a training batch, of a part of it, or of a round of tests of edits that may end without a
    score. One attempt always may, unless this is 0."""
    max_void_eval: float = Field(default=0.0, ge=0, lt=1)
    """The same for validation and test."""
    outage_seconds: float = Field(default=300.0, gt=0)
    """How long a dead endpoint is tried before the run stops."""
    concurrency: int = Field(default=16, ge=1, le=2000)
    """Slots: attempts under way at the same time, on this computer or on a cluster, at most 2,000. Evaluations use
    them all, a training some dozens while it learns."""
    resend: bool = False
    """Send a request once more when it takes longer than 95 of 100 of the last ones (80 where hardly another is under
    way), and than two times their median. The first answer counts and both are billed."""
    attempt_seconds: float = Field(default=600.0, gt=0)
    """Longest an attempt may take, and its scoring after that. A longer one is void, or failed where commands of the
    agent and answers of the model took most of the time."""


class ExecutorSection(Section):
    """What runs attempts side by side. Further keys are options of the chosen executor."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = "local"
    """`local`, `ray`, or the name or import path of another executor."""


class RunSection(Section):
    """Where results go."""

    paths: ClassVar[frozenset[str]] = frozenset({"folder"})

    folder: str = "runs"
    """Folder of all runs."""
    name: str = "run"
    """Folder of this run within it: at most 100 bytes, without a dash in front. `007` is text, too."""


class TrainConfig(Section):
    """All settings of a training run."""

    free: ClassVar[frozenset[str]] = frozenset({"limits", "executor", "run", "prices", "report_to", "targets"})

    preset: Literal["default", "paper"] = "default"
    """`paper` sets the published schedule and acceptance rule; other settings go on top of it."""
    env: EnvSection = EnvSection()
    """Where tasks come from."""
    agent: AgentSection = AgentSection()
    """What attempts them."""
    skill: SkillSection = SkillSection()
    """The skill to start from."""
    target: ModelSection = ModelSection(model="simulated:target")
    """The frozen model that attempts tasks."""
    targets: tuple[TargetSection, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    """In place of `target`: several models, or agents, for which one skill is trained. With
    `search.policy: evidence` a line by which one of them clearly does worse is removed at the end."""
    optimizer: OptimizerSection = OptimizerSection(model="simulated:optimizer")
    """The model that reads trajectories and proposes edits."""
    judge: ModelSection | None = None
    """The model behind the `rubric` scorer."""
    train: TrainSection = TrainSection()
    """The schedule."""
    search: SearchSection = SearchSection()
    """How a better skill is looked for."""
    reflect: ReflectSection = ReflectSection()
    """Reading trajectories."""
    gate: GateSection = GateSection()
    """How scores are compared."""
    test: TestSection = TestSection()
    """The test at the end."""
    limits: LimitsSection = LimitsSection()
    """What the run may use."""
    executor: ExecutorSection = ExecutorSection()
    """What runs attempts side by side: as many as `limits.concurrency`."""
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    """Model, as in `openai:gpt-5.5`, to its price, for roles without a price of their own."""
    prompts: dict[str, str] = Field(default_factory=dict[str, str])
    """Prompt name to the path of a Markdown file that replaces it."""
    run: RunSection = RunSection()
    """Where results go."""
    report_to: tuple[str, ...] = ()
    """Trackers that training is reported to: `trackio`, `wandb`, `mlflow`, `opentelemetry`, or names
    or import paths of others."""

    @field_validator("prompts")
    @classmethod
    def _prompts_at_home(cls, prompts: dict[str, str]) -> dict[str, str]:
        return {name: at_home(path) for name, path in prompts.items()}

    def __repr__(self) -> str:
        models = ", ".join(f"{role} {brief(section.model, 30)}" for role, section in self.models.items())
        return f"<{type(self).__name__} {brief(self.run.name, 30)}: {models}>"

    def __str__(self) -> str:
        return repr(self)

    @model_validator(mode="after")
    def _several(self) -> Self:
        """With several targets, `target` is the first of them."""
        if not self.targets:
            if "targets" in self.model_fields_set:
                raise ConfigError("targets is empty", hint="name two or more, or leave it out and set `target`")
            return self
        first, called = self.targets[0].alone, [target.called for target in self.targets]
        if len(called) == 1:
            raise ConfigError("targets has one entry", hint="name another one, or set `target` to it")
        twice = next((name for name in called if called.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"two targets are called {twice!r}", hint="give one of them another `name`")
        if "target" in self.model_fields_set and self.target != first:
            raise ConfigError("target and targets are both set", hint="leave one of them out")
        object.__setattr__(self, "target", first)
        return self

    @property
    def agents(self) -> dict[str, AgentSection]:
        """What attempts tasks, by the names of several targets; one target has no name."""
        return {target.called: target.agent or self.agent for target in self.targets} or {"": self.agent}

    @property
    def models(self) -> dict[str, ModelSection]:
        """The settings of all models by where they stand, those of the targets first."""
        found = {f"targets.{number}": target.alone for number, target in enumerate(self.targets)}
        found = {**(found or {"target": self.target}), "optimizer": self.optimizer}
        if self.judge is not None:
            found["judge"] = self.judge
        return found
