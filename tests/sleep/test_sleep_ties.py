"""Where nights may propose what is only shorter (`gate.shorter`): as good on every task, and a person decides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from test_sleep_carry import a_night
from test_sleep_consolidate import VAL, Optimizer

from skillgrad import Task
from skillgrad.records import ChatRequest, Reply, Usage
from skillgrad.sleep.changes import Change, worst
from skillgrad.sleep.config import SleepConfig

RULE = "Be brief."
THREE = [*VAL, Task(id="v7", input="Task 7.")]
SHORTER = {"gate": {"shorter": 0.1}}


def briefly(
    folder: Path,
    *,
    tokens: Callable[[int], int] = lambda seed: 60,
    lost: Callable[[int], bool] = lambda seed: False,
    config: dict[str, Any] | None = None,
    solves: Callable[[str], bool] = lambda asked: "Task 5." in asked or "Task 6." in asked,
) -> Change:
    """A night with a task that nothing solves, and a rule under which answers are shorter.

    Args:
        tokens: of an answer under the rule, by the seed of the attempt; it has 100 without.
        lost: whether a task that is solved without the rule is lost under it.
        solves: whether a task is solved at all.
    """

    def answer(request: ChatRequest) -> Reply:
        seed, new = request.seed or 0, RULE in request.messages[0].text
        asked = request.messages[-1].text
        solved = solves(asked)
        if new and "Task 6." in asked and lost(seed):
            solved = False
        used = Usage(input_tokens=10, output_tokens=tokens(seed) if new else 100)
        return Reply(text="yes" if solved else "no", usage=used)

    return a_night(
        folder,
        answer=answer,
        val=THREE,
        optimizer=Optimizer(RULE),
        sleep={"memory": False, "confirm_trials": 3},
        config=SHORTER if config is None else config,
    )


def test_what_is_as_good_with_fewer_tokens_is_proposed_and_a_person_decides(tmp_path: Path) -> None:
    change = briefly(tmp_path)
    assert (change.status, change.proposed, change.only_shorter) == ("accepted", True, True)
    saved = change.held_out.saved
    assert 30 < saved < 40
    assert change.reason.startswith(f"as good with {saved} fewer tokens; no task does worse in fresh attempts")
    assert (change.verdict, worst([change])) == ("inconclusive", "inconclusive")
    assert change.cost is not None
    assert change.cost.answers == (100, 60)
    assert (change.carried, change.tested) == (None, ())


def test_unless_it_is_asked_for_shorter_is_no_reason(tmp_path: Path) -> None:
    change = briefly(tmp_path, config={})
    assert (change.status, change.proposed, change.held_out.saved) == ("rejected", False, 0)


def test_racing_does_not_give_up_what_may_be_as_good(tmp_path: Path) -> None:
    change = briefly(tmp_path, config={"gate": {"shorter": 0.1, "racing": True}})
    assert (change.status, change.only_shorter) == ("accepted", True)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"lost": lambda seed: seed == 1_001}, ", but 'v6' does worse in fresh attempts"),
        ({"tokens": lambda seed: 60 if seed < 1_000 else 100}, ", but fresh attempts show 134 -> 137 tokens"),
    ],
)
def test_fresh_attempts_have_to_bear_it_out(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    change = briefly(tmp_path, **more)
    assert (change.status, change.proposed) == ("rejected", False)
    assert change.reason.endswith(why)


@pytest.mark.parametrize("more", [{"lost": lambda seed: seed < 1_000}, {"tokens": lambda seed: 90}])
def test_a_lower_task_or_a_smaller_saving_is_no_tie(tmp_path: Path, more: dict[str, Any]) -> None:
    change = briefly(tmp_path, **more)
    assert (change.status, change.held_out.saved) == ("rejected", 0)
    assert change.confirmed is None


def test_where_nothing_is_solved_nothing_is_as_good(tmp_path: Path) -> None:
    change = briefly(tmp_path, solves=lambda asked: False)
    assert (change.status, change.held_out.saved) == ("rejected", 0)


def test_answers_to_unsolved_tasks_save_nothing(tmp_path: Path) -> None:
    """Only those to the tasks that are solved count, and one of these fails under the rule at the gate."""
    change = briefly(tmp_path, tokens=lambda seed: 1, lost=lambda seed: seed < 1_000)
    assert (change.status, change.held_out.saved) == ("rejected", 0)


def test_without_fresh_attempts_nothing_is_taken_for_as_good() -> None:
    with pytest.raises(ValidationError, match=r"gate\.shorter needs fresh attempts, and sleep\.confirm_trials is 0"):
        SleepConfig.model_validate({**SHORTER, "sleep": {"confirm_trials": 0}})
