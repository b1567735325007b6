"""A run under way in a notebook."""

from typing import Any

from etude.display.progress import Progress, told
from etude.events import Event
from etude.readable import duration
from etude.records.html import plain, progress_html

KEPT = 8
"""Lines that a box shows."""


class NotebookBox:
    """A sink that is one output of a notebook, which is replaced."""

    def __init__(self, notebook: Any) -> None:
        self.progress = Progress()
        self.told: list[str] = []
        """What was decided, and what a person should know, as lines."""
        self._notebook = notebook
        self._handle = notebook.display(notebook.HTML(self._html("checking data and settings ...")), display_id=True)

    def emit(self, event: Event) -> None:
        """Take one event."""
        self.progress.take(event)
        text = told(event, self.progress.story)
        line = f"{duration(self.progress.elapsed):>7}  {plain(' '.join(text.split()))}"
        if text and (not self.told or self.told[-1][9:] != line[9:]):
            self.told.append(line)

    def draw(self, otherwise: str = "...") -> None:
        """Show how it stands: in which stage, otherwise what is given."""
        self._handle.update(self._notebook.HTML(self._html(otherwise)))

    def close(self) -> None:
        """Show how it ended."""
        self.draw("ended")

    def _html(self, otherwise: str) -> str:
        state, story = self.progress, self.progress.story
        count = "" if story.shown is None else story.shown.so_far
        place = "  ".join(part for part in (story.place, count) if part)
        parts = (state.scores, f"{duration(state.elapsed)} elapsed", state.time_left, state.spend)
        numbers = "  ".join(part for part in parts if part)
        share = story.shown.done / story.shown.total if story.shown is not None and story.shown.total else None
        return progress_html(story.name, place or otherwise, share, numbers, self.told[-KEPT:])
