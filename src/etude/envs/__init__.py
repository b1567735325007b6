"""Where tasks come from and how attempts are scored."""

from etude.envs.function import FunctionEnvironment, environment
from etude.envs.gold import check_gold
from etude.envs.lists import ListEnvironment
from etude.envs.splits import check_splits, split_by_ratio

__all__ = [
    "FunctionEnvironment",
    "ListEnvironment",
    "check_gold",
    "check_splits",
    "environment",
    "split_by_ratio",
]
