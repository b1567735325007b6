"""The most that runs of the published loop do, as far as its policies have it in common."""

from etude.searches.search import Known, Most


def parts(total: int, size: int) -> int:
    """Parts of at most `size` that the total is divided into."""
    return -(-total // size)


def analyses(known: Known, attempts: int) -> int:
    """Of this many attempts: failures and successes apart, and in deep mode each kind of task."""
    reflect = known.config.reflect
    return min(attempts, attempts // reflect.minibatch_size + 2 * (known.kinds if reflect.mode == "deep" else 1))


def step_calls(known: Known, analysed: int) -> int:
    """Calls of a step with so many analyses: each may be asked once more for citations, each merge leaves one patch
    less, and then come a selection and an update."""
    config = known.config
    return 3 * analysed + 1 + int(config.select.schedule == "autonomous") + int(config.reflect.skill_aware)


def validated(known: Known, steps: int) -> int:
    """Attempts at validation tasks in so many steps and the slow updates: a bar of its own takes another time."""
    config = known.config
    candidates = steps + (config.train.epochs - 1 if config.slow_update.enabled else 0)
    return candidates * known.tasks["val"] * (2 if config.gate.enabled and config.gate.remeasure else 1)


def between_epochs(known: Known) -> Most:
    """Slow update and meta skill: attempts under two skills, where the skill has changed meanwhile."""
    slow, later = known.config.slow_update, known.config.train.epochs - 1
    kinds = int(slow.enabled) + int(known.config.meta_skill.enabled)
    if not kinds:
        return Most(0)
    tasks = known.tasks["train"] if slow.pairs == "changed" else min(slow.samples, known.tasks["train"])
    return Most(2 * tasks * later, kinds * later)
