"""The scorer `words-in-place`."""

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted
from etude.records import Score, Task


class PlaceOptions(Section):
    """Options of the scorer, next to its name in `env.scorer`."""

    casefold: bool = True
    """Ignore case."""


class WordsInPlace(AnswerScorer):
    """soft is the share of words in their right place, hard 1 when all are."""

    name = "words-in-place"
    options_type = PlaceOptions

    def __init__(self, options: PlaceOptions | None = None) -> None:
        self.options = options if options is not None else PlaceOptions()
        super().__init__(self.options)

    def compare(self, task: Task, answer: str) -> Score:
        """Score one answer. The feedback is all that the optimizer learns about the right one."""
        scores = [self._one(gold.split(), answer.split()) for gold in accepted(task)]
        return max(scores, key=lambda score: score.soft)

    def _one(self, want: list[str], got: list[str]) -> Score:
        if self.options.casefold:
            want, got = [word.casefold() for word in want], [word.casefold() for word in got]
        right = sum(one == other for one, other in zip(want, got, strict=False))
        share = right / max(len(want), len(got), 1)
        feedback = f"{right} of {len(want)} words in place; expected: {' '.join(want)}; got: {' '.join(got)[:200]}"
        return Score(hard=float(share == 1), soft=share, feedback=feedback[:500])
