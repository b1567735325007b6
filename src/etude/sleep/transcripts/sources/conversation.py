"""A session as it comes to light, record by record."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from etude.prompts.cuts import cut_middle
from etude.sleep.transcripts.sessions import Found, Reading, Session, ToolUse, Turn
from etude.sleep.transcripts.sources.lines import as_json, items, table, text

__all__ = ["LONGEST_PATH", "Conversation"]

_MOST_READ = 40_000
"""Characters. What goes into a tool or comes out of it is cut to about as many; JSON that is cut is redacted as text,
so that shorter cuts wait until secrets are out (`redaction`)."""

LONGEST_PATH = 4_096
"""Characters. A longer path of a folder is none that a system opens, and looking at all above it fills the memory."""

_SKILL_FILE = re.compile(r"([\w.-]{1,100})[/\\]{1,4}SKILL\.md\b")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_PATH_KEYS = ("file_path", "notebook_path", "absolute_path", "filePath", "path")


@dataclass
class _Call:
    name: str
    arguments: str
    files: tuple[str, ...]
    result: str = ""
    failed: bool | None = None


@dataclass
class _Turn:
    prompt: str
    at: datetime | None
    answer: str = ""
    calls: list[_Call] = field(default_factory=list[_Call])
    stopped: bool = False
    done: bool = False

    @property
    def told(self) -> Turn:
        tools = tuple(
            ToolUse(name=call.name, arguments=call.arguments, result=call.result, failed=call.failed)
            for call in self.calls
        )
        return Turn(
            prompt=self.prompt,
            at=self.at,
            answer=self.answer,
            tools=tools,
            interrupted=self.stopped or not self.done,
        )


class Conversation:
    """Collects what readers find, in the order of the transcript. Takes values of any type.

    A turn counts as done when the agent's last words in it come after its last tool call, or when the program says
    so (`done`). What the agent does while no turn is open (after `pause`) belongs to no prompt and is left out.
    """

    def __init__(self, found: Found, writers: frozenset[str] = frozenset()) -> None:
        """
        Args:
            found: the session.
            writers: names of the tools that write the file which an argument of theirs names.
        """
        self.skipped: Counter[str] = Counter()
        """What was left out, by reason."""
        self._found = found
        self._writers = writers
        self._turns: list[_Turn] = []
        self._open: _Turn | None = None
        self._calls: dict[str, _Call] = {}
        self._project = ""
        self._branch = ""
        self._commit = ""
        self._times: list[datetime] = []
        self._skills: dict[str, None] = {}
        self._files: dict[str, None] = {}

    @property
    def prompts(self) -> int:
        """How many turns there are so far."""
        return len(self._turns)

    def seen(self, at: datetime | None, project: Any = "", branch: Any = "", commit: Any = "") -> None:
        """A record of this time. The first folder, branch and commit that any names are the session's; a folder of
        more than `LONGEST_PATH` characters is none."""
        if at is not None:
            self._times.append(at)
        folder = text(project)
        self._project = self._project or (folder if len(folder) <= LONGEST_PATH else "")
        self._branch = self._branch or text(branch)
        self._commit = self._commit or text(commit)

    def ask(self, prompt: str, at: datetime | None, *, meanwhile: bool = False) -> None:
        """The user says something; `meanwhile` when the agent is still at work and goes on with it."""
        if self._open is not None and meanwhile:
            self._open.done = True
        self._open = _Turn(text(prompt), at)
        self._turns.append(self._open)

    def say(self, answer: Any) -> None:
        """The agent says something that is not empty."""
        said = text(answer)
        if self._open is not None and said.strip():
            self._open.answer = said
            self._open.done = True

    def call(self, id: Any, name: Any, arguments: Any) -> None:
        """The agent calls a tool."""
        if self._open is None:
            return
        told = as_json(arguments)
        tool = text(name)
        writes = tool in self._writers
        files = _named(arguments) if writes else tuple(_PATCHED.findall(_patch(arguments, told)))
        call = _Call(tool, cut_middle(told, _MOST_READ), files)
        if not files and not writes:
            for skill in _SKILL_FILE.findall(call.arguments):
                self.skill(skill)
        self._open.calls.append(call)
        self._open.done = False
        if isinstance(id, str):
            self._calls[id] = call

    def result(self, id: Any, result: Any = None, failed: Any = None) -> None:
        """A tool gives something back; None leaves what is known. Results of unknown calls are left out."""
        call = self._calls.get(id) if isinstance(id, str) else None
        if call is None:
            return
        if result is not None:
            call.result = cut_middle(as_json(result), _MOST_READ)
        if isinstance(failed, bool):
            call.failed = failed

    def stop(self) -> None:
        """The user stops the agent, or the program fails."""
        if self._open is not None:
            self._open.stopped = True

    def done(self) -> None:
        """The program says that the turn is over and went well."""
        if self._open is not None:
            self._open.done = True

    def pause(self) -> None:
        """The turn is over; what comes before the next prompt is about something else."""
        self._open = None

    def drop(self, turns: int) -> None:
        """The user took the last turns back."""
        if turns > 0:
            self.skipped["taken back"] += len(self._turns[-turns:])
            del self._turns[-turns:]
        self._open = None

    def skill(self, name: Any) -> None:
        """The agent loads a skill."""
        if known := text(name).strip():
            self._skills.setdefault(known)

    def file(self, path: Any) -> None:
        """The agent changed a file."""
        if known := text(path):
            self._files.setdefault(known)

    def reading(self) -> Reading:
        """What came of it. Without a turn there is no session."""
        skipped = dict(sorted((+self.skipped).items()))
        if not self._turns:
            return Reading(skipped=skipped)
        for turn in self._turns:
            for call in turn.calls:
                if call.failed is not True:
                    for path in call.files:
                        self.file(path)
        session = Session(
            source=self._found.source,
            id=self._found.id,
            project=self._project,
            branch=self._branch,
            commit=self._commit,
            started=min(self._times, default=None),
            ended=max(self._times, default=None),
            turns=tuple(turn.told for turn in self._turns),
            skills=tuple(self._skills),
            files=tuple(self._files),
        )
        return Reading(session=session, skipped=skipped)


def _named(arguments: Any) -> tuple[str, ...]:
    values = table(arguments)
    return tuple(path for key in _PATH_KEYS if (path := text(values.get(key))))[:1]


def _patch(arguments: Any, told: str) -> str:
    """The patch that a call holds, in the form of `apply_patch`; empty when it holds none."""
    if "*** Begin Patch" not in told:
        return ""
    values = table(arguments)
    parts = [arguments, values.get("input"), values.get("command"), values.get("cmd"), *items(values.get("command"))]
    return "\n".join(part for part in parts if isinstance(part, str))
