"""The contract of scorers. Inherit it in a test class and say how to make one."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence

from etude.protocols import Scorer
from etude.records import Score, Task, Trajectory

LONGEST_FEEDBACK = 600
ODD_ANSWERS = ("", " \n\t", "\x00", "\U0001f600 \u0661\u0662", "((([[[{{{", "\\" * 50, "9" * 5000, "word " * 5000)


class ScorerContract:
    """What every scorer must do.

    class TestMine(ScorerContract):
        def make_scorer(self): return MyScorer(strict=True)
        def make_other_scorer(self): return MyScorer(strict=False)
        def right(self): return [(Task(id="1", input="2 + 2", gold="4"), "4")]
        def wrong(self): return [(Task(id="1", input="2 + 2", gold="4"), "5")]
    """

    @abstractmethod
    def make_scorer(self) -> Scorer:
        """A new scorer with the same settings each time."""
        raise NotImplementedError

    @abstractmethod
    def make_other_scorer(self) -> Scorer:
        """A scorer with settings that can lead to other scores."""
        raise NotImplementedError

    @abstractmethod
    def right(self) -> Sequence[tuple[Task, str]]:
        """Tasks with answers that get full marks."""
        raise NotImplementedError

    @abstractmethod
    def wrong(self) -> Sequence[tuple[Task, str]]:
        """Tasks with answers that do not."""
        raise NotImplementedError

    def test_right_answers_get_full_marks(self) -> None:
        for task, answer in self.right():
            score = _score(self.make_scorer(), task, answer)
            assert (score.hard, score.soft) == (1, 1), (task, answer, score)

    def test_wrong_answers_are_not_solved_and_the_feedback_says_something_short(self) -> None:
        for task, answer in self.wrong():
            score = _score(self.make_scorer(), task, answer)
            assert score.hard < 1, (task, answer, score)
            assert 0 < len(score.feedback) <= LONGEST_FEEDBACK, (task, answer, score)

    def test_feedback_never_tells_a_pattern(self) -> None:
        scorer = self.make_scorer()
        for task, answer in self.wrong():
            feedback = _score(scorer, task, answer).feedback
            assert not [pattern for pattern in scorer.patterns(task) if pattern in feedback], (task, answer, feedback)

    def test_no_answer_is_too_odd_to_be_scored(self) -> None:
        scorer = self.make_scorer()
        task, _ = self.right()[0]
        for answer in ODD_ANSWERS:
            assert len(_score(scorer, task, answer).feedback) <= LONGEST_FEEDBACK

    def test_an_empty_answer_does_not_solve_a_task(self) -> None:
        task, _ = self.right()[0]
        assert _score(self.make_scorer(), task, "").hard < 1

    def test_the_same_answer_gets_the_same_score_from_another_scorer_object(self) -> None:
        for task, answer in [*self.right(), *self.wrong()]:
            stored = Task.model_validate_json(task.model_dump_json())
            assert _score(self.make_scorer(), task, answer) == _score(self.make_scorer(), stored, answer)

    def test_the_fingerprint_tells_settings_apart(self) -> None:
        assert self.make_scorer().fingerprint() == self.make_scorer().fingerprint()
        assert self.make_scorer().fingerprint() != self.make_other_scorer().fingerprint()


def _score(scorer: Scorer, task: Task, answer: str) -> Score:
    score = asyncio.run(scorer.score(task, Trajectory(answer=answer)))
    assert Score.model_validate_json(score.model_dump_json()) == score
    return score
