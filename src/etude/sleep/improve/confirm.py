"""Whether fresh attempts show that a candidate changes anything: an exact test, and what would settle it."""

from collections.abc import Sequence

from etude.intervals import Arms, permutation_needed
from etude.records import Record
from etude.records.summary import Tried

__all__ = ["Fresh", "fresh_of_arms", "lost_in"]


class Fresh(Record):
    """What fresh attempts at the held-out tasks show."""

    p: float
    """How often luck alone does as well: the exact p of `etude.intervals.permutation`."""
    alpha: float
    """The highest p with which a candidate is proposed: `sleep.alpha` at the first look, less at later ones."""
    looks: int = 1
    """Nights that looked at the candidate, whose attempts count together."""
    tasks: int
    trials: int
    varied: int | None
    """Noise floor: tasks whose attempts under the old document differ among themselves, though nothing else does.
    None when there is one attempt at each."""
    settle: str = ""
    """What would settle it; empty when it is settled."""

    @property
    def settled(self) -> bool:
        """Whether luck alone is ruled out at the level."""
        return self.p <= self.alpha

    @property
    def threshold(self) -> str:
        """What p is held against, in words."""
        first = f"sleep.alpha = {self.alpha:g}"
        return first if self.looks == 1 else f"{self.alpha:.2g}, the level of look {self.looks} (sleep.carry_nights)"

    @property
    def noise(self) -> str:
        """The noise floor in words; empty when it is not known."""
        if self.varied is None:
            return ""
        return f"{self.varied} of {self.tasks} held-out tasks come out differently under the same old document"


def fresh_of_arms(arms: list[Arms], p: float, trials: int, alpha: float) -> Fresh:
    """What attempts show, at the level `alpha`.

    Args:
        p: how often luck alone does as well.
        trials: how many a night makes at each task under each document.
    """
    several = [arm for arm in arms if len(arm.before) > 1]
    return Fresh(
        p=p,
        alpha=alpha,
        tasks=len(arms),
        trials=trials,
        varied=sum(len(set(arm.before)) > 1 for arm in several) if several else None,
        settle="" if p <= alpha else _settle(arms, trials, alpha),
    )


def lost_in(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Tasks at which every attempt under the candidate came out worse than every one under the old document. A lower
    mean alone says little: with three attempts at each of ten tasks luck gives some of them one."""
    return tuple(one.task for one in tried if max(one.b) < min(one.a))


def _settle(arms: list[Arms], trials: int, alpha: float) -> str:
    tasks, more = permutation_needed(arms, alpha)
    each = f"{trials} attempt{'s each' if trials > 1 else ''}"
    found: list[str] = []
    if more is not None:
        which = "the held-out task" if len(arms) == 1 else f"each of the {len(arms)} held-out tasks"
        found.append(f"about {more:,} attempts at {which} (sleep.confirm_trials)")
    if tasks is not None:
        found.append(f"about {tasks:,} held-out tasks with {each}")
    if not found:
        return "no number of attempts would settle it, if further ones come out like these"
    return f"if further attempts come out like these, {', or '.join(found)} would settle it"
