"""What an agent may do with etude: run its verbs, and train within a cap that a person has set.

Each tool but the list of runs is a verb of the command line in a process of its own, so that an agent gets what a
person gets. No tool adopts, trusts or raises a limit.
"""

import asyncio
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, cast

from etude import own_process
from etude.cli.lookup import RUNS
from etude.cli.runs import newest_first
from etude.concurrency import in_thread
from etude.config import load_config
from etude.errors import EtudeError
from etude.store.projections.cost import read_cost
from etude.store.run import plain_name
from etude.store.views import JOURNAL, read_events

_BEGUN_SECONDS = 60.0
"""Longest that is waited for a training to begin or to be refused."""
_POLL_SECONDS = 0.1
_ASK = "the person who uses you decides that; ask for it"


class Refused(EtudeError):
    """A tool does not do what it was asked for."""


class Cap(NamedTuple):
    """The most that a server may spend, over all that it starts; None for no limit of that kind."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


class _Training(NamedTuple):
    name: str
    folder: Path
    process: subprocess.Popen[bytes]
    log: Path
    """What the process prints."""
    errors: Path
    """What it says besides."""

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


class VerbRunner:
    """Carries out what an agent asks for, one training at a time.

    Args:
        cap: set by the person who registers the server. Without one nothing is trained or compared.
    """

    def __init__(self, cap: Cap = Cap()) -> None:
        self._cap = cap
        self._before: dict[Path, Cap] = {}
        """What each run folder had used when it was first touched."""
        self._training: _Training | None = None
        self._paid = asyncio.Lock()
        """One thing that costs money at a time: what is left of the cap is known before each."""

    async def verb(self, name: str, *given: str, **options: object) -> Any:
        """The result of a verb as data. Raises Refused: the verb failed; with its error and hint."""
        words = _words(name, *given, **options)
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, said = await process.communicate()
        if process.returncode:
            raise Refused(**_why(out, said))
        return json.loads(out)

    async def train(self, config: str, name: str) -> dict[str, Any]:
        """Begin a training in the background, or resume it; returns when it has begun."""
        async with self._paid:
            limits = self._limits(config, folder := self._run_folder(config, name))
            words = _words("train", config, **{"run.name": json.dumps(name), **limits})
            before = _starts(folder)
            self.close()
            self._training = one = _started(name, folder, words)
        for _ in range(round(_BEGUN_SECONDS / _POLL_SECONDS)):
            if one.ended or _starts(folder) > before:
                break
            await asyncio.sleep(_POLL_SECONDS)
        if one.process.returncode:
            raise Refused(**_failure(one))
        return {"run": str(folder), "state": "under way", "limits": limits}

    def close(self) -> None:
        """Remove what the last training has printed. The training itself goes on."""
        if self._training is not None:
            for path in (self._training.log, self._training.errors):
                path.unlink(missing_ok=True)

    async def compare(self, a: str, b: str, config: str, name: str) -> Any:
        """Score two skills on the same tasks, within the cap, over the facts of a run."""
        async with self._paid:
            limits = self._limits(config, self._run_folder(config, name))
            return await self.verb("compare", a, b, config, **{"run.name": json.dumps(name), **limits})

    async def status(self) -> dict[str, Any]:
        """All runs, how the training of this server stands, and what is left of the cap."""
        one, found = self._training, dict[str, Any]()
        if one is not None:
            found = {"name": one.name, "run": str(one.folder), "state": "under way"}
            if one.ended:
                found["state"] = "failed or stopped" if one.process.returncode else "ended"
                found |= _failure(one) if one.process.returncode else {}
        left = {what: most for what, most in self._left()._asdict().items() if most is not None}
        runs = [line.model_dump(mode="json") for line in await in_thread(newest_first, RUNS)]
        return {"training": found, "left": left, "runs": runs}

    def _run_folder(self, config: str, name: str) -> Path:
        settings = load_config(config, flags=[("run.name", json.dumps(name))])
        return Path(settings.run.folder) / plain_name(settings.run.name, "run.name")

    def _limits(self, config: str, folder: Path) -> dict[str, float]:
        """Settings for what is left of the cap; where the file allows less, that holds. Raises Refused: nothing is
        left, or a training is under way, which may still spend all of it."""
        if self._training is not None and not self._training.ended:
            name = self._training.name
            raise Refused(f"the training {name!r} is under way", hint="ask for its status, and wait for it")
        if all(most is None for most in self._cap):
            raise Refused(
                "no cap is set, so nothing that costs money is started", hint=f"`etude mcp --usd 5` sets one: {_ASK}"
            )
        self._before.setdefault(folder, _used(folder))
        used, own = _used(folder), load_config(config).limits
        limits = dict[str, float]()
        for what, left in self._left()._asdict().items():
            if left is None:
                continue
            if left <= 0:
                raise Refused(
                    f"the cap of {getattr(self._cap, what)} {what} is used up", hint=f"a higher one: {_ASK}"
                )
            most = left + (getattr(used, what) or 0)  # limits hold for a run over all its processes
            allowed = getattr(own, what)
            limits[f"limits.{what}"] = most if allowed is None else min(most, allowed)
        return limits

    def _left(self) -> Cap:
        spent = [(_used(folder), before) for folder, before in self._before.items()]
        left = dict[str, Any]()
        for what, most in self._cap._asdict().items():
            used = sum((getattr(now, what) or 0) - (getattr(before, what) or 0) for now, before in spent)
            left[what] = None if most is None else most - used
        return Cap(**left)


def _started(name: str, folder: Path, words: list[str]) -> _Training:
    """A training in a session of its own: it goes on when the agent ends, and can be resumed by anybody."""
    with (
        tempfile.NamedTemporaryFile("wb", prefix="etude-", suffix=".json", delete=False) as log,
        tempfile.NamedTemporaryFile("wb", prefix="etude-", suffix=".log", delete=False) as errors,
    ):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=errors, start_new_session=True)
    return _Training(name, folder, process, Path(log.name), Path(errors.name))


def _failure(one: _Training) -> dict[str, str]:
    return _why(one.log.read_bytes(), one.errors.read_bytes())


def _why(out: bytes, said: bytes) -> dict[str, str]:
    """Message and hint of a verb that failed: from its result, or else from the end of what it said."""
    try:
        found: Any = json.loads(out)
    except ValueError:
        found = {}
    error = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    message = error.get("error") or error.get("stopped")
    if not message:
        message = f"the command failed: {own_process.last_lines(said) or 'without a word'}"
    return {"message": str(message), "hint": str(error.get("hint", ""))}


def _words(name: str, *given: str, **options: object) -> list[str]:
    """The command line of a verb. What an agent gives is never an option of its own."""
    for word in given:
        if word.startswith("-"):
            raise Refused(
                f"{word!r} begins with a dash", hint="give a name, a number or a path; tools take no options"
            )
    flags = [f"--{key}={value}" for key, value in options.items() if value is not None]
    return own_process.command(*name.split(), *given, *flags, "--json")


def _starts(folder: Path) -> int:
    """How often a run was started."""
    return len(list(read_events(folder, "run_started"))) if folder.exists() else 0


def _used(folder: Path) -> Cap:
    if not (folder / JOURNAL).exists():
        return Cap(usd=0.0, tokens=0, calls=0)
    cost = read_cost(folder)
    return Cap(usd=cost.usd, tokens=cost.usage.total, calls=cost.calls)
