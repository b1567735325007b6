"""What is doubtful about the setup of a run."""

from etude.records.record import Record


class Doubt(Record):
    """A reason to look before going on."""

    what: str
    example: str
    todo: str

    @property
    def text(self) -> str:
        """In three lines."""
        return "\n".join((self.what, self.example, f"-> {self.todo}"))
