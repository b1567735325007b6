"""What a transcript says, in one shape for all agents."""

from datetime import datetime
from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from etude.records import Record


class ToolUse(Record):
    """One tool call of the agent."""

    name: str
    arguments: str = ""
    """As the transcript has them: JSON text, or plain text. Cut in the middle when long."""
    result: str = ""
    """What came back. Cut in the middle when long."""
    failed: bool | None = None
    """Whether the tool reported a failure; None when the transcript does not say."""


class Turn(Record):
    """What a user asked, and all the agent did until the user spoke again."""

    prompt: str
    at: datetime | None = None
    """When it was asked, in UTC."""
    answer: str = ""
    """The agent's last text of the turn; empty when there is none."""
    tools: tuple[ToolUse, ...] = ()
    interrupted: bool = False
    """The user stopped the agent, or the program failed, before it was done."""
    scripted: bool = False
    """Another program asked, not a person at the keyboard: `claude -p`, `codex exec`, `opencode run`."""


class Session(Record):
    """One conversation of a user with an agent. Records that are not part of it (sidechains, compaction summaries,
    notes of the program to itself) are left out by the source."""

    source: str
    """Name of the source, as in `claude-code`."""
    id: str
    """The program's own id of the session."""
    project: str = ""
    """Absolute path of the folder the agent worked in; empty when the transcript does not say."""
    started: datetime | None = None
    """UTC."""
    ended: datetime | None = None
    """When the last record was written; UTC."""
    turns: tuple[Turn, ...] = ()
    new: int = 0
    """Index of the first turn that no night has used; those before it are context."""
    skills: tuple[str, ...] = ()
    """Skills that the agent loaded, in the order of first use."""

    @model_validator(mode="after")
    def _in_utc(self) -> Self:
        for moment in (self.started, self.ended, *(turn.at for turn in self.turns)):
            if moment is not None and (offset := moment.utcoffset()) != (moment - moment):
                raise ValueError(f"a time of session {self.id!r} has offset {offset}, not UTC")
        return self


class UnreadSession(Record):
    """A session that a source has, not read yet."""

    source: str
    id: str
    path: str
    """The file that holds it."""
    revision: str
    """Changes whenever the session may have changed; cheap to tell (size and time of a file, time of a row). Empty
    for what is not a session: it stands for something that cannot be read, and its reading has the reason."""
    changed: AwareDatetime | None = None
    """When it was last written to."""


class Reading(Record):
    """What came of reading one session."""

    session: Session | None = None
    """None when there is nothing in it to read."""
    parent: str = ""
    """The program's own id of the session that it was forked from: turns that both begin with are context, and not
    new. So are those that another session has from the same moment, which needs no id."""
    copied: int = Field(default=0, ge=0)
    """How many turns from the first are known to be another session's."""
    skipped: dict[str, int] = Field(default_factory=dict[str, int])
    """What was left out, by reason, as in `broken line`, `sidechain`, `meta`, `compaction`, `subagent`."""
    problem: str = ""
    """Why it could not be read at all; empty when it could."""
