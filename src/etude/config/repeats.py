"""Where a further trial of a task tells nothing new."""

from etude.config.sections import TrainConfig
from etude.records import Task


def another_trial_tells(config: TrainConfig, task: Task) -> bool:
    """Whether one more trial of the task under the same skill can come out otherwise: not at temperature 0, where
    the target that the task is for answers alike, with or without a seed."""
    return _temperatures(config)[task.target] != 0


def useless_repeats(config: TrainConfig, attempts: int) -> str:
    """What is to be said about settings that ask for trials which tell nothing new; empty when there are none.
    `attempts` are those at each training task of a step."""
    train = config.train
    asked = [f"test.trials = {config.test.trials}"] * (config.test.trials > 1)
    asked += ["train.fresh_attempts = true"] * train.fresh_attempts
    asked += [f"search.attempts = {attempts}"] * (attempts > 1)
    still = [name for name, temperature in _temperatures(config).items() if temperature == 0]
    if not asked or not still:
        return ""
    whose = f" of {', '.join(map(repr, still))}" if config.targets else ""
    return (
        f"at temperature 0 a further trial{whose} tells nothing new about any task, with or without a seed: "
        + ", ".join(asked)
    )


def _temperatures(config: TrainConfig) -> dict[str, float | None]:
    """By the names of several targets; one has no name."""
    return {one.called: one.temperature for one in config.targets} or {"": config.target.temperature}
