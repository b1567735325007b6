import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console as RichConsole

from etude.display.console import HEARTBEAT_SECONDS, SHOWN, Console, open_console
from etude.display.live import status
from etude.display.progress import Progress
from etude.events import (
    ATTEMPTING,
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
from etude.readable import duration, short
from etude.records import Split, Usage
from rows import rows


def counts(progress: Progress) -> tuple[int, int]:
    """Attempts of the stage that is shown: done, and in all."""
    assert progress.story.shown is not None
    return progress.story.shown.done, progress.story.shown.total


_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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


def test_a_run_says_where_it_is_and_whether_it_goes_on() -> None:
    assert plain(STARTED) == ["starting run 'first' in runs/first: 2 epochs, 4 steps"]
    again = STARTED.model_copy(update={"resumed": True, "simulated": True})
    assert plain(again) == ["resuming run 'first' in runs/first: 2 epochs, 4 steps, simulated models"]
    one = STARTED.model_copy(update={"epochs": 1, "steps": 1})
    assert plain(one) == ["starting run 'first' in runs/first: 1 epoch, 1 step"]


def test_when_the_number_of_steps_is_not_known_it_is_left_out() -> None:
    started = STARTED.model_copy(update={"steps": 0})
    call = CallFinished(role="target")
    finished = StageFinished(stage="rollout", step=1, note="3 of 10 failed")
    scores = {"current": None, "best": None}
    assert plain(started, ROLLOUT, call, finished, decided(1, steps=0, **scores)) == [
        "starting run 'first' in runs/first: 2 epochs",
        "step 1 rollout: 3 of 10 failed",
        "step 1 accepted: candidate 0.5 > current 0.4; 1 call, 0 tokens",
    ]
    progress = Progress()
    for event in (started, call, decided(1, steps=0)):
        progress.take(event)
    assert progress.left is None


def test_attempts_that_went_well_print_nothing() -> None:
    assert plain(STARTED, ROLLOUT, *[attempt()] * 1000)[1:] == []


def test_the_end_of_a_stage_is_a_line() -> None:
    finished = StageFinished(stage="rollout", step=1, note="3 of 10 solved")
    assert plain(STARTED, ROLLOUT, finished)[1:] == ["step 1/4 rollout: 3 of 10 solved"]


@pytest.mark.parametrize(
    ("stage", "note", "idle"),
    [
        ("reflect", "0 edits from 3 analyses", False),
        ("select", "nothing to choose from", True),
        ("update", "0 of 2 edits applied", False),
    ],
)
def test_stages_that_had_nothing_to_work_on_say_nothing(stage: Any, note: str, idle: bool) -> None:
    events = (StageStarted(stage=stage, step=1, epoch=1), StageFinished(stage=stage, step=1, note=note, idle=idle))
    assert plain(STARTED, *events)[1:] == [f"step 1/4 {stage}: {note}"] * (not idle)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_attempts_outside_of_a_run_have_the_stage_of_their_split_and_no_step(split: Split) -> None:
    stage = ATTEMPTING[split]
    progress = Progress()
    progress.take(StageStarted(stage=stage, step=0, epoch=0, total=4))
    for of in ("train", "val", "test"):
        progress.take(attempt().model_copy(update={"split": of}))
    assert (progress.story.place, counts(progress)[0]) == (stage, 1)


def test_stages_of_an_epoch_are_named_by_the_epoch() -> None:
    events = StageStarted(stage="slow_update", step=2, epoch=1), StageFinished(stage="slow_update", step=2)
    assert plain(STARTED, *events)[1:] == ["epoch 1 slow update: done"]


def test_a_decision_has_reason_scores_and_spend() -> None:
    call = CallFinished(role="target", usage=Usage(input_tokens=1_000_000, output_tokens=500_000), usd=2.0)
    assert plain(STARTED, ROLLOUT, call, decided(1))[1:] == [
        "step 1/4 accepted: candidate 0.5 > current 0.4; validation 0.500; 1 call, 1.5M tokens, $2.00"
    ]


def test_a_decision_says_how_training_goes() -> None:
    progress = Progress()
    for event in (STARTED, ROLLOUT, attempt()):
        progress.take(event)
    assert progress.scores == ""
    progress.take(decided(1, tasks=60, tried=20, solved=8, best=0.6))
    assert progress.scores == "8 of 60 training tasks solved (20 tried), validation 0.500, best 0.600"
    progress.take(decided(2, tasks=60, tried=60, solved=31, current=None, best=None))
    assert progress.scores == "31 of 60 training tasks solved"


def test_without_a_price_tokens_are_the_cost_and_money_is_never_zero() -> None:
    call = CallFinished(role="optimizer", usage=Usage(input_tokens=10))
    line = plain(STARTED, call, decided(1, action="skipped", origin="slow_update", current=None, best=None))[-1]
    assert line == ("slow update skipped: candidate 0.5 > current 0.4; 1 call, 10 tokens")


BASELINE = StageStarted(stage="baseline", step=0, epoch=0, total=20)


def test_an_attempt_counts_for_the_stage_of_its_split() -> None:
    progress = Progress()
    of_val = attempt().model_copy(update={"split": "val"})
    for event in (STARTED, BASELINE, ROLLOUT, of_val, of_val, attempt()):
        progress.take(event)
    assert (progress.story.place, *counts(progress)) == ("step 1/4 rollout", 1, 10)
    progress.take(StageFinished(stage="rollout", step=1))
    assert (progress.story.place, *counts(progress)) == ("baseline", 2, 20)


def test_the_end_of_another_stage_leaves_the_shown_one() -> None:
    progress = Progress()
    for event in (STARTED, BASELINE, ROLLOUT, attempt(), StageFinished(stage="baseline", step=0)):
        progress.take(event)
    assert (progress.story.place, counts(progress)[0]) == ("step 1/4 rollout", 1)
    progress.take(StageFinished(stage="rollout", step=1))
    assert (progress.story.shown, progress.story.place) == (None, "")


def test_a_proof_counts_attempts_at_training_tasks_only() -> None:
    progress = Progress()
    proof = StageStarted(stage="proof", step=1, epoch=1)
    for event in (STARTED, proof, attempt(), attempt().model_copy(update={"split": "val"})):
        progress.take(event)
    assert (progress.story.place, counts(progress)[0]) == ("step 1/4 proof", 1)


def test_the_final_validation_belongs_to_no_step() -> None:
    events = StageStarted(stage="validation", step=3, epoch=1), StageFinished(stage="validation", step=3, note="0.4")
    assert plain(STARTED, *events)[1:] == ["validation: 0.4"]


def test_attempts_without_a_score_are_reported_with_their_own_stage() -> None:
    voids = [attempt("void", "no answer").model_copy(update={"split": "val"})] * (SHOWN + 1)
    ends = StageFinished(stage="rollout", step=1, note="x"), StageFinished(stage="baseline", step=0, note="y")
    lines = plain(STARTED, BASELINE, ROLLOUT, *voids, *ends)[1:]
    assert lines[SHOWN:] == ["step 1/4 rollout: x", f"{SHOWN + 1} attempts errored in this stage", "baseline: y"]


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


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError("disk full"), ValueError("I/O operation on closed file")]
)
def test_a_reader_that_has_gone_is_no_reason_to_end_a_run(error: Exception) -> None:
    calls: list[str] = []

    def printer(text: str, style: str | None = None) -> None:
        calls.append(text)
        raise error

    console = Console(Progress(), printer, stages=True)
    console.emit(STARTED)
    console.emit(decided(1))
    assert len(calls) == 1


def test_the_time_left_goes_by_the_steps_so_far() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.take(STARTED)
    assert progress.left is None
    clock.now = 10
    progress.take(CallFinished(role="target"))
    progress.take(decided(1))
    assert progress.left == 30
    clock.now = 14
    assert progress.left == 26
    clock.now = 100
    assert progress.left == 20
    progress.take(decided(4))
    assert progress.left is None


def test_steps_that_were_known_already_do_not_count_for_the_time_left() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.take(STARTED)
    clock.now = 1
    progress.take(decided(1))
    assert progress.left is None
    clock.now = 11
    progress.take(CallFinished(role="target"))
    progress.take(decided(2))
    assert progress.left == 20


def test_totals_that_are_reported_win_over_those_of_this_process() -> None:
    progress = Progress()
    progress.take(SpendChanged(calls=5, tokens=1234, usd=0.5))
    assert progress.spend.endswith("1,234 tokens, $0.50")


def test_plain_lines_have_no_control_characters() -> None:
    stream = io.StringIO()
    with open_console(stream) as console:
        console.emit(STARTED)
        console.emit(decided(1))
    assert "\x1b" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 2


def test_in_a_terminal_the_state_is_drawn_below_the_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    with open_console(stream) as console:
        for event in (STARTED, ROLLOUT, *[attempt()] * 3, decided(1), ROLLOUT.model_copy(update={"step": 2})):
            console.emit(event)
        console.emit(CallFinished(role="target", error="HTTP 500: [oops]"))
    text = _CODES.sub("", stream.getvalue())
    assert "step 1/4 accepted: candidate 0.5 > current 0.4\n" in text
    assert "step 1/4 rollout: " not in text
    assert "step 2/4 rollout" in text
    assert "0/10" in text
    assert "validation 0.500" in text
    assert "1 call, 0 tokens" in text
    assert "last call failed: target: HTTP 500: [oops]" in text


def drawn(width: int, *events: Event, clock: Clock | None = None) -> list[str]:
    """The live lines of a terminal of that width."""
    progress, stream = Progress(clock or Clock()), Terminal()
    for event in events:
        progress.take(event)
    RichConsole(file=stream, width=width, no_color=True, force_terminal=True).print(status(progress))
    return _CODES.sub("", stream.getvalue()).splitlines()


def busy() -> tuple[Event, ...]:
    """A run with long numbers, in the middle of a batch."""
    call = CallFinished(role="target", usage=Usage(input_tokens=1_234_567, output_tokens=54_321), usd=12.3456)
    failed = attempt().model_copy(update={"hard": 0.0})
    spent = SpendChanged(calls=123_456, tokens=45_678_901, usd=123.45)
    batch = [attempt(), attempt(), failed, attempt(outcome="void").model_copy(update={"hard": None})]
    long = STARTED.model_copy(update={"name": "a-name-of-a-run-that-somebody-made-much-too-long"})
    error = CallFinished(role="optimizer", error="HTTP 500: " + "no " * 60, usd=0.0)
    return long, ROLLOUT, *[call] * 20, decided(1, tasks=48, tried=48, solved=13), spent, *batch, error


@pytest.mark.parametrize("width", [80, 60, 20])
def test_no_live_line_is_wider_than_the_terminal(width: int) -> None:
    lines = drawn(width, *busy())
    assert len(lines) == 4
    assert max(map(cell_len, lines)) <= width


def test_batch_accuracy_and_cost_are_seen_at_80_columns() -> None:
    clock = Clock()
    progress = [STARTED.model_copy(update={"steps": 0}), ROLLOUT]
    lines = drawn(80, *progress, *busy()[2:], clock=clock)
    assert "  4/10, 67% solved, 1 errored" in lines[0]
    assert "$123.45" in lines[2]
    clock, shown = Clock(), Progress()
    shown = Progress(clock)
    for event in progress:
        shown.take(event)
    clock.now = 20
    for event in [CallFinished(role="target", usd=0.01)] * 10:
        shown.take(event)
    stream = Terminal()
    RichConsole(file=stream, width=80).print(status(shown))
    assert "0:20 elapsed  10 calls, 0 tokens, $0.10" in stream.getvalue()


def test_the_bar_shows_without_colours_and_in_ascii() -> None:
    line = drawn(80, STARTED, ROLLOUT, *[attempt()] * 5)[0]
    assert "█" * 15 + "░" * 15 in line
    progress = Progress()
    for event in (STARTED, ROLLOUT, *[attempt()] * 5):
        progress.take(event)
    raw = io.BytesIO()
    ascii_only = io.TextIOWrapper(raw, encoding="ascii")
    RichConsole(file=ascii_only, width=80).print(status(progress))
    ascii_only.flush()
    assert b"#" * 15 + b"." * 15 in raw.getvalue()


def test_lines_that_stay_are_broken_between_words_below_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    with open_console(stream) as console:
        console.emit(STARTED)
        console.emit(decided(1, reason="kept 2 of 4 edits; 2 of 5 failed tasks now pass"))
    text = _CODES.sub("", stream.getvalue())
    assert "   0:00  step 1/4 accepted: kept 2 of 4 edits; 2 of 5 failed\n" in text
    assert "\r         tasks now pass\n" in text


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with open_console(stream) as console:
        console.emit(STARTED)
    assert stream.getvalue() == "   0:00  starting run 'first' in runs/first: 2 epochs, 4 steps\n"


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "0:00"), (62, "1:02"), (3909, "1:05:09")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@rows(("count", "text"), [(950, "950"), (9999, "9,999"), (12345, "12k"), (3_400_000, "3.4M")])
def test_large_counts_are_short(count: int, text: str) -> None:
    assert short(count) == text
