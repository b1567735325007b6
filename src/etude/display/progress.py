"""A run under way as a person follows it: its story, the time it takes, and the lines that tell of it."""

from collections import deque
from collections.abc import Callable
from time import monotonic

from etude.events import Decided, Event, Notice, RunStarted
from etude.readable import counted, duration, money, short
from etude.story import Story, after


class Progress:
    """The story of a run with the time that it takes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.story = Story()
        self._clock = clock
        self._started = self._step_began = clock()
        self._steps_done = self._calls_before = 0
        self._steps_took: deque[float] = deque(maxlen=5)

    def take(self, event: Event) -> None:
        """Count an event in."""
        self.story = after(self.story, event)
        match event:
            case RunStarted():
                self._step_began, self._steps_done, self._calls_before = self._clock(), 0, self._made
                self._steps_took.clear()
            case Decided(origin="step"):
                now, made = self._clock(), self._made
                self._steps_done = event.step
                if made > self._calls_before:  # steps that were known already say nothing about the time others take
                    self._steps_took.append(now - self._step_began)
                self._step_began, self._calls_before = now, made
            case _:
                pass

    @property
    def _made(self) -> int:
        """Calls of this process."""
        return sum(used.calls for used in self.story.use.values())

    @property
    def elapsed(self) -> float:
        """Seconds since this began."""
        return self._clock() - self._started

    @property
    def left(self) -> float | None:
        """Estimated seconds until the last step is done, going by the last five; None before the first one is, and
        where the number of steps is not known."""
        if not self._steps_took or self._steps_done >= self.story.steps:
            return None
        mean = sum(self._steps_took) / len(self._steps_took)
        spent = self._clock() - self._step_began
        return max(0.0, mean * (self.story.steps - self._steps_done) - min(spent, mean))

    @property
    def time_left(self) -> str:
        """As in `about 3:10 left`; empty when nothing is known about it, or it is less than a second."""
        left = self.left
        return "" if left is None or left < 1 else f"about {duration(left)} left"

    @property
    def spend(self) -> str:
        """Calls, tokens and money where it is known, as in `412 calls, 120k tokens, $0.12`."""
        story = self.story
        tokens = f"{short(story.tokens)} token{'s' if story.tokens != 1 else ''}"
        price = f", {money(story.usd)}" if story.usd else ""
        return f"{counted(story.calls, 'call')}, {tokens}{price}"

    @property
    def scores(self) -> str:
        """How training and validation go, as far as they are known."""
        turn = self.story.turns[-1] if self.story.turns and not self.story.dry else None
        val, best = (None, None) if turn is None else (turn.current, turn.best)
        parts = [self.story.learnt, "" if val is None else f"validation {val:.3f}"]
        parts.append("" if best is None or best == val else f"best {best:.3f}")
        return ", ".join(part for part in parts if part)


def told(event: Event, story: Story) -> str:
    """What a person is told of an event, in a line or several; nothing of most. `story` is that after it."""
    match event:
        case RunStarted():
            steps = f", {counted(event.steps, 'step')}" if event.steps else ""
            models = ", a dry run: simulated models know none of the tasks" if event.dry else ""
            models = models or (", simulated models" if event.simulated else "")
            verb, epochs = "resuming" if event.resumed else "starting", counted(event.epochs, "epoch")
            return f"{verb} run {event.name!r} in {event.folder}: {epochs}{steps}{models}"
        case Decided():
            what = {"slow_update": "slow update", "tidy": "tidy"}.get(event.origin) or story.step_of(event.step)
            return f"{what} {event.action}: {event.reason}"
        case Notice(withdrawn=True):
            return f"withdrawn, as later attempts show: {event.text.splitlines()[0]}"
        case Notice():
            return f"{'warning' if event.level == 'warning' else 'note'}: {event.text}"
        case _:
            return ""
