"""A project, a home with transcripts in it, and nights over the simulated world."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from briefs_sessions import START, sessions, write_claude

from etude.concurrency import run_to_end
from etude.config import ModelSection
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply
from etude.sleep.config import SleepConfig, make_sleep_config
from etude.sleep.night import arun_night
from etude.sleep.report import NightReport, read_report
from etude.sleep.state import SleepState, Surroundings, state_of
from etude.sleep.transcripts.ledger import Ledger
from etude.workbench import Given

MODELS = {"target": "target-steady", "optimizer": "optimizer-perfect"}
"""Without noise, so that no result depends on where a test keeps its files."""
MEMORY = "# House rules\r\n\r\nUse   tabs.\n\n\n"
NOW = START + timedelta(days=300)


def run_night(*args: Any, **given: Any) -> NightReport:
    """A night, for tests that are not coroutines."""
    return run_to_end(arun_night(*args, **given))


class Counted(SimulatedModel):
    """Counts its answers; `before` sees each request first, and may raise."""

    def __init__(self, name: str, before: Callable[[ChatRequest], None]) -> None:
        super().__init__(name, ModelSection(model=f"simulated:{name}"))
        self.answered: list[str] = []
        self._before = before

    async def complete(self, request: ChatRequest) -> Reply:
        self._before(request)
        reply = await super().complete(request)
        self.answered.append("\n".join(message.text for message in request.messages))
        return reply


class Gullible(Counted):
    """An optimizer that, asked to judge, takes every answer for a good one."""

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        if "You grade one answer" not in request.messages[0].text:
            return reply
        return reply.model_copy(update={"text": json.dumps({"reason": "All is there.", "score": 1})})


def _nothing(request: ChatRequest) -> None:
    del request


class Small:
    """A project of a user of Claude Code who misses `gap` in every brief, `n` sessions of it, and its nights."""

    def __init__(self, root: Path, *, gap: str = "structure", n: int = 5, seed: int = 1) -> None:
        self.root, self.home, self.project = root, root / "home", root / "project"
        self.environ = {"XDG_STATE_HOME": str(root / "state")}
        self.base = root / "state" / "etude" / "sleep"
        for folder in (self.home, self.project):
            folder.mkdir(parents=True, exist_ok=True)
        (self.project / "CLAUDE.md").write_bytes(MEMORY.encode())
        self.turns = sessions(gap, seed, 20)
        self.before: Callable[[ChatRequest], None] = _nothing
        self.target = Counted(MODELS["target"], lambda request: self.before(request))
        self.optimizer = Counted(MODELS["optimizer"], lambda request: self.before(request))
        self.files: list[Path] = self.write(0, n) if n else []

    @property
    def answered(self) -> int:
        return len(self.target.answered) + len(self.optimizer.answered)

    def write(self, first: int, last: int, **more: Any) -> list[Path]:
        """Transcripts of the turns from `first` to `last`, a day apart."""
        start = START + timedelta(days=first)
        return write_claude(self.home, self.turns[first:last], str(self.project), start, **more)

    def config(self, sleep: dict[str, Any] | None = None, **more: Any) -> SleepConfig:
        data = {
            **{role: {"model": f"simulated:{name}"} for role, name in MODELS.items()},
            "limits": {"concurrency": 1},
            "sleep": {"project": str(self.project), "lookback_hours": None, "memory": False, **(sleep or {})},
            **more,
        }
        return make_sleep_config(data)

    @property
    def around(self) -> Surroundings:
        return Surroundings(home=self.home, environ=self.environ, now=lambda: NOW)

    @property
    def state(self) -> SleepState:
        return state_of(self.config(), self.around)

    def night(self, sleep: dict[str, Any] | None = None, *, given: Given | None = None, **more: Any) -> NightReport:
        """Work through a night, or go on with one."""
        models = Given(target=self.target, optimizer=self.optimizer)
        return run_night(self.config(sleep, **more), self.around, given={**models, **(given or {})})

    def report(self, night: int = 1) -> NightReport:
        """What a night has left, which is there."""
        report = read_report(self.state, night)
        assert report is not None
        return report

    def ledger(self) -> dict[str, str]:
        """Status by id of session."""
        with Ledger(self.state.ledger, read_only=True) as ledger:
            return {entry.id: entry.status for entry in ledger.entries()}

    def tasks(self, night: int = 1) -> list[dict[str, Any]]:
        return json.loads((self.state.night(night) / "tasks.json").read_text())["tasks"]

    @property
    def skill(self) -> Path:
        return self.project / ".claude" / "skills" / "learned" / "SKILL.md"


class Kept:
    """A project as its nights have left it, made once: each test that asks has it as if it were the first."""

    def __init__(self, small: Small) -> None:
        copies = (small.root.with_name(f"{small.root.name}-{number}") for number in count())
        self._small, self._copy = small, next(place for place in copies if not place.exists())
        self._answered = [list(model.answered) for model in (small.target, small.optimizer)]
        shutil.copytree(small.root, self._copy, symlinks=True)

    def again(self) -> Small:
        """The project, in the folder in which it was made."""
        small = self._small
        shutil.rmtree(small.root)
        shutil.copytree(self._copy, small.root, symlinks=True)
        small.before = _nothing
        for model, answered in zip((small.target, small.optimizer), self._answered, strict=True):
            model.answered[:] = answered
        return small


class Finished(NamedTuple):
    """What is left of a night over five sessions, with a skill and a memory file."""

    small: Small
    report: NightReport
    asked: tuple[ChatRequest, ...]
    """All requests to its models."""
    untouched: bool
    """Whether nothing outside of its state has changed."""


def tree(folder: Path, *, without: Sequence[str] = ()) -> dict[str, str]:
    """What is in a folder: mode and digest of each file by path, without those whose path has one of these parts."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if any(part in name for part in without):
            continue
        data = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[name] = f"{path.stat().st_mode:o} {data}"
    return found


def later(moment: datetime = START, **more: float) -> datetime:
    """A time after the transcripts."""
    return moment + timedelta(**more)
