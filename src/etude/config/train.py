"""All settings of a training run."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from etude.config.base import Section
from etude.config.models import ModelSection, OptimizerSection, Price
from etude.config.sections import (
    AgentSection,
    AggregateSection,
    EnvSection,
    ExecutorSection,
    GateSection,
    LimitsSection,
    MetaSkillSection,
    ReflectSection,
    RunSection,
    SearchSection,
    SelectSection,
    SkillSection,
    SlowUpdateSection,
    TestSection,
    TrainSection,
    UpdateSection,
)
from etude.errors import ConfigError
from etude.records import Role


class TrainConfig(Section):
    """All settings of a training run."""

    free: ClassVar[frozenset[str]] = frozenset({"limits", "executor", "run", "prices"})

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
    aggregate: AggregateSection = AggregateSection()
    """Merging patches."""
    select: SelectSection = SelectSection()
    """How many edits a step may make."""
    update: UpdateSection = UpdateSection()
    """Making a candidate."""
    gate: GateSection = GateSection()
    """Accepting a candidate."""
    slow_update: SlowUpdateSection = SlowUpdateSection()
    """Comparing epochs."""
    meta_skill: MetaSkillSection = MetaSkillSection()
    """Memory of the optimizer."""
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

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.reflect.skill_aware and self.update.mode != "patch":
            raise ConfigError(
                f"reflect.skill_aware = true does not go with update.mode = {self.update.mode!r}: reminders are kept "
                "beside edits in place, a rewritten document would repeat them",
                hint="set update.mode: patch, or reflect.skill_aware: false",
            )
        return self

    @property
    def models(self) -> dict[Role, ModelSection]:
        """The settings of the roles that have a model."""
        roles: dict[Role, ModelSection] = {"target": self.target, "optimizer": self.optimizer}
        if self.judge is not None:
            roles["judge"] = self.judge
        return roles
