"""What a proof is given, and what comes of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from etude.records import Attempt, Edit, Proof, Skill, Task, TaskHistory, Tested
from etude.skill import revised
from etude.stages.shared.history import Measure


class ProofInput(NamedTuple):
    """What is to be proved."""

    skill: Skill
    edits: Sequence[Edit]
    """In the order in which they are applied."""
    failures: Sequence[Attempt]
    """Attempts with the current skill that failed, one for each task."""
    known: Mapping[str, TaskHistory]
    """What is known of these tasks without any edit."""
    measure: Measure
    copied: Mapping[int, Collection[str]] = MappingProxyType({})
    """By the number of an edit, ids of tasks whose gold answer it holds: that it fixes them says nothing for it."""
    repeats: Callable[[Task], bool] = lambda task: True
    """Whether a further trial of a task tells anything new."""
    helpful: tuple[float, ...] = ()
    """What is known of the share of edits that help: weights of `etude.stages.shared.helpful`."""

    def variant(self, numbers: Iterable[int]) -> Skill:
        """The skill with the edits of these numbers."""
        return revised(self.skill, [self.edits[number] for number in numbers])


class ProofOutcome(NamedTuple):
    """The outcome of a proof."""

    proof: Proof
    kept: Sequence[int]
    """Numbers of the edits that stay, in their order."""
    attempts: Sequence[Attempt]
    """What was attempted with just these edits, and for a task that is fixed an attempt that shows it."""
    tried: Sequence[Attempt]
    """All that was attempted."""
    tasks: tuple[Tested, ...]
    """What each task scored before and with these edits, as far as it was attempted with these."""
    helpful: tuple[float, ...]
    """The same after this proof."""
