import re

from rich.console import Console as RichConsole

from at_terminal import Terminal
from etude.display.console import HEARTBEAT_SECONDS, SHOWN, Console
from etude.display.live import status
from etude.display.progress import Progress
from etude.events import (
    AttemptFinished,
    CallFinished,
    Decided,
    Event,
    Notice,
    RunStarted,
    SpendChanged,
    StageFinished,
    StageStarted,
)
from etude.readable import fitted
from etude.records import Usage
from rows import rows

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


STARTED = RunStarted(name="first", folder="runs/first", epochs=2, steps=4, resumed=False, simulated=False)
ROLLOUT = StageStarted(stage="rollout", step=1, epoch=1, total=10)


def attempt(outcome: str = "completed", reason: str = "", task: str = "t") -> AttemptFinished:
    return AttemptFinished(attempt="a", task=task, split="train", outcome=outcome, hard=1.0, reason=reason)


def decided(step: int, **more: object) -> Decided:
    values: dict[str, object] = {
        "steps": 4,
        "action": "accepted",
        "origin": "step",
        "reason": "candidate 0.5 > current 0.4",
        "current": 0.5,
        "best": 0.5,
        "skill_tokens": 80,
    }
    return Decided.model_validate({"step": step, **values, **more})


def plain(*events: Event, clock: Clock | None = None) -> list[str]:
    clock = clock or Clock()
    lines: list[str] = []
    console = Console(Progress(clock), lambda text, style=None: lines.append(text[9:]), stages=True, clock=clock)
    for event in events:
        console.emit(event)
    return lines


def test_stages_of_an_epoch_are_named_by_the_epoch() -> None:
    events = StageStarted(stage="slow_update", step=2, epoch=1), StageFinished(stage="slow_update", step=2)
    assert plain(STARTED, *events)[1:] == ["epoch 1 slow update: done"]


def test_attempts_without_a_score_are_shown_with_reasons_up_to_a_bound() -> None:
    voids = [attempt("void", "no answer", f"t{number}") for number in range(SHOWN + 3)]
    lines = plain(STARTED, ROLLOUT, *voids, StageFinished(stage="rollout", step=1, note="x"))[1:]
    assert lines[:SHOWN] == [f"an attempt at task 't{number}' errored: no answer" for number in range(SHOWN)]
    assert lines[SHOWN:] == [f"{SHOWN + 3} attempts errored in this stage", "step 1/4 rollout: x"]


def test_failed_calls_are_shown_once_for_each_cause_and_counted() -> None:
    calls = [CallFinished(role="target", error=f"HTTP 50{number % 2}") for number in range(6)]
    lines = plain(STARTED, ROLLOUT, *calls, StageFinished(stage="rollout", step=1, note="x"))[1:]
    assert lines == [
        "call failed (target): HTTP 500",
        "call failed (target): HTTP 501",
        "6 calls failed in this stage",
        "step 1/4 rollout: x",
    ]


def test_a_notice_is_said_once() -> None:
    notice = Notice(level="warning", text="two\nlines")
    assert plain(notice, notice, Notice(level="info", text="fine")) == ["warning: two", "lines", "note: fine"]


def test_a_long_stage_says_now_and_then_where_it_is() -> None:
    clock = Clock()
    lines: list[str] = []
    console = Console(Progress(clock), lambda text, style=None: lines.append(text), stages=True, clock=clock)
    console.emit(STARTED)
    console.emit(ROLLOUT)
    for _ in range(5):
        clock.now += HEARTBEAT_SECONDS / 2 + 1
        console.emit(attempt())
    assert [line[9:] for line in lines[1:]] == [
        "step 1/4 rollout: 2 of 10 attempts, 2 solved, 0 calls, 0 tokens",
        "step 1/4 rollout: 4 of 10 attempts, 4 solved, 0 calls, 0 tokens",
    ]


@rows("error", [BrokenPipeError(), OSError("disk full"), ValueError("I/O operation on closed file")])
def test_a_reader_that_has_gone_is_no_reason_to_end_a_run(error: Exception) -> None:
    calls: list[str] = []

    def printer(text: str, style: str | None = None) -> None:
        calls.append(text)
        raise error

    console = Console(Progress(), printer, stages=True)
    console.emit(STARTED)
    console.emit(decided(1))
    assert len(calls) == 1


def drawn(clock: Clock, *later: Event, at: float = 0) -> list[str]:
    """The live lines of a terminal of 80 columns, in the first stage of a run; `later` happens at that time."""
    progress, stream = Progress(clock), Terminal()
    for event in (STARTED.model_copy(update={"steps": 0}), ROLLOUT):
        progress.take(event)
    clock.now = at
    for event in later:
        progress.take(event)
    RichConsole(file=stream, width=80, no_color=True, force_terminal=True).print(status(progress))
    return _CODES.sub("", stream.getvalue()).splitlines()


def test_a_path_is_never_broken() -> None:
    path = "/".join(["folder"] * 20)
    assert fitted(f"best skill  {path}", 40) == [f"best skill  {path}"]


def test_batch_accuracy_and_cost_are_seen_at_80_columns() -> None:
    call = CallFinished(role="target", usage=Usage(input_tokens=1_234_567, output_tokens=54_321), usd=12.3456)
    failed = attempt().model_copy(update={"hard": 0.0})
    spent = SpendChanged(calls=123_456, tokens=45_678_901, usd=123.45)
    batch = [attempt(), attempt(), failed, attempt(outcome="void").model_copy(update={"hard": None})]
    error = CallFinished(role="optimizer", error="HTTP 500: " + "no " * 60, usd=0.0)
    busy = [*[call] * 20, decided(1, tasks=48, tried=48, solved=13), spent, *batch, error]
    lines = drawn(Clock(), *busy)
    assert "  4/10, 67% solved, 1 errored" in lines[0]
    assert "$123.45" in lines[2]
    calls = [CallFinished(role="target", usd=0.01)] * 10
    assert "0:20 elapsed  10 calls, 0 tokens, $0.10" in "\n".join(drawn(Clock(), *calls, at=20))
