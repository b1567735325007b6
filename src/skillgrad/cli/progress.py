"""What a person wants to know about a run under way, gathered from its events."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from time import monotonic

from skillgrad.config import Price
from skillgrad.events import (
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
from skillgrad.models.meter import cost
from skillgrad.records import Role

Prices = Mapping[Role, Price | None]


class Progress:
    """The state of a run. Calls, tokens and money are those of this process.

    Args:
        prices: of each role; money is unknown once a role without a price has answered.
        clock: gives seconds.
    """

    def __init__(self, prices: Prices, clock: Callable[[], float] = monotonic) -> None:
        self.name = ""
        self.steps = 0
        self.step = 0
        self.epoch = 0
        self.stage: Stage | None = None
        self.total = 0
        self.done = 0
        self.voids = 0
        """Attempts without a score in this stage."""
        self.failures = 0
        """Failed calls in this stage."""
        self.last_failure = ""
        self.stage_calls = 0
        """Calls in this stage; none when all of it was known already."""
        self.resumed = False
        self.current: float | None = None
        self.best: float | None = None
        self.calls: Counter[Role] = Counter()
        self.tokens = 0
        self.usd: float | None = 0.0
        self._prices = prices
        self._clock = clock
        self._started = clock()
        self._step_began = self._started
        self._steps_done = 0
        self._calls_before = 0
        self._steps_took: deque[float] = deque(maxlen=5)

    def take(self, event: Event) -> None:
        """Count an event in."""
        match event:
            case AttemptFinished():
                self.done += 1
                self.voids += event.outcome == "void"
            case CallFinished():
                self._call(event)
            case StageStarted():
                self._begin(event)
            case StageFinished():
                self.stage = None
            case Decided():
                self._decided(event)
            case RunStarted():
                self._begin_run(event)
            case SpendChanged():
                self.tokens, self.usd = event.tokens, event.usd
            case _:
                pass

    @property
    def elapsed(self) -> float:
        """Seconds since this began."""
        return self._clock() - self._started

    @property
    def left(self) -> float | None:
        """Estimated seconds until the last step is done, going by the last five; None before the first one is."""
        if not self._steps_took or self._steps_done >= self.steps:
            return None
        mean = sum(self._steps_took) / len(self._steps_took)
        spent = self._clock() - self._step_began
        return max(0.0, mean * (self.steps - self._steps_done) - min(spent, mean))

    @property
    def place(self) -> str:
        """Where the run stands, as in `step 3/8 rollout`."""
        return "" if self.stage is None else self.place_of(self.stage, self.step)

    def place_of(self, stage: Stage, step: int) -> str:
        """The name of a stage of a step."""
        name = stage.replace("_", " ")
        if stage in ("slow_update", "meta_skill"):
            return f"epoch {self.epoch} {name}"
        return name if stage in ("baseline", "test") else f"step {step}/{self.steps} {name}"

    @property
    def spend(self) -> str:
        """Calls, tokens and money, as in `412 calls, 120k tokens, $0.12`."""
        money = "cost unknown" if self.usd is None else f"${self.usd:.2f}"
        return f"{self.calls.total():,} calls, {short(self.tokens)} tokens, {money}"

    def _begin_run(self, event: RunStarted) -> None:
        """Start counting anew: there may have been another run before."""
        self.name, self.steps, self.resumed = event.name, event.steps, event.resumed
        self.current = self.best = None
        self.calls.clear()
        self.tokens, self.usd = 0, 0.0
        self._step_began, self._steps_done, self._calls_before = self._clock(), 0, 0
        self._steps_took.clear()

    def _begin(self, event: StageStarted) -> None:
        self.stage, self.total, self.done = event.stage, event.total, 0
        self.step, self.epoch = event.step, event.epoch
        self.voids = self.failures = self.stage_calls = 0
        self.last_failure = ""

    def _call(self, event: CallFinished) -> None:
        self.calls[event.role] += 1
        self.stage_calls += 1
        if event.error:
            self.failures += 1
            self.last_failure = f"{event.role}: {event.error}"
            return
        self.last_failure = ""
        self.tokens += event.usage.total
        price = cost(event.usage, self._prices.get(event.role))
        self.usd = None if self.usd is None or price is None else self.usd + price

    def _decided(self, event: Decided) -> None:
        self.current, self.best, self.step, self.steps = event.current, event.best, event.step, event.steps
        if event.origin == "step":
            now = self._clock()
            self._steps_done = event.step
            # Steps that were known already say nothing about the time that others take.
            if self.calls.total() > self._calls_before:
                self._steps_took.append(now - self._step_began)
            self._step_began, self._calls_before = now, self.calls.total()


def duration(seconds: float) -> str:
    """As in `0:42` or `1:05:09`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short(count: int) -> str:
    """As in `950`, `12k` or `3.4M`."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
