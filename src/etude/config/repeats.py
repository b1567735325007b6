"""Where a further trial of a task tells nothing new."""

from etude.config.models import COLD
from etude.config.sections import TrainConfig
from etude.records import Task


def another_trial_tells(config: TrainConfig, task: Task) -> bool:
    """Whether one more trial of the task under the same skill can come out otherwise: not at temperature 0, where
    the target that the task is for answers alike, with or without a seed, and not where a question is a file."""
    return not one_answer(config)[task.target]


def useless_repeats(config: TrainConfig, attempts: int) -> tuple[str, str]:
    """What is to be said about settings that ask for trials which tell nothing new, and what to do; empty when there
    are none. `attempts` are those at each training task of a step."""
    train = config.train
    asked = [f"test.trials = {config.test.trials}"] * (config.test.trials > 1)
    asked += ["train.fresh_attempts = true"] * train.fresh_attempts
    asked += [f"search.attempts = {attempts}"] * (attempts > 1)
    still = {name: how for name, how in one_answer(config).items() if how}
    if not asked or not still:
        return "", ""
    whose = f" of {', '.join(map(repr, still))}" if config.targets else ""
    told = f"{' and '.join(dict.fromkeys(still.values()))} a further trial{whose} tells nothing new about any task, "
    warmer = f"set {'targets' if config.targets else 'target'}.temperature above 0"
    cure = warmer if COLD in still.values() else "leave these settings out"
    return f"{told}with or without a seed: {', '.join(asked)}", cure


def one_answer(config: TrainConfig) -> dict[str, str]:
    """Where a target gives the same answer again, how it is asked, by the names of several targets; one has none."""
    return {one.called: one.one_answer for one in config.targets} or {"": config.target.one_answer}
