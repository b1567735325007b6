"""The rubric scorer on a list of criteria: each is decided on by itself."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.records import Criterion, Message, Score, Task, Trajectory

TASK = Task(id="t", input="Write a poem.", data={"wanted": ["It rhymes.", "It has four lines.", "It is sad."]})


class Decides:
    """Finds as given, in the order of the numbers given."""

    def __init__(self, *found: tuple[int, bool]) -> None:
        self.found = found
        self.asked: list[Sequence[Message]] = []

    async def ask(self, messages: Sequence[Message], reply_type: type[Any]) -> Any:
        self.asked.append(messages)
        findings = [{"criterion": number, "evidence": f"line {number}", "met": met} for number, met in self.found]
        return reply_type.model_validate({"findings": findings})


async def judged(judge: Decides, task: Task = TASK, **options: Any) -> Score:
    return await Rubric(RubricOptions(column="wanted", **options), lambda: judge).score(
        task, Trajectory(answer="Oh.")
    )


async def test_soft_is_the_share_met_and_feedback_names_what_is_open_with_its_evidence() -> None:
    judge = Decides((3, True), (1, True), (2, False))
    score = await judged(judge)
    assert (score.hard, score.soft) == (1, pytest.approx(2 / 3))
    assert score.feedback == "2 of 3 criteria met; not met: It has four lines. (line 2)"
    assert score.criteria[1] == Criterion(text="It has four lines.", met=False, evidence="line 2")
    assert [each.met for each in score.criteria] == [True, False, True]
    assert len(judge.asked) == 1
    assert "1. It rhymes.\n2. It has four lines.\n3. It is sad." in judge.asked[0][1].text


async def test_a_threshold_of_1_asks_for_all_of_them() -> None:
    assert (await judged(Decides((1, True), (2, True), (3, False)), threshold=1)).hard == 0
    assert (await judged(Decides((1, True), (2, True), (3, True)), threshold=1)).hard == 1


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 2), (1, 2, 4), ()])
async def test_a_reply_that_leaves_a_criterion_out_is_none(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="one entry for each criterion, numbered 1 to 3"):
        await judged(Decides(*((number, True) for number in numbers)))
