"""The story of a run: one function from its events to what is known of it after them.

Terminal, page and trackers draw this, live from the events of a process or from `events.jsonl`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from etude.events import (
    AttemptFinished,
    CallFinished,
    Decided,
    Event,
    Notice,
    RunFinished,
    RunStarted,
    SpendChanged,
    Stage,
    StageFinished,
    StageStarted,
)
from etude.readable import counted
from etude.records import Role, Split, Usage

OUTSIDE = "-"
"""Stands for the stage of calls that belong to none, as those that a killed process had under way."""

_SPLITS: Mapping[Stage, tuple[Split, ...]] = MappingProxyType(
    {
        "baseline": ("val",),
        "validation": ("val",),
        "rollout": ("train",),
        "gate": ("val",),
        "proof": ("train",),
        "tidy": ("train", "val"),
        "slow_update": ("train",),
        "test": ("test",),
    }
)
"""On which tasks a stage makes attempts. Stages overlap, and an attempt does not say which one it is for."""
_OPTIMIZING: frozenset[Stage] = frozenset(
    {"reflect", "aggregate", "select", "update", "slow_update", "meta_skill", "tidy"}
)
"""The stages that ask the optimizer."""


class StageProgress(NamedTuple):
    """A stage under way."""

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
    """Failed calls while it was the one that began last."""

    @property
    def so_far(self) -> str:
        """How far it is and how well it goes, as in `12/20, 42% solved`; calls where it makes no attempts."""
        if not self.done:
            return f"0/{self.total}" if self.total else counted(self.calls, "call") if self.calls else ""
        scored = self.done - self.voids
        solved = f", {self.solved / scored:.0%} solved" if scored else ""
        errors = f", {self.voids} errored" if self.voids else ""
        return f"{self.done}{f'/{self.total}' if self.total else ''}{solved}{errors}"


class RoleUse(NamedTuple):
    """What a role used in a stage."""

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0
    """US dollars; None when a price is unknown."""
    seconds: float = 0.0
    """That its calls took, one after another."""

    @property
    def usage(self) -> Usage:
        """Its tokens."""
        return Usage(
            input_tokens=self.input_tokens, output_tokens=self.output_tokens, cached_tokens=self.cached_tokens
        )


class Milestone(Decided):
    """A decision, and what had been paid for it."""

    target_calls: int
    """Requests that the target had been sent by then."""


class Story(NamedTuple):
    """What is known of a run. Calls, use and turns are those of all processes that were told of; a decision that a
    resumed run takes again is told once."""

    name: str = ""
    steps: int = 0
    """Of the whole run; 0 when that depends on what happens."""
    resumed: bool = False
    simulated: bool = False
    dry: bool = False
    """Only the plumbing is tried."""
    stages: tuple[StageProgress, ...] = ()
    """Those under way, the one that began last at the end."""
    use: Mapping[tuple[Role, str], RoleUse] = MappingProxyType({})
    """By role and stage. Where stages overlap, a call counts for the one that began last of those that ask its
    role."""
    turns: tuple[Milestone, ...] = ()
    warnings: Mapping[str, str] = MappingProxyType({})
    """What the run warned of, each with what to do about it."""
    slow_updates: Mapping[int, int] = MappingProxyType({})
    """By epoch, the step after which its slow update was made."""
    calls: int = 0
    """Requests of all roles."""
    tokens: int = 0
    usd: float | None = 0.0
    """US dollars; None once a role without a price has answered."""
    last_failure: str = ""
    """The last call, where that failed."""
    ended: bool = False
    """The process that worked on the run last came to an end of it; one that is killed does not say so."""

    @property
    def shown(self) -> StageProgress | None:
        """The stage that began last of those under way."""
        return self.stages[-1] if self.stages else None

    @property
    def target_calls(self) -> int:
        """Requests to the target that were told of."""
        return sum(used.calls for (role, _), used in self.use.items() if role == "target")

    @property
    def learnt(self) -> str:
        """How training goes, as in `18 of 60 training tasks solved`; empty before a decision, and of a dry run."""
        if self.dry or not self.turns or not self.turns[-1].tasks:
            return ""
        turn = self.turns[-1]
        seen = f" ({turn.tried} tried)" if turn.tried < turn.tasks else ""
        return f"{turn.solved} of {counted(turn.tasks, 'training task')} solved{seen}"

    def step_of(self, step: int) -> str:
        """As in `step 3/8`, or `step 3` when the number of steps is not known."""
        return f"step {step}/{self.steps}" if self.steps else f"step {step}"

    def place_of(self, stage: StageProgress) -> str:
        """The name of a stage, with the step or epoch that it belongs to, if any."""
        name = stage.stage.replace("_", " ")
        if stage.stage in ("slow_update", "meta_skill"):
            return f"epoch {stage.epoch} {name}"
        whole = stage.stage in ("validation", "test") or stage.step == 0
        return name if whole else f"{self.step_of(stage.step)} {name}"

    @property
    def place(self) -> str:
        """Where the run stands, as in `step 3/8 rollout`."""
        return "" if self.shown is None else self.place_of(self.shown)

    def stage_of(self, event: AttemptFinished | StageFinished) -> StageProgress | None:
        """The stage under way that an event is about."""
        return next((stage for stage in reversed(self.stages) if _is_of(stage, event)), None)


def after(story: Story, event: Event) -> Story:
    """What is known after an event."""
    match event:
        case AttemptFinished():
            return _attempted(story, event)
        case CallFinished():
            return _called(story, event)
        case StageStarted():
            begun = StageProgress(event.stage, event.step, event.epoch, event.total)
            slow = {event.epoch: event.step} if event.stage == "slow_update" else {}
            return story._replace(
                stages=(*story.stages, begun), slow_updates={**story.slow_updates, **slow}, last_failure=""
            )
        case StageFinished():
            return story._replace(stages=tuple(stage for stage in story.stages if not _is_of(stage, event)))
        case SpendChanged():
            return story._replace(calls=event.calls, tokens=event.tokens, usd=event.usd)
        case Decided():
            return _decided(story, event)
        case Notice(withdrawn=True):
            left = {text: hint for text, hint in story.warnings.items() if text != event.text}
            return story._replace(warnings=left)
        case Notice(level="warning"):
            return story._replace(warnings={**story.warnings, event.text: event.hint})
        case RunStarted():
            # One that is not resumed has no past: there may have been another run before.
            past = story if event.resumed else Story(warnings=story.warnings)
            given = {"name": event.name, "steps": event.steps, "resumed": event.resumed}
            now = {"simulated": event.simulated, "dry": event.dry, "stages": (), "last_failure": "", "ended": False}
            return past._replace(**given, **now)
        case RunFinished():
            return story._replace(ended=True)  # one that was stopped stands where it stood
        case _:
            return story


def _attempted(story: Story, event: AttemptFinished) -> Story:
    stage = story.stage_of(event)
    if stage is None:
        return story
    now = stage._replace(
        done=stage.done + 1,
        voids=stage.voids + (event.outcome == "void"),
        solved=stage.solved + (event.hard is not None and event.hard >= 1),
    )
    return story._replace(stages=tuple(now if each is stage else each for each in story.stages))


def _called(story: Story, event: CallFinished) -> Story:
    key = event.role, _asking(story, event.role)
    used, failed = story.use.get(key, RoleUse()), bool(event.error)
    now = RoleUse(
        calls=used.calls + 1,
        failed=used.failed + failed,
        input_tokens=used.input_tokens + event.usage.input_tokens,
        output_tokens=used.output_tokens + event.usage.output_tokens,
        cached_tokens=used.cached_tokens + event.usage.cached_tokens,
        usd=_sum(used.usd, event.usd),
        seconds=used.seconds + event.seconds,
    )
    last = len(story.stages) - 1
    stages = tuple(
        stage._replace(calls=stage.calls + 1, failures=stage.failures + (failed and at == last))
        for at, stage in enumerate(story.stages)
    )
    return story._replace(
        use={**story.use, key: now},
        stages=stages,
        calls=story.calls + 1,
        tokens=story.tokens + event.usage.total,
        usd=_sum(story.usd, event.usd),
        last_failure=f"{event.role}: {event.error}" if failed else "",
    )


def _decided(story: Story, event: Decided) -> Story:
    if any((turn.step, turn.origin) == (event.step, event.origin) for turn in story.turns):
        return story
    turn = Milestone(**dict(event), target_calls=story.target_calls)
    return story._replace(turns=(*story.turns, turn), steps=event.steps)


def _is_of(stage: StageProgress, event: AttemptFinished | StageFinished) -> bool:
    if isinstance(event, AttemptFinished):
        return event.split in _SPLITS.get(stage.stage, ())
    return (stage.stage, stage.step) == (event.stage, event.step)


def _asking(story: Story, role: Role) -> str:
    """The stage that a call of a role is for."""
    stages = [stage.stage for stage in story.stages]
    fitting = [stage for stage in stages if stage in (_OPTIMIZING if role == "optimizer" else _SPLITS)]
    return (fitting or stages or [OUTSIDE])[-1]


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
