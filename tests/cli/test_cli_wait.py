"""A command that asks a person in files: what it says, and waiting for the answers with `--wait`."""

import asyncio
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.cli.watch import answered
from etude.config import ModelSection
from etude.errors import HandoffStop
from etude.models.handoff import HandoffModel, waiting
from etude.records import ChatRequest, user
from handoff_answers import answer_open

Captured = pytest.CaptureFixture[str]
SMALL = ["--train.epochs", "1", "--test.enabled", "false", "--optimizer.model", "handoff:asked"]
SMALL += ["--env.limit={train: 12, val: 6, test: 5}"]


def a_question(folder: Path, text: str = "Which colour has the sky?") -> None:
    """A question that waits in the folder."""
    with pytest.raises(HandoffStop):
        asyncio.run(a_model(folder).complete(ChatRequest(messages=(user(text),))))


def a_model(folder: Path) -> HandoffModel:
    return HandoffModel(str(folder), ModelSection(model=f"handoff:{folder}"), settled=0.02)


@contextmanager
def somebody_who_answers(folder: Path) -> Generator[None]:
    """Answers all that is asked in the folder, from the first time on that a run stops for it."""
    done = threading.Event()

    def answer() -> None:
        while not done.is_set():
            if (folder / "answers").is_dir():
                answer_open(folder)
            time.sleep(0.1)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_run_that_stops_says_in_which_stage_what_is_asked_and_where_the_answer_belongs(
    fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", str(fresh_project / "etude.yaml"), *SMALL]) == 3
    err = capsys.readouterr().err
    first = waiting(Path("asked"))[0]
    assert "step 1 reflect: " in err
    assert f"{first.question} ({first.attempts} attempts), answer in {first.answer}" in err
    assert first.attempts > 1


def test_with_wait_the_command_goes_on_when_the_answers_are_there(fresh_project: Path, capsys: Captured) -> None:
    with somebody_who_answers(Path("asked")):
        assert main(["train", str(fresh_project / "etude.yaml"), *SMALL, "--wait"]) == 0
    out, err = capsys.readouterr()
    assert "resuming run 'demo'" in err
    assert "error:" not in err
    assert "best" in out
    assert waiting(Path("asked")) == ()


def test_a_command_that_is_stopped_while_it_waits_ends_with_its_question(here: Path) -> None:
    a_question(here)
    questions = waiting(here)
    assert not asyncio.run(answered(questions, lambda: True, 0.01))


def test_an_answer_that_is_being_written_is_not_read_yet(here: Path) -> None:
    a_question(here)
    (question,) = waiting(here)
    looks: list[str] = []

    def written() -> bool:
        """Writes a piece at each of the first three looks."""
        looks.append("word ")
        if len(looks) <= 3:
            question.answer.write_text("".join(looks))
        return len(looks) > 20

    assert asyncio.run(answered((question,), written, 0.01))
    assert len(looks) == 4


def test_a_question_whose_file_is_gone_is_not_waited_for(here: Path) -> None:
    a_question(here)
    questions = waiting(here)
    questions[0].question.unlink()
    assert asyncio.run(answered(questions, lambda: False, 0.01))


def test_a_night_for_nobody_does_not_wait_for_somebody(here: Path, capsys: Captured) -> None:
    assert main(["sleep", "run", "--wait", "--unattended"]) == 2
    assert "--wait is for a person who answers, and --unattended for nobody" in capsys.readouterr().err
