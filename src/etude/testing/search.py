"""What every search policy keeps to."""

from typing import ClassVar

from etude.config import TrainConfig
from etude.records import Split
from etude.searches import Known, Search

_TASKS: dict[Split, int] = {"train": 40, "val": 20, "test": 20}


class SearchContract:
    """Derive a test class from this and set `search`."""

    search: ClassVar[type[Search]]

    def test_every_option_has_a_default(self) -> None:
        """A policy is usable by its name alone."""
        assert self.search.options_type()

    def test_the_most_it_does_are_whole_numbers(self) -> None:
        """Of attempts and of optimizer calls, with its options as they are by default."""
        for count in self.search.most(Known(TrainConfig(), _TASKS, kinds=1), self.search.options_type()):
            assert isinstance(count, int)
            assert count >= 0
