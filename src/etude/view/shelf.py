"""The runs that a page is about, and each of its documents by name. The server and the file give out the same."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from etude.errors import DataError
from etude.records import Record
from etude.sleep.page import NightLine, Reviews
from etude.store.projections.attempts import attempt_page, attempt_pages, golds
from etude.store.projections.cost import read_cost
from etude.store.projections.log import Log
from etude.store.projections.runs import RunLine, curve, read_lines, run_page
from etude.store.projections.skills import SkillPage, Version, skill_page, version
from etude.store.projections.steps import step_page
from etude.store.projections.tasks import TaskMatrix, task_matrix
from etude.store.views import EVENTS, SUMMARY, is_running, read_run, run_names

_NIGHTS = TypeAdapter(tuple[NightLine, ...])
_LINES = TypeAdapter(tuple[RunLine, ...])


class Shelf:
    """Runs by name: those that were given, and all of a folder, also those that start later. May be asked by several
    threads."""

    def __init__(
        self, runs: Sequence[Path], folder: Path | None, program: str = "etude", reviews: Reviews | None = None
    ) -> None:
        self.reviews = reviews
        """The nights of a project; None where the page is about runs only."""
        self._given = {path.resolve().name: path for path in runs}
        self._folder = folder
        self._program = program
        self._logs: dict[Path, Log] = {}
        self._short: dict[Path, Log] = {}
        """Without attempts and calls, so that the first thing a person sees is there at once."""
        self._lock, self._short_lock = threading.Lock(), threading.Lock()

    def runs(self) -> Mapping[str, Path]:
        """The runs there are now, by name."""
        if self._folder is None:
            return self._given
        return {**{name: self._folder / name for name in run_names(self._folder)}, **self._given}

    def path(self, name: str) -> Path:
        """The folder of a run. Raises DataError: there is none of that name."""
        try:
            return self.runs()[name]
        except KeyError:
            raise DataError(f"there is no run {name!r} here", hint=f"runs: {', '.join(self.runs())}") from None

    def document(self, name: str) -> str:
        """A document as JSON, by its name: `runs`, `nights`, `nights/3`, `runs/NAME`, or that followed by `curve`,
        `skill`, `skill/3`, `steps/0003`, `epochs/02`, `tasks`, `attempts/ID` or `cost`. Raises DataError: there is
        none of that name, or what it is made from cannot be read."""
        if name == "runs":
            return _LINES.dump_json(read_lines(iter(self.runs().values()), self._program)).decode()
        head, _, rest = name.partition("/")
        if head == "nights" and rest and self.reviews is not None:
            return self.reviews.night(_number(rest, "a night")).model_dump_json()
        if name == "nights":
            return _NIGHTS.dump_json(() if self.reviews is None else self.reviews.nights()).decode()
        run, _, part = rest.partition("/")
        kind, _, key = part.partition("/")
        makers = self._makers(run, key)
        if head != "runs" or kind not in makers:
            raise DataError(f"there is no document {name!r}", hint="the page asks for what it needs")
        with self._lock if kind else self._short_lock:
            return makers[kind]().model_dump_json()

    def read_ahead(self) -> None:
        """Read the runs that were given before anybody asks: a browser takes about as long to open."""
        for name in self._given:
            with self._short_lock, suppress(Exception):  # what is wrong with it is told to who asks
                self._log(name, many=False)

    def documents(self, run: str) -> Iterator[str]:
        """The names of all documents of a run but its attempts."""
        view = read_run(self.path(run))
        yield from (f"runs/{run}{part}" for part in ("", "/curve", "/skill", "/tasks", "/cost"))
        yield from (f"runs/{run}/steps/{step.number:04d}" for step in view.steps)
        yield from (f"runs/{run}/epochs/{step.number:02d}" for step in view.epochs)
        yield from (f"runs/{run}/skill/{int(Path(name).stem)}" for name in view.skills)

    def attempts(self, run: str) -> tuple[str, ...]:
        """The ids of all attempts of a run; those that solved their task come last, as few ask for them."""
        with self._lock:
            known = self._log(run).known.values()
            return tuple(seen.attempt for seen in sorted(known, key=lambda seen: seen.hard == 1))

    def golds(self, run: str) -> Iterator[JsonValue]:
        """The gold answers of the tasks of a run."""
        return golds(self.path(run))

    def many(self, run: str, attempts: Sequence[str]) -> Iterator[str]:
        """These attempts of a run, as `document` gives each."""
        with self._lock:
            log = self._log(run)
        return (page.model_dump_json() for page in attempt_pages(log, attempts))

    def stamps(self) -> dict[str, str]:
        """For each run something that changes when it does; `/nights` stands for those."""
        nights = {} if self.reviews is None else {"/nights": self.reviews.stamp()}
        return {name: _stamp(path) for name, path in self.runs().items()} | nights

    def _makers(self, run: str, key: str) -> Mapping[str, Callable[[], Record]]:
        return {
            "": lambda: run_page(self._log(run, many=False), self._program),
            "curve": lambda: curve(self._log(run)),
            "skill": lambda: self._skill(run, key),
            "steps": lambda: step_page(read_run(self.path(run)), f"steps/{key}"),
            "epochs": lambda: step_page(read_run(self.path(run)), f"epochs/{key}"),
            "tasks": lambda: self._tasks(run),
            "attempts": lambda: attempt_page(self._log(run), key),
            "cost": lambda: read_cost(self._log(run)),
        }

    def _skill(self, run: str, step: str) -> SkillPage | Version:
        view = read_run(self.path(run))
        return version(view, _number(step, "a step")) if step else skill_page(view)

    def _tasks(self, run: str) -> TaskMatrix:
        log = self._log(run)
        summary = read_run(log.path).summary
        first = log.attempts[0].skill if log.attempts else ""
        initial, best = (first, "") if summary is None else (summary.initial.hash, summary.best.hash)
        return task_matrix(log, initial, best)

    def _log(self, run: str, *, many: bool = True) -> Log:
        path, logs = self.path(run), self._logs if many else self._short
        log = logs.setdefault(path, Log(path, many=many))
        log.read()
        return log


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise DataError(f"{text!r} is not the number of {what}", hint="it is a whole number")
    return int(text)


def _stamp(path: Path) -> str:
    sizes = [file.stat().st_mtime_ns if file.exists() else 0 for file in (path / EVENTS, path / SUMMARY)]
    return f"{sizes[0]:x}-{sizes[1]:x}-{is_running(path):d}"
