"""A session as it comes to light, record by record."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.values import as_json, moment, text
from etude.readable import cut_middle
from etude.sleep.transcripts.sessions import Reading, Session, ToolUse, Turn, UnreadSession
from etude.sleep.transcripts.sources.lines import records

_MOST_READ = 40_000
"""Characters. What goes into a tool or comes out of it is cut to about as many; JSON that is cut is redacted as text,
so that shorter cuts wait until secrets are out (`redaction`)."""

LONGEST_PATH = 4_096
"""Characters. No system opens a folder with a longer path."""

_SKILL_FILE = re.compile(r"([\w.-]{1,100})[/\\]{1,4}SKILL\.md\b")
_WRITERS = frozenset(
    re.findall(
        r"[\w-]+",
        "delete delete_file edit edit_file multiedit notebook_edit notebookedit patch replace search_replace "
        "strreplace write write_file",
    )
)
"""Tools of all programs that write files, in lower case: one that writes a SKILL.md does not load the skill."""


@dataclass
class _Turn:
    prompt: str
    at: datetime | None
    id: str
    scripted: bool
    answer: str = ""
    calls: list[ToolUse] = field(default_factory=list[ToolUse])
    stopped: bool = False
    done: bool = False


class SessionBuilder(Listener):
    """Collects the turns of a session.

    A turn counts as done when the agent's last words in it come after its last tool call, or when the program says
    so (`done`). What the agent does while no turn is open (after `pause`) belongs to no prompt and is left out.
    """

    def __init__(self, found: UnreadSession) -> None:
        super().__init__()
        self._found = found
        self._turns: list[_Turn] = []
        self._open: _Turn | None = None
        self._calls: dict[str, tuple[list[ToolUse], int]] = {}
        self._project = ""
        self._parent = ""
        self._times: list[datetime] = []
        self._skills: dict[str, None] = {}

    @property
    def prompts(self) -> int:
        """How many turns there are so far."""
        return len(self._turns)

    def records(self) -> Iterator[dict[str, Any]]:
        """The records of the file of the session, as `lines.records`."""
        return records(self._found.path, self.skipped)

    def seen(self, at: Any, project: Any = "") -> None:
        """The first folder that any record names is the session's; one with a path of more than 4,096 characters
        does not count."""
        if (time := moment(at)) is not None:
            self._times.append(time)
        folder = text(project)
        self._project = self._project or (folder if len(folder) <= LONGEST_PATH else "")

    def forked(self, parent: Any) -> None:
        self._parent = self._parent or text(parent)

    def ask(self, prompt: str, at: Any, *, meanwhile: bool = False, id: str = "", scripted: bool = False) -> None:
        if self._open is not None and meanwhile:
            self._open.done = True
        self._open = _Turn(text(prompt), moment(at), id, scripted)
        self._turns.append(self._open)

    def scripted(self, by_program: bool) -> None:
        if self._open is not None:
            self._open.scripted = by_program

    def say(self, answer: Any) -> None:
        said = text(answer)
        if self._open is not None and said.strip():
            self._open.answer = said
            self._open.done = True

    def call(self, id: Any, name: Any, arguments: Any) -> None:
        if self._open is None:
            return
        written = as_json(arguments)
        call = ToolUse(name=text(name), arguments=cut_middle(written, _MOST_READ))
        if call.name.lower() not in _WRITERS and "*** Begin Patch" not in written:
            for skill in _SKILL_FILE.findall(call.arguments):
                self.skill(skill)
        self._open.calls.append(call)
        self._open.done = False
        if isinstance(id, str):
            self._calls[id] = self._open.calls, len(self._open.calls) - 1

    def result(self, id: Any, result: Any = None, failed: Any = None, exit_code: Any = None) -> None:
        """A command that ended with an error has failed, whatever its tool reports. Results of unknown calls are left
        out."""
        if not isinstance(id, str) or id not in self._calls:
            return
        calls, place = self._calls[id]
        known = {} if result is None else {"result": cut_middle(as_json(result), _MOST_READ)}
        failed = exit_code != 0 if isinstance(exit_code, int) else failed
        known |= {"failed": failed} if isinstance(failed, bool) else {}
        calls[place] = calls[place].model_copy(update=known)

    def tool(self, id: Any) -> str:
        calls, place = self._calls.get(id, ([], 0)) if isinstance(id, str) else ([], 0)
        return calls[place].name if calls else ""

    def stop(self) -> None:
        if self._open is not None:
            self._open.stopped = True

    def done(self) -> None:
        if self._open is not None:
            self._open.done = True

    def pause(self) -> None:
        self._open = None

    def drop(self, turns: int) -> None:
        if turns > 0:
            self.skipped["taken back"] += len(self._turns[-turns:])
            del self._turns[-turns:]
        self._open = None

    def take_back(self, ids: Collection[str]) -> None:
        stay = [turn for turn in self._turns if turn.id not in ids]
        self.skipped["taken back"] += len(self._turns) - len(stay)
        self._turns = stay

    def skill(self, name: Any) -> None:
        if known := text(name).strip():
            self._skills.setdefault(known)

    def reading(self) -> Reading:
        """What came of it. Without a turn there is no session."""
        skipped = dict(sorted((+self.skipped).items()))
        if not self._turns:
            return Reading(skipped=skipped)
        session = Session(
            source=self._found.source,
            id=self._found.id,
            project=self._project,
            started=min(self._times, default=None),
            ended=max(self._times, default=None),
            turns=tuple(
                Turn(
                    prompt=turn.prompt,
                    at=turn.at,
                    scripted=turn.scripted,
                    answer=turn.answer,
                    tools=tuple(turn.calls),
                    interrupted=turn.stopped or not turn.done,
                )
                for turn in self._turns
            ),
            skills=tuple(self._skills),
        )
        return Reading(session=session, parent=self._parent, skipped=skipped)
