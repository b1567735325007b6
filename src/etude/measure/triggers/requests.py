"""Requests that say which skill they need, and what an opened skill means for each."""

from collections.abc import Sequence

from etude.records import Record, Task


class Request(Record):
    """What a user asks, and which skill should be opened for it."""

    id: str
    text: str
    needs: tuple[str, ...] = ()
    """Skills of which any one is right; empty where none should be opened."""
    quiet: str = ""
    """Where it needs none, the skill that it was written to keep quiet: it says nothing about others. Empty for a
    request that needs no skill at all."""

    def expects(self, skill: str) -> bool | None:
        """Whether `skill` is to be opened; None where the request says nothing about it."""
        if self.needs:
            return skill in self.needs
        return False if self.quiet in ("", skill) else None

    def is_right(self, opened: str) -> bool:
        """Whether opening this skill, or none (`""`), is right."""
        if self.needs:
            return opened in self.needs
        return opened != self.quiet if self.quiet else not opened

    def is_false_opening(self, opened: str) -> bool:
        """Whether a skill was opened that should have stayed closed."""
        return bool(opened) and not self.is_right(opened)

    @property
    def task(self) -> Task:
        """The request as something to attempt: the agent sees its text alone."""
        kind = "needs a skill" if self.needs else "needs none"
        return Task(id=self.id, input=self.text, type=kind, gold=self.model_dump(mode="json", exclude={"id", "text"}))


def request_of(task: Task) -> Request:
    """The request that a task was made of."""
    gold = task.gold if isinstance(task.gold, dict) else {}
    return Request.model_validate({"id": task.id, "text": task.input, **gold})


def skills_of(requests: Sequence[Request]) -> list[str]:
    """The skills that these requests say something about, sorted."""
    return sorted({name for request in requests for name in (*request.needs, request.quiet) if name})
