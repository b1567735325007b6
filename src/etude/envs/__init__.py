"""Where tasks come from and how attempts are scored."""

from etude.envs.function import FunctionEnvironment, environment
from etude.envs.lists import ListEnvironment
from etude.envs.splits import split_by_ratio
from etude.envs.target import BlockingTarget, Target

__all__ = ["BlockingTarget", "FunctionEnvironment", "ListEnvironment", "Target", "environment", "split_by_ratio"]
