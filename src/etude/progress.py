"""What a person wants to know about a run under way, gathered from its events."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic

from etude.events import (
    AttemptFinished,
    CallFinished,
    Decided,
    Event,
    RunStarted,
    SpendChanged,
    Stage,
    StageFinished,
    StageStarted,
)
from etude.records import Role, Split
from etude.run_log import counted

_SPLITS: Mapping[Stage, tuple[Split, ...]] = {
    "baseline": ("val",),
    "validation": ("val",),
    "rollout": ("train",),
    "gate": ("val",),
    "proof": ("train",),
    "tidy": ("train", "val"),
    "slow_update": ("train",),
    "test": ("test",),
}
"""On which tasks a stage makes attempts. Stages overlap, and an attempt does not say which one it is for."""


@dataclass
class StageProgress:
    """A stage under way, or one that has ended."""

    stage: Stage
    step: int
    epoch: int = 0
    total: int = 0
    """Attempts or calls it may need, 0 when unknown."""
    done: int = 0
    solved: int = 0
    voids: int = 0
    """Attempts without a score."""
    calls: int = 0
    """Calls while it was under way; none when all of it was known already."""
    failures: int = 0
    """Failed calls while it was the one that is shown."""

    @property
    def count(self) -> str:
        """How far it is and how well it goes, as in `12/20, 42% solved`; calls where it makes no attempts."""
        if not self.done:
            return f"0/{self.total}" if self.total else counted(self.calls, "call") if self.calls else ""
        scored = self.done - self.voids
        solved = f", {self.solved / scored:.0%} solved" if scored else ""
        errors = f", {self.voids} errored" if self.voids else ""
        return f"{self.done}{f'/{self.total}' if self.total else ''}{solved}{errors}"


class Progress:
    """The state of a run. `calls` are those of this process, `spend` tells of all; money is unknown once a role
    without a price has answered."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.name = ""
        self.steps = 0
        """Of the whole run; 0 when that depends on what happens."""
        self.last_failure = ""
        self.resumed = False
        self.current: float | None = None
        self.best: float | None = None
        self.calls: Counter[Role] = Counter()
        self.tokens = 0
        self.usd: float | None = 0.0
        self.failed = self.fixed = 0
        """Training tasks that were seen to fail, and those of them that were solved when last attempted."""
        self._latest: dict[str, float] = {}
        """By training task, its score in its last rollout: steps attempt mostly tasks that failed."""
        self._calls_reported = 0
        """Calls that others made before this process."""
        self._clock = clock
        self._open: list[StageProgress] = []
        """Stages under way, the one that began last at the end."""
        self._started = clock()
        self._step_began = self._started
        self._steps_done = 0
        self._calls_before = 0
        self._steps_took: deque[float] = deque(maxlen=5)

    def take(self, event: Event) -> None:
        """Count an event in."""
        match event:
            case AttemptFinished():
                self._attempt(event)
            case CallFinished():
                self._call(event)
            case StageStarted():
                self._begin(event)
            case StageFinished():
                self._open = [stage for stage in self._open if not _is_of(stage, event)]
            case Decided():
                self._decided(event)
            case RunStarted():
                self._begin_run(event)
            case SpendChanged():
                self.tokens, self.usd = event.tokens, event.usd
                self._calls_reported = max(0, event.calls - self.calls.total())
            case _:
                pass

    @property
    def shown(self) -> StageProgress | None:
        """The stage that began last of those under way."""
        return self._open[-1] if self._open else None

    def stage_of(self, event: AttemptFinished | StageFinished) -> StageProgress | None:
        """The stage under way that an event is about."""
        return next((stage for stage in reversed(self._open) if _is_of(stage, event)), None)

    @property
    def elapsed(self) -> float:
        """Seconds since this began."""
        return self._clock() - self._started

    @property
    def left(self) -> float | None:
        """Estimated seconds until the last step is done, going by the last five; None before the first one is, and
        where the number of steps is not known."""
        if not self._steps_took or self._steps_done >= self.steps:
            return None
        mean = sum(self._steps_took) / len(self._steps_took)
        spent = self._clock() - self._step_began
        return max(0.0, mean * (self.steps - self._steps_done) - min(spent, mean))

    @property
    def place(self) -> str:
        """Where the run stands, as in `step 3/8 rollout`."""
        return "" if self.shown is None else self.place_of(self.shown)

    def place_of(self, stage: StageProgress) -> str:
        """The name of a stage, with the step or epoch that it belongs to, if any."""
        name = stage.stage.replace("_", " ")
        if stage.stage in ("slow_update", "meta_skill"):
            return f"epoch {stage.epoch} {name}"
        whole = stage.stage in ("validation", "test") or stage.step == 0
        return name if whole else f"{self.step_of(stage.step)} {name}"

    def step_of(self, step: int) -> str:
        """As in `step 3/8`, or `step 3` when the number of steps is not known."""
        return f"step {step}/{self.steps}" if self.steps else f"step {step}"

    @property
    def spend(self) -> str:
        """Calls, tokens and money where it is known, as in `412 calls, 120k tokens, $0.12`."""
        tokens = f"{short(self.tokens)} token{'s' if self.tokens != 1 else ''}"
        price = f", {money(self.usd)}" if self.usd else ""
        return f"{counted(self._calls_reported + self.calls.total(), 'call')}, {tokens}{price}"

    @property
    def learnt(self) -> str:
        """How training goes, as in `training 0.43, 18 of 27 failures solved`; empty before the first attempt."""
        parts = [f"training {sum(self._latest.values()) / len(self._latest):.2f}"] if self._latest else []
        parts += [f"{self.fixed} of {counted(self.failed, 'failure')} solved"] if self.failed else []
        return ", ".join(parts)

    @property
    def time_left(self) -> str:
        """As in `about 3:10 left`; empty when nothing is known about it, or it is less than a second."""
        left = self.left
        return "" if left is None or left < 1 else f"about {duration(left)} left"

    def _begin_run(self, event: RunStarted) -> None:
        """Start counting again: there may have been another run before."""
        self.name, self.steps, self.resumed = event.name, event.steps, event.resumed
        self._calls_reported = 0
        self.failed = self.fixed = 0
        self._latest.clear()
        self.current = self.best = None
        self._open.clear()
        self.calls.clear()
        self.tokens, self.usd = 0, 0.0
        self._step_began, self._steps_done, self._calls_before = self._clock(), 0, 0
        self._steps_took.clear()

    def _begin(self, event: StageStarted) -> None:
        self._open.append(StageProgress(event.stage, event.step, event.epoch, event.total))
        self.last_failure = ""

    def _attempt(self, event: AttemptFinished) -> None:
        stage = self.stage_of(event)
        if stage is not None:
            stage.done += 1
            stage.voids += event.outcome == "void"
            stage.solved += event.hard is not None and event.hard >= 1
            if stage.stage == "rollout" and event.hard is not None:
                self._latest[event.task] = event.hard

    def _call(self, event: CallFinished) -> None:
        self.calls[event.role] += 1
        for stage in self._open:
            stage.calls += 1
        self.tokens += event.usage.total
        self.usd = None if self.usd is None or event.usd is None else self.usd + event.usd
        if event.error:
            if self.shown is not None:
                self.shown.failures += 1
            self.last_failure = f"{event.role}: {event.error}"
            return
        self.last_failure = ""

    def _decided(self, event: Decided) -> None:
        self.current, self.best, self.steps = event.current, event.best, event.steps
        self.failed, self.fixed = event.failed, event.fixed
        if event.origin == "step":
            now = self._clock()
            self._steps_done = event.step
            # Steps that were known already say nothing about the time that others take.
            if self.calls.total() > self._calls_before:
                self._steps_took.append(now - self._step_began)
            self._step_began, self._calls_before = now, self.calls.total()


def _is_of(stage: StageProgress, event: AttemptFinished | StageFinished) -> bool:
    if isinstance(event, AttemptFinished):
        return event.split in _SPLITS.get(stage.stage, ())
    return (stage.stage, stage.step) == (event.stage, event.step)


def duration(seconds: float) -> str:
    """As in `0:42` or `1:05:09`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(usd: float | None) -> str:
    """US dollars; unknown is never 0."""
    return "unknown (no price set)" if usd is None else f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def short(count: int) -> str:
    """As in `950`, `12k` or `3.4M`."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
