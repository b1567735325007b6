"""Where tasks come from and how attempts are scored."""

from etude.envs.function import FunctionEnvironment, environment
from etude.envs.lists import ListEnvironment
from etude.envs.splits import split_by_ratio

__all__ = ["FunctionEnvironment", "ListEnvironment", "environment", "split_by_ratio"]
