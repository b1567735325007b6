import pytest

from etude.envs.scorers.answer_scorer import accepted, make_scorer
from etude.errors import ConfigError, DataError
from etude.protocols import Scorer
from etude.records import Score, Task, Trajectory


class Bare(Scorer):
    name = "bare"

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        return Score(hard=1, soft=1)


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


@pytest.mark.parametrize(
    ("gold", "message"), [(None, "has no gold answer"), ([], "has no gold"), ({"a": 1}, "neither")]
)
def test_gold_that_cannot_be_compared_as_text_is_an_error(gold: object, message: str) -> None:
    with pytest.raises(DataError, match=f"task 't'.*{message}"):
        accepted(Task(id="t", input="i", gold=gold))
