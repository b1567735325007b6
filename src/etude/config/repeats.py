"""Where a further trial of a task tells nothing new."""

from etude.config.sections import TrainConfig
from etude.records import Task


def another_trial_tells(config: TrainConfig, task: Task) -> bool:
    """Whether one more trial of the task under the same skill can come out otherwise: not at temperature 0, where
    the target that the task is for answers alike, with or without a seed."""
    return config.target_models[task.target].temperature != 0


def useless_repeats(config: TrainConfig, attempts: int) -> str:
    """What is to be said about settings that ask for trials which tell nothing new; empty when there are none.
    `attempts` are those at each training task of a step."""
    train = config.train
    asked = [f"test.trials = {config.test.trials}"] * (config.test.trials > 1)
    asked += ["train.fresh_attempts = true"] * train.fresh_attempts
    asked += [f"search.attempts = {attempts}"] * (attempts > 1)
    still = [name for name, model in config.target_models.items() if model.temperature == 0]
    if not asked or not still:
        return ""
    whose = f" of {', '.join(map(repr, still))}" if config.targets else ""
    return (
        f"at temperature 0 a further trial{whose} tells nothing new about any task, with or without a seed: "
        + ", ".join(asked)
    )
