"""What every driver is given and gives back. Standard library only: each driver runs in an environment of its own.

    python <driver>.py job.json

A job names the endpoint, the tasks, the skill to start from and the schedule; `Watch.finish` writes what came of it
to `result.json` beside the job. Test tasks are not in a job: no system ever sees them.
"""

import http.client
import json
import resource
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

Result = TypeVar("Result")


@dataclass(frozen=True)
class Task:
    """A question and its right answer."""

    id: str
    input: str
    gold: str


@dataclass(frozen=True)
class Job:
    """One run of one system."""

    folder: str
    """Where the run may write."""
    url: str
    """Base URL of the endpoint, ending in /v1."""
    target: str
    optimizer: str
    train: tuple[Task, ...]
    val: tuple[Task, ...]
    skill: str
    """The skill to start from."""
    seed: int
    workers: int
    """Most requests that may be in flight."""
    epochs: int
    batch_size: int
    settings: tuple[str, ...] = ()
    """Further settings `a.b=value`, for systems that take them."""

    @property
    def calls(self) -> int:
        """Target calls of the published schedule: the first skill on the validation tasks, then in each step a batch
        and a candidate on the validation tasks."""
        steps = -(-len(self.train) // self.batch_size)
        return len(self.val) + self.epochs * (len(self.train) + steps * len(self.val))


@dataclass(frozen=True)
class Change:
    """From here on the system would hand out this skill."""

    calls: int
    """Target calls answered before, as the endpoint counts them."""
    seconds: float
    skill: str


@dataclass(frozen=True)
class Outcome:
    """What a driver reports. The harness trusts none of it that it can measure itself."""

    version: str
    seconds: float
    """From the first thing the system does, imports excluded, to its final skill."""
    cpu_seconds: float
    """CPU time of the driver's process over the same time."""
    peak_mb: float
    """Most memory the process had."""
    skill: str
    """The final skill."""
    reported: float | None
    """The score that the system itself gives for it, on the validation tasks."""
    changes: tuple[Change, ...]


def write_job(job: Job) -> Path:
    """Write the job into its folder."""
    path = Path(job.folder) / "job.json"
    path.write_text(json.dumps(asdict(job)))
    return path


def read_job() -> Job:
    """The job named on the command line."""
    data = json.loads(Path(sys.argv[1]).read_text())
    for split in ("train", "val"):
        data[split] = tuple(Task(**task) for task in data[split])
    return Job(**{**data, "settings": tuple(data["settings"])})


def read_outcome(folder: Path) -> Outcome:
    """What the driver wrote."""
    data = json.loads((folder / "result.json").read_text())
    return Outcome(**{**data, "changes": tuple(Change(**change) for change in data["changes"])})


class Watch:
    """Notes when the skill changes. May be called from any thread. Time runs from its making."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._stats = job.url.removesuffix("/v1") + "/stats"
        self._lock = threading.Lock()
        self._changes: list[Change] = []
        self._cpu = time.process_time()
        self._start = time.monotonic()
        self.see(job.skill)

    def see(self, skill: str) -> None:
        """The system would hand out this skill now."""
        with self._lock:
            if self._changes and self._changes[-1].skill == skill:
                return
            seconds = time.monotonic() - self._start
            self._changes.append(Change(self._calls(), seconds, skill))

    def _calls(self) -> int:
        with urllib.request.urlopen(self._stats) as response:
            return int(json.load(response)["by_model"].get(self._job.target, 0))

    def finish(self, version: str, skill: str, reported: float | None) -> None:
        """Write the outcome."""
        seconds = time.monotonic() - self._start
        cpu = time.process_time() - self._cpu
        self.see(skill)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        outcome = Outcome(version, seconds, cpu, peak, skill, reported, tuple(self._changes))
        (Path(self._job.folder) / "result.json").write_text(json.dumps(asdict(outcome)))


def answer_of(reply: str) -> str:
    """What stands after the last `Answer:`."""
    return reply.rpartition("Answer:")[2].strip()


def is_right(answer: str, gold: str) -> bool:
    """Equal but for case, white space and a final full stop."""
    return _folded(answer) == _folded(gold)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


class Client:
    """Chat Completions over connections that stay open, one for each thread. For systems that bring no client."""

    def __init__(self, url: str, model: str) -> None:
        self._model = model
        self._address = urlsplit(url)
        self._local = threading.local()

    def ask(self, *messages: tuple[str, str]) -> str:
        """The reply to messages, each a role and a text.

        Raises:
            RuntimeError: the endpoint refused.
        """
        turns = [{"role": role, "content": text} for role, text in messages]
        body = json.dumps({"model": self._model, "messages": turns})
        connection = self._connection()
        connection.request(
            "POST", f"{self._address.path}/chat/completions", body, {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise RuntimeError(f"status {response.status}: {data[:200]!r}")
        return str(json.loads(data)["choices"][0]["message"]["content"] or "")

    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection(self._address.netloc, timeout=120)
        return self._local.connection


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`a.b=value` as nested data. A value that is JSON is read as such, any other is text."""
    nested: dict[str, Any] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        *sections, last = name.split(".")
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = _value(value)
    return nested


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def quietly(work: Callable[[], Result]) -> Result:
    """Do the work with what it prints going to the standard error stream."""
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        return work()
    finally:
        sys.stdout = out
