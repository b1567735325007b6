import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.numeric import Numeric, NumericOptions, read_number
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract
from rows import few, rows


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


@rows(
    ("text", "number"),
    [
        ("18", 18),
        ("it costs $1,234.50.", 1234.5),
        ("-$5", -5),
        ("\\$18\\%", 18),
        ("3.2\u00d710^5", 320000),
        ("first 9\n#### 72 apples and 3 pears", 72),
        ("7 ####", 7),
        ("H2O", None),
        ("v1.2.3", None),
        ("1e999", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert read_number(text) == number


@rows(
    ("text", "number"),
    [
        (r"so $-\dfrac12$", -0.5),
        ("\u00bd cup", 0.5),
        ("2 1/2", 2.5),
        ("2\u00bd", 2.5),
        (r"-2\tfrac{1}{2}", -2.5),
        ("10^2", 100),
        ("10\u207b\u00b3", 0.001),
        ("1.5 \u00d7 10\u00b3", 1500),
        (r"6\cdot10^{23}", 6e23),
        ("1\u00a0000,5", 1000.5),
        (r"1\,000", 1000),
        ("1'000", 1000),
        ("1.000.000", 1_000_000),
        ("1.234.567,89", 1234567.89),
        ("12,34,567", 1234567),
        (r"\boxed{x = \frac{1}{2}}, as in 3", 0.5),
        (r"\boxed{12\text{ cm}^2}", 12),
        ("minus 5", -5),
        ("negative $5", -5),
        ("- 5", -5),
        ("the answer is \u2212 5.", -5),
        ("\uff14\uff12", 42),
        ("it costs 5 per cent", 5),
        ("In 2020, 15 people", 15),
        ("Tom has 5 and Jerry has 8", 8),
        ("<b>5</b>", 5),
        ("<5>", 5),
        (r"\color{red}{5}", 5),
        ("5 million", 5e6),
        ("$1.5 Billion dollars", 1.5e9),
        ("5 hundred thousand", 500_000),
        ("-2 trillion", -2e12),
        ("6 \u00f7 2 = 3", 3),
        ("0.5 (50%)", 0.5),
        (r"\frac{1}{2} (0.5)", 0.5),
        ("10 m (32.8 ft)", 10),
        ("#### 7 days (1 week)", 7),
    ],
)
def test_numbers_are_read_in_other_forms(text: str, number: float) -> None:
    assert read_number(text) == pytest.approx(number, rel=1e-12)


@rows(
    "text",
    [
        "5 to 10",
        "between 5 and 10",
        "5..10",
        "5 kg or maybe 6 kg",
        "x = 5 or x = 6",
        "5, 6",
        "(1,5)",
        r"\boxed{1} or $\boxed{2}$",
        r"\boxed{\text{none}}, not 5",
        "10 minus 5",
        "5 of 10",
        "12/25/1937",
        "(-2)^3",
        r"2\sqrt{3}",
        r"3\pi",
        "10^500",
        r"\boxed{\frac{\pi}{2}}",
        r"\frac{2}{x}",
        r"3\frac{x}{2}",
        r"2\theta",
        r"\log_2 3",
        r"$\log_{2}(3)$",
        "10 plus 5",
        "x < 5",
        "5 > x",
        r"x \lt 5",
        r"x \geqslant 5",
        "more than $5",
        "at least 5",
        "5 or more",
        "5+",
        "not 5",
        "5 dozen",
        "5k",
        "5K",
        "5 bn",
        "5 Millionen",
        "5 hundredths",
        "5 and a half",
        "5 squared",
        "5 to 10 million",
        "2 million 300 thousand",
        "2h30",
        "5 feet 10 inches",
        "5 lb 3 oz",
        "5 (10)",
        "#### 5 (10)",
        r"0.\overline{3}",
        "0.(3)",
        "0.3\u0305",
    ],
)
def test_what_could_be_several_values_or_a_part_of_one_is_no_number(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize("gold", ["1/2", "2\u00bd", "x = 0.5", "42 m^2"])
def test_a_gold_of_one_value_accepts_itself(gold: str) -> None:
    assert Numeric().compare(task(gold), gold).hard == 1


@pytest.mark.parametrize("gold", ["x/2", r"\pi/2", "less than 5", "5 dozen", "\u00b15", "1e999"])
def test_a_gold_that_is_not_one_value_is_an_error(gold: str) -> None:
    with pytest.raises(DataError, match="does not read as one number"):
        Numeric().compare(task(gold), "5")


def test_a_fraction_is_its_value_and_not_one_of_its_parts() -> None:
    assert Numeric().compare(task("1/2"), "0.5").hard == 1
    assert Numeric().compare(task("1/2"), "2").hard == 0
    assert Numeric().compare(task("2"), "1/2").hard == 0


@pytest.mark.parametrize(
    "odd",
    few(
        [
            "1 ",
            "1,",
            "1.",
            "1/",
            "- ",
            r"\frac{1",
            r"\boxed{",
            "1 or ",
            r"\text{",
            "9",
            "\u00bd",
            " ",
            "1<a =",
            "5 million ",
            "x+1 ",
        ],
        first=5,
    ),
)
def test_the_time_to_read_a_number_grows_with_the_length_only(odd: str) -> None:
    # Ends within moments, or, should something be quadratic, not for many minutes.
    read_number(odd * 300_000)


def test_percent_may_be_read_as_a_fraction() -> None:
    assert read_number("45%", "fraction") == 0.45
    assert Numeric(NumericOptions(percent="fraction")).compare(task("0.45"), "45 %").hard == 1


def test_tolerances_are_absolute_or_relative() -> None:
    assert Numeric(NumericOptions(abs_tol=0.01)).compare(task(3.14159), "3.14").hard == 1
    assert Numeric(NumericOptions(rel_tol=0.01)).compare(task(1000), "1005").hard == 1
    assert Numeric(NumericOptions(rel_tol=0.001)).compare(task(1000), "1005").hard == 0


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
