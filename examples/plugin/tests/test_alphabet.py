"""The contracts of environments and scorers, and what is special about these two."""

from etude_alphabet.environment import Alphabet, AlphabetOptions
from etude_alphabet.scorer import PlaceOptions, WordsInPlace

from etude.records import Task, Trajectory
from etude.testing import EnvironmentContract, ScorerContract

TASK = Task(id="t", input="Sort these words alphabetically: pear Fig apple", gold="apple Fig pear")


class TestAlphabet(EnvironmentContract):
    def make_environment(self) -> Alphabet:
        return Alphabet(AlphabetOptions(tasks=20))

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=str(task.gold)), Trajectory(answer="no idea")]


class TestWordsInPlace(ScorerContract):
    def make_scorer(self) -> WordsInPlace:
        return WordsInPlace()

    def make_other_scorer(self) -> WordsInPlace:
        return WordsInPlace(PlaceOptions(casefold=False))

    def right(self) -> list[tuple[Task, str]]:
        return [(TASK, "apple Fig pear"), (TASK, " apple fig\npear")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(TASK, "Fig apple pear"), (TASK, "apple fig"), (TASK, "apple fig pear plum")]


def test_partial_credit_is_the_share_of_words_in_place() -> None:
    assert WordsInPlace().compare(TASK, "Fig apple pear").soft == 1 / 3


def test_another_seed_makes_other_tasks() -> None:
    one, other = (Alphabet(AlphabetOptions(seed=seed)).tasks("train") for seed in (1, 2))
    assert one != other
