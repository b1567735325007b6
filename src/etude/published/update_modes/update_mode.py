"""What an update mode is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from etude.records import Candidate, Edit, Skill
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms


class UpdateMode(ABC):
    """Which form proposals have, and how a candidate is made of those that were selected."""

    forms: ClassVar[Forms]
    """What reflect and merge calls return."""
    budgeted: ClassVar[bool] = True
    """The edit budget applies: a step makes the best of its edits and leaves the others."""

    @abstractmethod
    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        """The candidate, with the fate of every edit. Front matter and protected regions are those of `skill`, but
        for a region that the mode itself keeps."""
