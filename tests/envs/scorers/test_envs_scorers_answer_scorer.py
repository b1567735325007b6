from collections.abc import Sequence

import pytest

from etude.envs.scorers.answer_scorer import accepted, make_scorer, shorten
from etude.envs.scorers.text import Exact
from etude.errors import ConfigError, DataError
from etude.protocols import Scorer
from etude.records import Score, Task, Trajectory
from etude.registry import BUILT_IN


class Bare(Scorer):
    name = "bare"

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        return Score(hard=1, soft=1)


class Judge:
    async def ask(self, messages: Sequence[object], reply_type: type) -> object:
        raise AssertionError("not asked")


@pytest.mark.parametrize("name", sorted(BUILT_IN["scorers"]))
def test_every_built_in_scorer_can_be_made_by_its_name(name: str) -> None:
    spec = {"name": name, "rubric": "good"} if name == "rubric" else name
    assert make_scorer(spec, "scorer", Judge).name == name


def test_settings_stand_beside_the_name() -> None:
    scorer = make_scorer({"name": "exact", "punctuation": True}, "scorer")
    assert isinstance(scorer, Exact)
    assert scorer.options.punctuation


def test_own_scorers_are_found_by_import_path() -> None:
    with pytest.raises(ConfigError, match=r"has no `from_options\(options, where, judge\)`"):
        make_scorer(f"{__name__}:Bare", "scorer")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exakt", "unknown scorer 'exakt'\nhint: did you mean 'exact'"),
        ({"casefold": True}, "s: a scorer needs a name, found None"),
        ({"name": "f1", "casefolding": True}, "s 'f1': unknown key 'casefolding'\nhint: did you mean 'casefold'?"),
        ({"name": "numeric", "abs_tol": -1}, "s 'numeric': abs_tol = -1: "),
    ],
)
def test_a_wrong_spec_is_an_error_that_says_where(spec: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_scorer(spec, "s")
    assert str(caught.value).startswith(message)


class Lenient(Exact):
    def compare(self, task: Task, answer: str) -> Score:
        return Score(hard=1, soft=1)


class Strict(Exact):
    def compare(self, task: Task, answer: str) -> Score:
        return Score(hard=0, soft=0)


def test_scores_of_an_own_scorer_are_not_taken_for_those_of_another() -> None:
    assert len({kind().fingerprint() for kind in (Exact, Lenient, Strict)}) == 3
    assert Lenient().fingerprint() == Lenient().fingerprint()


def test_gold_may_be_text_number_or_several() -> None:
    golds = ["x", 5, 1.5, True, ["a", 2, None]]
    assert [accepted(Task(id="t", input="i", gold=gold)) for gold in golds] == [
        ("x",),
        ("5",),
        ("1.5",),
        ("true",),
        ("a", "2"),
    ]


@pytest.mark.parametrize(
    ("gold", "message"), [(None, "has no gold answer"), ([], "has no gold"), ({"a": 1}, "neither")]
)
def test_gold_that_cannot_be_compared_as_text_is_an_error(gold: object, message: str) -> None:
    with pytest.raises(DataError, match=f"task 't'.*{message}"):
        accepted(Task(id="t", input="i", gold=gold))


def test_long_texts_lose_their_middle() -> None:
    assert shorten("abc", 20) == "abc"
    assert shorten("a" * 50 + "b" * 50, 21) == "a" * 8 + " ... " + "b" * 8
    assert len(shorten("a" * 1000)) == 500
