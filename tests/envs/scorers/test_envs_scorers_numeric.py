import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.numeric import Numeric, NumericOptions, read_number
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract


def task(gold: object) -> Task:
    return Task(id="t", input="i", gold=gold)


class TestNumeric(ScorerContract):
    def make_scorer(self) -> Numeric:
        return Numeric()

    def make_other_scorer(self) -> Numeric:
        return Numeric(NumericOptions(abs_tol=0.5))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task(72), "The answer is $72.00."),
            (task("so\n#### 1,000"), "1000"),
            (task([1, "2"]), "2"),
            (task(0), "0.0"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task(72), "73"), (task(72), "seventy-two"), (task(5), "-5"), (task(1_000_000), "1000001")]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18", 18),
        ("it costs $1,234.50.", 1234.5),
        ("\u22125", -5),
        ("$-5", -5),
        ("-$5", -5),
        ("10-20", 20),
        ("- 18 apples", 18),
        ("45%", 45),
        ("\\$18\\%", 18),
        ("1e-3", 0.001),
        ("3.2\u00d710^5", 320000),
        ("3.2 \\times 10^{-5}", 3.2e-05),
        ("\\boxed{42}", 42),
        (".5", 0.5),
        ("1,2345", 2345),
        ("first 9\n#### 72 apples and 3 pears", 72),
        ("#### 5 #### 6", 6),
        ("7 ####", 7),
        ("H2O", None),
        ("v1.2.3", None),
        ("", None),
        ("####", None),
        ("1e999", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert read_number(text) == number


def test_percent_may_be_read_as_a_fraction() -> None:
    assert read_number("45%", "fraction") == 0.45
    assert Numeric(NumericOptions(percent="fraction")).compare(task("0.45"), "45 %").hard == 1


def test_tolerances_are_absolute_or_relative() -> None:
    assert Numeric(NumericOptions(abs_tol=0.01)).compare(task(3.14159), "3.14").hard == 1
    assert Numeric(NumericOptions(rel_tol=0.01)).compare(task(1000), "1005").hard == 1
    assert Numeric(NumericOptions(rel_tol=0.001)).compare(task(1000), "1005").hard == 0


def test_feedback_shows_the_numbers_that_were_compared() -> None:
    assert Numeric().compare(task("#### 1,000"), "so it is 1,001").feedback == "expected: 1000; got: 1001"
    assert "the answer holds no number" in Numeric().compare(task(1), "no").feedback


def test_gold_without_a_number_is_an_error() -> None:
    with pytest.raises(DataError, match="task 't': gold 'five' holds no number"):
        Numeric().compare(task("five"), "5")


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_every_number_python_writes_is_read_back(real: float, whole: int) -> None:
    assert read_number(f"so {real!r}") == real
    if abs(whole) < 10**300:
        assert read_number(f"{whole:,}") == float(whole)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789.,-+$%eE#x^*{}\\ ", max_size=60))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    read_number(text)
