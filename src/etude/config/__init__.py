"""Settings: a YAML file < environment < dotted flags.

`env` and `agent` carry options of their own, which the chosen class validates (`parse`).
"""

from etude.config.base import Section
from etude.config.loading import Make, file_data, load_config, load_settings, make_config, merge, parse
from etude.config.models import ModelSection, OptimizerSection, Price
from etude.config.presets import PRESETS
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
from etude.config.train import TrainConfig

__all__ = [
    "PRESETS",
    "AgentSection",
    "AggregateSection",
    "EnvSection",
    "ExecutorSection",
    "GateSection",
    "LimitsSection",
    "Make",
    "MetaSkillSection",
    "ModelSection",
    "OptimizerSection",
    "Price",
    "ReflectSection",
    "RunSection",
    "SearchSection",
    "Section",
    "SelectSection",
    "SkillSection",
    "SlowUpdateSection",
    "TestSection",
    "TrainConfig",
    "TrainSection",
    "UpdateSection",
    "file_data",
    "load_config",
    "load_settings",
    "make_config",
    "merge",
    "parse",
]
