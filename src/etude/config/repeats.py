"""Where a further trial of a task tells nothing new."""

from etude.config.sections import TrainConfig
from etude.records import Task

_COLD = "at temperature 0"


def another_trial_tells(config: TrainConfig, task: Task) -> bool:
    """Whether one more trial of the task under the same skill can come out otherwise: not at temperature 0, where
    the target that the task is for answers alike, with or without a seed, nor with a handoff, where a question is
    asked once."""
    return task.target not in _alike(config)


def useless_repeats(config: TrainConfig, attempts: int) -> tuple[str, str]:
    """What is to be said about settings that ask for trials which tell nothing new, and what to do; empty when there
    are none. `attempts` are those at each training task of a step."""
    train = config.train
    asked = [f"test.trials = {config.test.trials}"] * (config.test.trials > 1)
    asked += ["train.fresh_attempts = true"] * train.fresh_attempts
    asked += [f"search.attempts = {attempts}"] * (attempts > 1)
    alike = _alike(config)
    if not asked or not alike:
        return "", ""
    whose = f" of {', '.join(map(repr, alike))}" if config.targets else ""
    where = " and ".join(dict.fromkeys(alike.values()))
    told = f"{where} a further trial{whose} tells nothing new about any task, with or without a seed: "
    if _COLD not in alike.values():
        return told + ", ".join(asked), "leave these settings out"
    return told + ", ".join(asked), f"set {'targets' if config.targets else 'target'}.temperature above 0"


def _alike(config: TrainConfig) -> dict[str, str]:
    """The targets that answer all trials of a task alike, and where that is so. One of several has a name, one alone
    has none."""
    found: dict[str, str] = {}
    for name, model in ({one.called: one for one in config.targets} or {"": config.target}).items():
        if model.model.startswith("handoff:"):
            found[name] = "with a handoff"
        elif model.temperature == 0:
            found[name] = _COLD
    return found
