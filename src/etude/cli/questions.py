"""What a person is asked in files (`handoff:`): which questions, and waiting for their answers."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from etude.errors import HandoffStop
from etude.models.handoff import Waiting, waiting
from etude.readable import counted

SECONDS = 1.0
"""How often a command that waits looks for answers. They count once they have stayed the same for so long: whoever
writes them may not have finished."""
_SHOWN = 5
"""Most questions that are named."""


def asked(stop: HandoffStop) -> tuple[Waiting, ...]:
    """The questions that a run stopped for; none where it does not say in which folder they are."""
    return waiting(Path(stop.folder)) if stop.folder else ()


def told(questions: Sequence[Waiting], place: str) -> str:
    """What is asked, in lines: in which stage, which file is to be answered where, and how many attempts it shows."""
    head = f"{place}: {counted(len(questions), 'question')} to answer".removeprefix(": ")
    lines = [f"{one.question}{_about(one)}, answer in {one.answer}" for one in questions[:_SHOWN]]
    more = len(questions) - _SHOWN
    return "\n".join([head, *lines, *([f"and {more:,} more"] if more > 0 else [])])


async def answered(questions: Sequence[Waiting], stopped: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Wait until none of the questions waits any more: it has an answer, or its file is gone. False: `stopped` said
    so before."""
    before = None
    while not stopped():
        now = None if _open(questions) else [_written(one.answer) for one in questions]
        if now is not None and now == before:
            return True
        before = now
        await asyncio.sleep(seconds)
    return False


def _about(one: Waiting) -> str:
    return f" ({counted(one.attempts, 'attempt')})" if one.attempts else ""


def _open(questions: Sequence[Waiting]) -> bool:
    folders = {one.question.parents[1] for one in questions}
    still = {one.question for folder in folders for one in waiting(folder)}
    return any(one.question in still for one in questions)


def _written(path: Path) -> tuple[int, int] | None:
    """When a file was written, and how long it is; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
