"""The summary says how often training attempts turn out otherwise with nothing changed, and what that costs."""

import random

import pytest

from etude.events import AttemptFinished
from etude.records import Split
from etude.records.summary import Noise
from etude.report import TrainingAttempts


def finished(
    task: str, trial: int, hard: float | None, *, skill: str = "s", split: Split = "train"
) -> AttemptFinished:
    return AttemptFinished(
        attempt=f"a-{task}{skill}{trial}", task=task, skill=skill, trial=trial, split=split, outcome="", hard=hard
    )


def counted(*events: AttemptFinished) -> Noise | None:
    """What is counted, in any order and with each attempt told of twice, as where a run goes on."""
    attempts, told = TrainingAttempts(), [*events, *events]
    random.Random(1).shuffle(told)
    for event in told:
        attempts.emit(event)
    return attempts.noise()


def test_attempts_at_the_same_task_with_the_same_skill_are_counted_by_what_the_first_two_came_to() -> None:
    assert counted(
        *(finished("regained", trial, hard) for trial, hard in enumerate((0, 1, 1))),
        *(finished("steady", trial, hard) for trial, hard in enumerate((0, 0, 1))),
        *(finished("lost", trial, hard) for trial, hard in enumerate((1, 0.5))),
        *(finished("solved", trial, 1) for trial in range(2)),
        finished("once", 0, 0),
    ) == Noise(failed=2, regained=1, passed=2, lost=1, again=6, attempts=11)


def test_another_skill_another_split_and_an_attempt_without_a_score_repeat_nothing() -> None:
    assert (
        counted(
            finished("a", 0, 0),
            finished("a", 0, 1, skill="better"),
            finished("b", 0, 0, split="val"),
            finished("b", 1, 1, split="val"),
            finished("c", 0, 0),
            finished("c", 1, None),
        )
        is None
    )


AGAIN = "when tried again with nothing changed"
REPEATS = "70 of 300 training attempts were such repeats"


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        ((40, 3, 40, 3), []),
        ((9, 9, 9, 9), []),
        ((40, 4, 9, 9), [f"4 of 40 tasks that had failed passed {AGAIN}", REPEATS]),
        (
            (40, 13, 12, 2),
            [
                f"13 of 40 tasks that had failed passed {AGAIN}",
                f"2 of 12 tasks that had passed failed {AGAIN}",
                REPEATS,
            ],
        ),
    ],
    ids=["little", "too few to tell", "one in ten", "both ways"],
)
def test_noise_is_mentioned_where_one_attempt_in_ten_turns_out_otherwise(
    counts: tuple[int, int, int, int], parts: list[str]
) -> None:
    failed, regained, passed, lost = counts
    noise = Noise(failed=failed, regained=regained, passed=passed, lost=lost, again=70, attempts=300)
    assert noise.note == "; ".join(parts)
