"""Where nights may propose what is only shorter (`gate.shorter`): as good on every task, and a person decides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from test_sleep_consolidate import VAL, Optimizer, night

from etude import Task
from etude.errors import RejectedRequest
from etude.records import ChatRequest, Reply, Usage
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import Change, worst
from etude.sleep.report import reported

RULE = "Be brief."
THREE = [*VAL, Task(id="v7", input="Task 7.")]
SHORTER = {"gate": {"shorter": 0.1}}


def briefly(
    folder: Path,
    *,
    tokens: Callable[[int], int] = lambda seed: 60,
    lost: Callable[[int], bool] = lambda seed: False,
    solves: Callable[[int, bool], bool] = lambda seed, new: True,
    void: Callable[[int], bool] = lambda seed: False,
    unsolved: tuple[int, int] | None = None,
    **more: Any,
) -> Change:
    """A night with a task that nothing solves, and a rule under which answers are shorter.

    Args:
        tokens: of an answer under the rule, by the seed of the attempt; it has 100 without.
        lost: whether a task that is solved without the rule is lost under it.
        solves: whether the others are solved at all, by the seed and whether the rule is there.
        void: whether an attempt at one of them under the rule has no answer.
        unsolved: tokens of an answer to the task that nothing solves, without and with the rule.
        more: as for `night`.
    """

    def answer(request: ChatRequest) -> Reply | Exception:
        seed, new = request.seed or 0, RULE in request.messages[0].text
        asked = request.messages[-1].text
        solved = ("Task 5." in asked or "Task 6." in asked) and solves(seed, new)
        if new and "Task 6." in asked:
            if void(seed):
                return RejectedRequest("no such request 7713")
            solved = solved and not lost(seed)
        size = tokens(seed) if new else 100
        if unsolved is not None and "Task 7." in asked:
            size = unsolved[new]
        used = Usage(input_tokens=10, output_tokens=size)
        return Reply(text="yes" if solved else "no", usage=used)

    more = {"config": SHORTER, "sleep": {"memory": False, "confirm_trials": 3}, **more}
    found, _ = night(folder, bool, Optimizer(RULE), answer=answer, val=THREE, **more)
    return found.changes[0]


def test_what_is_as_good_with_fewer_tokens_is_proposed_and_a_person_decides(tmp_path: Path) -> None:
    change = briefly(tmp_path)
    assert (change.status, change.proposed, change.only_shorter) == ("accepted", True, True)
    saved = change.held_out.saved
    assert 30 < saved < 40
    assert change.reason.startswith(f"same score with {saved} fewer tokens; no task does worse in fresh attempts")
    assert (change.verdict, worst([change])) == ("inconclusive", "inconclusive")
    assert change.cost is not None
    assert change.cost.answers == (100, 60)
    # No number of attempts would settle it: a person decides.
    assert change.confirmed is not None
    assert change.confirmed.settle is not None
    assert reported("learned", "SKILL.md", change, (3, 3)).settle == ""


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
        ({"tokens": lambda seed: 60 if seed < 1_000 else 100}, ", but fresh attempts show 132 -> 135 tokens"),
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
    change = briefly(tmp_path, solves=lambda seed, new: False)
    assert (change.status, change.held_out.saved) == ("rejected", 0)


@pytest.mark.parametrize("with_the_rule", [False, True])
def test_where_fresh_attempts_with_the_old_document_solve_nothing_nothing_is_as_good(
    tmp_path: Path, with_the_rule: bool
) -> None:
    change = briefly(tmp_path, solves=lambda seed, new: seed < 1_000 or (new and with_the_rule))
    assert (change.status, change.proposed) == ("rejected", False)
    assert change.reason.endswith(
        ", but fresh attempts with the old document solve nothing, so nothing can be as good"
    )


@pytest.mark.parametrize(("seeds", "told"), [((1_001,), "1"), ((1_001, 1_002), "2")])
def test_a_fresh_attempt_without_a_score_is_not_as_good(tmp_path: Path, seeds: tuple[int, ...], told: str) -> None:
    config = {**SHORTER, "limits": {"max_void_eval": 0.5}}
    change = briefly(tmp_path, config=config, void=lambda seed: seed in seeds)
    assert (change.status, change.proposed) == ("rejected", False)
    assert change.reason.endswith(f", but fresh attempts that errored: {told}")


def test_where_a_person_answers_nothing_is_taken_for_as_good(tmp_path: Path) -> None:
    change = briefly(tmp_path, target_name="handoff:me")
    assert (change.status, change.proposed, change.held_out.saved) == ("rejected", False, 0)


def test_answers_to_unsolved_tasks_save_nothing(tmp_path: Path) -> None:
    """A long answer to the task that nothing solves becomes a short one, and all others stay as they are."""
    change = briefly(tmp_path, tokens=lambda seed: 100, unsolved=(1_000, 1))
    assert (change.status, change.held_out.saved) == ("rejected", 0)


def test_without_fresh_attempts_nothing_is_taken_for_as_good() -> None:
    with pytest.raises(ValidationError, match=r"gate\.shorter needs fresh attempts, and sleep\.confirm_trials is 0"):
        SleepConfig.model_validate({**SHORTER, "sleep": {"confirm_trials": 0}})
