"""A simulated world: a target that does everyday tasks as well as its skill teaches, an optimizer that reads its
attempts, and a judge. Deterministic, with known true effects, and served over HTTP by `endpoint`."""

from etude.simulation.skill import SEED_SKILL, seed_skill
from etude.simulation.tasks import make_tasks
from etude.simulation.world import best_attainable, check_name, names, respond, true_score

__all__ = [
    "SEED_SKILL",
    "best_attainable",
    "check_name",
    "make_tasks",
    "names",
    "respond",
    "seed_skill",
    "true_score",
]
