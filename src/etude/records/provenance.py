"""Why each line of a skill is there: what `provenance.json` holds."""

from typing import Literal

from etude.records.decisions import Standing
from etude.records.edits import Edit
from etude.records.record import Record

LineOrigin = Literal["initial", "step", "slow_update", "tidy", "export"]


class ProvenEdit(Record):
    """An edit that was made, and the evidence for it."""

    edit: Edit
    failures: dict[str, str]
    """The failed attempts that it cites, with their tasks."""
    solved: tuple[str, ...] = ()
    """Tasks of these that did better with the edits of its step."""
    needed: tuple[str, ...] = ()
    """Tasks that did better in most attempts with it."""
    standing: Standing = "not tested"
    tested: str = ""
    """Attempts for and against it, in words; empty where there was no contest."""
    attempts: int
    """Attempts at its tasks that this rests on."""
    facts: dict[str, str]
    """What the journal holds of these attempts: the name of each fact, and a digest of its value."""


class Change(Record):
    """A step, a slow update or a tidying that changed the skill."""

    place: str
    """Its folder in that of the run, as in `steps/0003`."""
    origin: Literal["step", "slow_update", "tidy"]
    reason: str
    """Why it was accepted."""
    edits: tuple[ProvenEdit, ...]
    facts: dict[str, str]
    """The optimizer's answers that it rests on."""


class ProvenLine(Record):
    """A line of the skill."""

    text: str
    origin: LineOrigin
    """`initial` for lines that were there before the run, `export` for front matter that an export has written."""
    change: int | None = None
    """Number of its change, counted from 0."""
    edits: tuple[int, ...] = ()
    """Numbers of the edits of this change that it comes from: one, or those that a rewrite carried out together."""
    tokens: int
    """Estimate of what it costs with every attempt."""


class Provenance(Record):
    """A skill, line by line."""

    run: str
    identity: str
    """Digest of the settings and data of the run."""
    hash: str
    """Of the skill that the run hands out."""
    simulated: bool
    tokens: int
    lines: tuple[ProvenLine, ...]
    changes: tuple[Change, ...]
    """All that changed the skill during the search, in their order."""
