"""The most that runs of the published loop do, as far as its policies have it in common."""

from etude.published.options import PaperOptions
from etude.searches.search import Known, Most


def parts(total: int, size: int) -> int:
    """Parts of at most `size` that the total is divided into."""
    return -(-total // size)


def analyses(known: Known, options: PaperOptions, attempts: int) -> int:
    """Of this many attempts: failures and successes apart, and in deep mode each kind of task."""
    groups = 2 * (known.kinds if known.config.reflect.mode == "deep" else 1)
    return min(attempts, attempts // options.minibatch_size + groups)


def step_calls(options: PaperOptions, analysed: int) -> int:
    """Calls of a step with so many analyses: each may be asked once more for citations, each merge leaves one patch
    less, and then come a selection and an update."""
    return 3 * analysed + 1 + int(options.schedule == "autonomous") + int(options.skill_aware)


def validated(known: Known, options: PaperOptions, steps: int) -> int:
    """Attempts at validation tasks in so many steps and the slow updates."""
    candidates = steps + (known.config.train.epochs - 1 if options.slow_update else 0)
    return candidates * known.tasks["val"]


def between_epochs(known: Known, options: PaperOptions) -> Most:
    """Slow update and meta skill: attempts under two skills, where the skill has changed meanwhile."""
    later, kinds = known.config.train.epochs - 1, int(options.slow_update) + int(options.meta_skill)
    if not kinds:
        return Most(0)
    train = known.tasks["train"]
    tasks = train if options.slow_update_pairs == "changed" else min(options.slow_update_samples, train)
    return Most(2 * tasks * later, kinds * later)
