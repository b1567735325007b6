"""What reflect and merge calls return where it is not edits in place alone. All of it ends as edits."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from etude.records import Edit, SuggestionOp
from etude.stages.shared.optimizer import ReplyForm
from etude.stages.shared.proposals import Cites, EditReply, Proposals, Text

Cause = Literal["skill_defect", "execution_lapse"]


class RouteReply(ReplyForm):
    """The cause of one failure."""

    attempt: str
    cause: Cause


class ReminderReply(ReplyForm):
    """A reminder as the optimizer writes it."""

    content: str
    reason: Text = ""
    cites: Cites = ()


class RoutedReply(Proposals):
    """Each failure routed to the skill or to the agent; edits for the one, reminders for the other.

    A citation counts where its failure was routed to: edits do not answer lapses, reminders do not answer defects.
    """

    returns: ClassVar[str] = "return_routed_edits"

    routes: tuple[RouteReply, ...]
    edits: tuple[EditReply, ...]
    reminders: tuple[ReminderReply, ...]

    def proposed(self) -> tuple[Edit, ...]:
        lapses = self._routed("execution_lapse")
        return tuple(_without(row.edit(), lapses) for row in self.edits)

    def reminded(self) -> tuple[Edit, ...]:
        defects = self._routed("skill_defect")
        rows = (row for row in self.reminders if row.content.strip())
        edits = (Edit(op="remind", content=row.content, reason=row.reason, cites=row.cites) for row in rows)
        return tuple(_without(edit, defects) for edit in edits)

    def lapses(self) -> tuple[str, ...]:
        return tuple(self._routed("execution_lapse"))

    def _routed(self, cause: Cause) -> list[str]:
        """The failures of this cause; what is said last about a failure counts."""
        causes = {route.attempt: route.cause for route in self.routes}
        return [attempt for attempt, found in causes.items() if found == cause]


class SuggestionReply(ReplyForm):
    """A suggestion as the optimizer writes it."""

    op: SuggestionOp
    target: Text = ""
    content: str
    reason: Text = ""
    cites: Cites = ()


class SuggestionsReply(Proposals):
    """What the call that rewrites the document is asked to do."""

    returns: ClassVar[str] = "return_suggestions"
    noun: ClassVar[str] = "suggestions"

    suggestions: tuple[SuggestionReply, ...]

    def proposed(self) -> tuple[Edit, ...]:
        return tuple(Edit.model_validate(row.model_dump()) for row in self.suggestions)


class DocumentReply(Proposals):
    """A whole document; an empty one proposes nothing."""

    returns: ClassVar[str] = "return_document"
    whole: ClassVar[bool] = True

    document: str
    cites: Cites = ()

    def proposed(self) -> tuple[Edit, ...]:
        if not self.document.strip():
            return ()
        return (Edit(op="rewrite", content=self.document, reason=self.reasoning, cites=self.cites),)


def _without(edit: Edit, ids: Sequence[str]) -> Edit:
    return edit.model_copy(update={"cites": tuple(cite for cite in edit.cites if cite not in ids)})
