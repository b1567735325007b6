"""What a document costs whoever uses it: its own tokens, read in every conversation, and those of the answers."""

from etude.records import Record

__all__ = ["Cost"]

_TIMES, _MORE = 2, 200
"""What is more than so many times as long, and by more than so many tokens, is much longer."""


class Cost(Record):
    """Tokens before and after a change."""

    document: tuple[int, int]
    """Of the whole document, estimated as characters / 4."""
    answers: tuple[float, float] | None = None
    """Mean output tokens of an attempt at a held-out task, as billed, else estimated; None where nobody
    counted them."""

    @property
    def told(self) -> str:
        """For people."""
        found = f"document about {self.document[0]:,} -> {self.document[1]:,} tokens"
        if self.answers is not None:
            found += f", answers {self.answers[0]:,.0f} -> {self.answers[1]:,.0f} on average"
        return found

    @property
    def much_longer(self) -> str:
        """That the document or the answers become much longer, for people; empty where neither does."""
        each = (("document", self.document), ("answers", self.answers))
        found = [what for what, pair in each if pair and pair[1] > _TIMES * pair[0] and pair[1] - pair[0] > _MORE]
        if not found:
            return ""
        verb = "become" if "answers" in found else "becomes"
        return f"{' and '.join(found)} {verb} more than twice as long: a person decides whether that is worth it"
