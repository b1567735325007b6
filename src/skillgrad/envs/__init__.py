"""Where tasks come from and how attempts are scored."""

from skillgrad.envs.function import FunctionEnvironment, environment
from skillgrad.envs.gold import check_gold
from skillgrad.envs.lists import ListEnvironment
from skillgrad.envs.splits import check_splits, split_by_ratio

__all__ = [
    "FunctionEnvironment",
    "ListEnvironment",
    "check_gold",
    "check_splits",
    "environment",
    "split_by_ratio",
]
