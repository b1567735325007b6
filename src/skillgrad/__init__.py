"""Train agent skills the way one trains neural networks.

    from skillgrad import Trainer
    summary = Trainer("skillgrad.yaml").train()

Names are imported when they are first used, so that `import skillgrad` and the command's help cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillgrad.build import StopSwitch
    from skillgrad.compare import Comparison, acompare_skills, compare_skills
    from skillgrad.config import TrainConfig, load_config, make_config
    from skillgrad.envs import FunctionEnvironment, ListEnvironment, environment
    from skillgrad.errors import BudgetStop, InputError, OutageStop, SkillgradError, StopRun, VoidStop
    from skillgrad.evaluate import SkillEvaluation, aevaluate_skill, evaluate_skill
    from skillgrad.prompts import Prompts
    from skillgrad.protocols import Agent, ChatModel, Environment, Executor, Scorer, Sink
    from skillgrad.records import Attempt, ChatRequest, Edit, Message, Reply, Score, Skill, Task, Trajectory
    from skillgrad.seeds import SeedReport, atrain_seeds, train_seeds
    from skillgrad.skill import load_skill, save_skill
    from skillgrad.sleep.consolidate import Consolidation, aconsolidate, consolidate
    from skillgrad.sleep.context import Documents
    from skillgrad.sleep.tasks import MinedTask
    from skillgrad.summary import Summary
    from skillgrad.trainer import Trainer

__version__ = "0.1.0"

_HOMES = {
    "build": ["StopSwitch"],
    "compare": ["Comparison", "acompare_skills", "compare_skills"],
    "config": ["TrainConfig", "load_config", "make_config"],
    "envs": ["FunctionEnvironment", "ListEnvironment", "environment"],
    "errors": ["BudgetStop", "InputError", "OutageStop", "SkillgradError", "StopRun", "VoidStop"],
    "evaluate": ["SkillEvaluation", "aevaluate_skill", "evaluate_skill"],
    "prompts": ["Prompts"],
    "protocols": ["Agent", "ChatModel", "Environment", "Executor", "Scorer", "Sink"],
    "records": ["Attempt", "ChatRequest", "Edit", "Message", "Reply", "Score", "Skill", "Task", "Trajectory"],
    "seeds": ["SeedReport", "atrain_seeds", "train_seeds"],
    "skill": ["load_skill", "save_skill"],
    "sleep.consolidate": ["Consolidation", "aconsolidate", "consolidate"],
    "sleep.context": ["Documents"],
    "sleep.tasks": ["MinedTask"],
    "summary": ["Summary"],
    "trainer": ["Trainer"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Attempt",
    "BudgetStop",
    "ChatModel",
    "ChatRequest",
    "Comparison",
    "Consolidation",
    "Documents",
    "Edit",
    "Environment",
    "Executor",
    "FunctionEnvironment",
    "InputError",
    "ListEnvironment",
    "Message",
    "MinedTask",
    "OutageStop",
    "Prompts",
    "Reply",
    "Score",
    "Scorer",
    "SeedReport",
    "Sink",
    "Skill",
    "SkillEvaluation",
    "SkillgradError",
    "StopRun",
    "StopSwitch",
    "Summary",
    "Task",
    "TrainConfig",
    "Trainer",
    "Trajectory",
    "VoidStop",
    "__version__",
    "acompare_skills",
    "aconsolidate",
    "aevaluate_skill",
    "atrain_seeds",
    "compare_skills",
    "consolidate",
    "environment",
    "evaluate_skill",
    "load_config",
    "load_skill",
    "make_config",
    "save_skill",
    "train_seeds",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
