"""Train agent skills the way one trains neural networks.

    from etude import Trainer
    summary = Trainer("etude.yaml").train()

Names are imported when they are first used, so that `import etude` and the command's help cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etude.config import TrainConfig, load_config, make_config
    from etude.envs import BlockingTarget, FunctionEnvironment, ListEnvironment, Target, environment
    from etude.errors import BudgetStop, EtudeError, InputError, OutageStop, StopRun, VoidStop
    from etude.measure.compare import Comparison, acompare_skills, compare_skills
    from etude.measure.evaluate import SkillEvaluation, aevaluate_skill, evaluate_skill
    from etude.measure.seeds import SeedReport, atrain_seeds, train_seeds
    from etude.prompts import Prompts
    from etude.protocols import Agent, ChatModel, Environment, Executor, Scorer, Sink
    from etude.records import Attempt, ChatRequest, Edit, Message, Reply, Score, Skill, Task, Trajectory
    from etude.records.summary import Summary
    from etude.skill import load_skill, save_skill
    from etude.skill.diff import SkillDiff, diff_skills
    from etude.sleep.improve.consolidate import Consolidation, aconsolidate, consolidate
    from etude.sleep.improve.context import Documents
    from etude.sleep.tasks.mined import MinedTask
    from etude.trainer import Trainer
    from etude.workbench import StopSwitch

__version__ = "0.1.0"

_HOMES = {
    "config": ["TrainConfig", "load_config", "make_config"],
    "envs": ["BlockingTarget", "FunctionEnvironment", "ListEnvironment", "Target", "environment"],
    "errors": ["BudgetStop", "InputError", "OutageStop", "EtudeError", "StopRun", "VoidStop"],
    "measure.compare": ["Comparison", "acompare_skills", "compare_skills"],
    "measure.evaluate": ["SkillEvaluation", "aevaluate_skill", "evaluate_skill"],
    "measure.seeds": ["SeedReport", "atrain_seeds", "train_seeds"],
    "prompts": ["Prompts"],
    "protocols": ["Agent", "ChatModel", "Environment", "Executor", "Scorer", "Sink"],
    "records": ["Attempt", "ChatRequest", "Edit", "Message", "Reply", "Score", "Skill", "Task", "Trajectory"],
    "records.summary": ["Summary"],
    "skill": ["load_skill", "save_skill"],
    "skill.diff": ["SkillDiff", "diff_skills"],
    "sleep.improve.consolidate": ["Consolidation", "aconsolidate", "consolidate"],
    "sleep.improve.context": ["Documents"],
    "sleep.tasks.mined": ["MinedTask"],
    "trainer": ["Trainer"],
    "workbench": ["StopSwitch"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Attempt",
    "BlockingTarget",
    "BudgetStop",
    "ChatModel",
    "ChatRequest",
    "Comparison",
    "Consolidation",
    "Documents",
    "Edit",
    "Environment",
    "EtudeError",
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
    "SkillDiff",
    "SkillEvaluation",
    "StopRun",
    "StopSwitch",
    "Summary",
    "Target",
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
    "diff_skills",
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


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__") and name not in __all__)]
