"""All settings of a training run."""

from collections.abc import Collection, Iterator
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
        whole = "update.mode = " + repr(self.update.mode) if self.update.mode != "patch" else ""
        whole = whole or ("reflect.skill_aware = true" if self.reflect.skill_aware else "")
        if self.search.policy == "evidence" and whole:
            raise ConfigError(
                f"{whole} does not go with search.policy = 'evidence', which tests edits in place one by one",
                hint="set search.policy: paper",
            )
        if self.reflect.skill_aware and self.update.mode != "patch":
            raise ConfigError(
                f"reflect.skill_aware = true does not go with update.mode = {self.update.mode!r}: reminders are kept "
                "beside edits in place, a rewritten document would repeat them",
                hint="set update.mode: patch, or reflect.skill_aware: false",
            )
        return self

    def unused(self) -> Iterator[str]:
        """Settings other than the default that the search policy does not read, as dotted names; those that it reads
        at other times with what they would need."""
        of_evidence = ("search", self.search, set(SearchSection.model_fields) - {"policy"})
        of_rewrites = ("train", self.train, {"attempts"})
        of_paper = (
            ("reflect", self.reflect, {"failure_only", "appendix_limit"}),
            ("aggregate", self.aggregate, {"merge_batch_size"}),
            ("select", self.select, set(SelectSection.model_fields)),
            ("update", self.update, {"repair"}),
            ("gate", self.gate, {"enabled", "racing", "floor", "no_regression", "remeasure"}),
            ("slow_update", self.slow_update, {"gate"}),
        )
        unread_by: dict[str, tuple[tuple[str, Section, set[str]], ...]] = {
            "evidence": (*of_paper, of_rewrites),
            "paper": (of_evidence, of_rewrites),
            "rewrite_first": (of_evidence,),
        }
        for name, section, unread in unread_by[self.search.policy]:
            yield from _changed(name, section, unread)
        if self.search.policy == "rewrite_first":
            if self.train.epochs == 1:  # the one that rewrites
                for name in (*_changed("update", self.update), *_changed("reflect", self.reflect, {"skill_aware"})):
                    yield f"{name} (for train.epochs > 1)"
            if not self.gate.enabled:
                for name in _changed("gate", self.gate, {"racing", "floor", "no_regression", "remeasure"}):
                    yield f"{name} (for gate.enabled = true)"


def _changed(name: str, section: Section, keys: Collection[str] | None = None) -> list[str]:
    """The settings of a section other than the default, as dotted names; `keys` are those that are meant."""
    fields = type(section).model_fields
    meant = fields if keys is None else keys
    return sorted(f"{name}.{key}" for key in meant if getattr(section, key) != fields[key].default)
