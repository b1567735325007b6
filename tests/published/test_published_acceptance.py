"""An accepted skill becomes the current one, and the best one where it is better."""

import pytest
from stages_doubles import evaluation

from etude.config import GateSection
from etude.published.acceptance import accept
from etude.records import Evaluation, Score, Skill, TrainState

OLD, NEW = Skill(text="old"), Skill(text="new")
START = TrainState(step=3, current=OLD, best=OLD, current_val=evaluation({"x": 0.5}), best_val=evaluation({"x": 0.5}))


def test_a_better_skill_becomes_current_and_best() -> None:
    val = evaluation({"x": 0.75}, "new")
    state = accept(START, NEW, val, GateSection())
    assert (state.current, state.current_val, state.best, state.best_val) == (NEW, val, NEW, val)


def test_the_metric_of_the_gate_decides_what_is_best() -> None:
    val = Evaluation(skill_hash=NEW.hash, split="val", scores={"x": (Score(hard=0, soft=1),)})
    assert accept(START, NEW, val, GateSection(metric="hard")).best == OLD
    assert accept(START, NEW, val, GateSection(metric="soft")).best == NEW


@pytest.mark.parametrize("best_val", [None, evaluation({"x": None})])
def test_any_measured_skill_beats_one_without_a_score(best_val: Evaluation | None) -> None:
    start = START.model_copy(update={"best_val": best_val})
    assert accept(start, NEW, evaluation({"x": 0.0}, "new"), GateSection()).best == NEW


def test_a_skill_without_a_score_is_never_best() -> None:
    assert accept(START, NEW, evaluation({}, "new"), GateSection()).best == OLD
