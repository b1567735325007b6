"""A simulated world: a target that does everyday tasks as well as its skill teaches, an optimizer that reads its
attempts, and a judge. Deterministic, with known true effects, and served over HTTP by `endpoint`."""

from etude.simulation.families.family import SEED_SKILL
from etude.simulation.world import EVERYDAY, SimulatedWorld

best_attainable = EVERYDAY.best_attainable
check_name = EVERYDAY.check_name
make_tasks = EVERYDAY.make_tasks
names = EVERYDAY.names
respond = EVERYDAY.respond
seed_skill = EVERYDAY.seed_skill
true_score = EVERYDAY.true_score

__all__ = [
    "EVERYDAY",
    "SEED_SKILL",
    "SimulatedWorld",
    "best_attainable",
    "check_name",
    "make_tasks",
    "names",
    "respond",
    "seed_skill",
    "true_score",
]
