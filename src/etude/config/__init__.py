"""Settings: a YAML file < environment < dotted flags.

`env` and `agent` carry options of their own, which the chosen class validates (`parse`).
"""

from etude.config.loading import Settings, config_of, file_data, load_config, load_settings, make_config, merge, parse
from etude.config.models import ModelSection, OptimizerSection, Price
from etude.config.repeats import another_trial_tells, one_answer
from etude.config.section_base import Section
from etude.config.sections import GateSection, LimitsSection, RunSection, TrainConfig

__all__ = [
    "GateSection",
    "LimitsSection",
    "ModelSection",
    "OptimizerSection",
    "Price",
    "RunSection",
    "Section",
    "Settings",
    "TrainConfig",
    "another_trial_tells",
    "config_of",
    "file_data",
    "load_config",
    "load_settings",
    "make_config",
    "merge",
    "one_answer",
    "parse",
]
