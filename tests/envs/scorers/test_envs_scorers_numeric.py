import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.numeric import Numeric, NumericOptions, read_number
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract
from rows import rows


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
        ("\u22125", -5),
        ("$-5", -5),
        ("-$5", -5),
        ("10-20", None),
        ("- 18 apples", 18),
        ("45%", 45),
        ("\\$18\\%", 18),
        ("1e-3", 0.001),
        ("3.2\u00d710^5", 320000),
        ("3.2 \\times 10^{-5}", 3.2e-05),
        ("\\boxed{42}", 42),
        (".5", 0.5),
        ("1,2345", 1.2345),
        ("first 9\n#### 72 apples and 3 pears", 72),
        ("#### 5 #### 6", 6),
        ("7 ####", 7),
        ("H2O", None),
        ("v1.2.3", None),
        ("", None),
        ("####", None),
        ("1e999", None),
        ("1/2", 0.5),
        ("\u22121/2", -0.5),
        (r"\frac{3}{4}", 0.75),
        (r"so $-\dfrac12$", -0.5),
        ("\u00bd cup", 0.5),
        ("2 1/2", 2.5),
        ("2\u00bd", 2.5),
        (r"-2\tfrac{1}{2}", -2.5),
        ("1\u20444", 0.25),
        ("10^2", 100),
        ("2^{10}", 1024),
        ("10**2", 100),
        ("10\u207b\u00b3", 0.001),
        ("-2^2", -4),
        ("1.5 x 10^3", 1500),
        ("1.5 \u00d7 10\u00b3", 1500),
        (r"6\cdot10^{23}", 6e23),
        ("1\u202f000\u202f000", 1_000_000),
        ("1\u00a0000,5", 1000.5),
        ("1{,}000{,}000", 1_000_000),
        (r"1\,000", 1000),
        ("1'000", 1000),
        ("1_000", 1000),
        ("1.000.000", 1_000_000),
        ("1.234.567,89", 1234567.89),
        ("12,34,567", 1234567),
        ("1,5", 1.5),
        ("0,123", 0.123),
        ("1.234", 1.234),
        (r"The result is \boxed{42} (see step 2).", 42),
        (r"\boxed{x = \frac{1}{2}}, as in 3", 0.5),
        (r"\boxed{12\text{ cm}^2}", 12),
        (r"write it in \boxed{}: 5", 5),
        (r"\boxed{1}, so" + "\n" + r"\boxed{2}", 2),
        ("#### 5 \\boxed{6}", 6),
        ("The area is 42 m^2.", 42),
        ("42 m\u00b2/s", 42),
        ("9.8 m s^{-2}", 9.8),
        ("5 kg of CO_2", 5),
        ("minus 5", -5),
        ("negative $5", -5),
        ("- 5", -5),
        ("- 3.2 \u00d7 10^5", -320000),
        ("Das Ergebnis ist - 5", -5),
        ("x = - 5", -5),
        ("the answer is \u2212 5.", -5),
        ("\u20135", -5),
        ("**42**", 42),
        ("\uff14\uff12", 42),
        ("5,00 \u20ac", 5),
        ("it costs 5 per cent", 5),
        ("In 2020, 15 people", 15),
        ("Tom has 5 and Jerry has 8", 8),
        ("200 cases - 50 cases = 150 cases", 150),
        ("Step 1: 5", 5),
        ("- 5\n- 6", 6),
        ("$x = 5$", 5),
        ("5 km", 5),
        ("5 m/s", 5),
        ("5 items/day", 5),
        ("5s", 5),
        ("300 K", 300),
        ("5 p.m.", 5),
        ("5 a day", 5),
        ("5-year-old", 5),
        ("Result - 5", 5),
        ("A/B: 5", 5),
        ("1) -5", -5),
        ("Temperature -5", -5),
        ("the *final* 5", 5),
        ("=> 5", 5),
        ("-> 5", 5),
        ("<b>5</b>", 5),
        ("<5>", 5),
        (r"x \approx 5", 5),
        (r"\color{red}{5}", 5),
        ("5 million", 5e6),
        ("$1.5 Billion dollars", 1.5e9),
        ("5 hundred thousand", 500_000),
        ("-2 trillion", -2e12),
        ("3\u00f74", 0.75),
        ("6 \u00f7 2 = 3", 3),
        ("__5__", 5),
        ("0.5 (50%)", 0.5),
        ("75% (3/4)", 75),
        ("1/5 (or 20%)", 0.2),
        (r"\frac{1}{2} (0.5)", 0.5),
        ("10 m (32.8 ft)", 10),
        ("#### 7 days (1 week)", 7),
        ("seven (7)", 7),
        ("42 kWh", 42),
        ("42 k\u03a9", 42),
        ("42 kg/m^3", 42),
        ("9.81 m\u00b7s\u207b\u00b2", 9.81),
        ("42 J/(kg\u00b7K)", 42),
        ("5 litres/100 km", 5),
        ("3 deaths per 1,000 people", 3),
        ("CHF 42.-", 42),
        ("R$ 42", 42),
        ("1.5 X 10^3", 1500),
        ("1.5E+03", 1500),
        ("10^(-3)", 0.001),
        ("2\u00b9\u2070", 1024),
        ("15 hundred", 1500),
        ("1\u202f234,5", 1234.5),
        ("1\u2019234.50", 1234.5),
        ("1\u00bc", 1.25),
        ("\uff11\uff12\uff13", 123),
        ("\u0661\u0662", 12),
        (r"{3\over 4}", 0.75),
        ("2 h = 120 min", 120),
        ("120 min (2 h)", 120),
        ("x\u2081 = 5", 5),
        ("7 per 10 people", 7),
        ("1 h = 60 min = 3600 s", 3600),
        ("log\u2082 256 = 8", 8),
        ("5\u00b710^{\u22122}", 0.05),
        ("1 000 000,00", 1_000_000),
        (r"$30^\circ$", 30),
        (r"\boxed{30^{\circ}}", 30),
        (r"30 \degree", 30),
        ("42 [1]", 42),
        ("42 (rounded to 2 decimals)", 42),
        ("The result is 42 (see eq. 3).", 42),
        ("42.5 m (correct to 3 figures)", 42.5),
        ("42.[1][2]", 42),
        ("It is 42%.[^3]", 42),
        ("Answer:\n42\n\n[1] https://example.com/7", 42),
        ("[42]", 42),
        ("It prints:\n[1] 42", 42),
        ("It prints:\n[1] 4.2e+01", 42),
        ("It prints:\n[1] \u221242", -42),
        ("\n[1] 42", 42),
        ("#### 12 apples in 2 boxes", 12),
        ("#### 12 million in 2024", 12e6),
        ("24 in a box of 7, so 31", 31),
        # a word that begins with one letter and another than a to z
        ("5 a\u00f1os", 5),
        ("5 d\u00edas", 5),
        ("7 f\u00eates", 7),
        ("42,50 z\u0142", 42.5),
        ("5 n\u0103m", 5),
        ("50 k\u20ac", None),
        # units and signs of other languages
        ("5\u5343\u514b", 5),
        ("5 \u5343\u7c73", 5),
        ("5 \u767e\u5206\u70b9", 5),
        ("\u8d1f42", -42),
        ("\u30de\u30a4\u30ca\u30b9 42", -42),
        ("\u043c\u0438\u043d\u0443\u0441 42", -42),
        ("\u0662\u066b\u0665", 2.5),
        ("\u0661\u066c\u0660\u0660\u0660", 1000),
        ("\u0664\u0662\u066a", 42),
        ("Rs.42", 42),
        ("5 military bases", 5),
        ("5 milliliters", 5),
        ("15 billiard balls", 15),
        ("5 trilobites", 5),
        ("7 l/100km", 7),
        (r"60\,\frac{\text{km}}{\text{h}}", 60),
        (r"9.8\frac{m}{s^2}", 9.8),
        (r"2\frac{m}{n}", None),
        # how exact it is
        ("42.35, rounded to 2 decimal places", 42.35),
        ("42.35 to 2 d.p.", 42.35),
        ("42.35 (to 4 s.f.)", 42.35),
        ("42.35 correct to 4 significant figures.", 42.35),
        ("42.35 (rounded to the nearest 0.01)", 42.35),
        ("Rounded to 2 decimals: 42.35", 42.35),
        ("42, to the nearest 10 km", 42),
        ("42.35, correct to 2 places", 42.35),
        ("The answer is 5!", 5),
        ("Nel 2020 i gatti erano 5", 5),
        ("Ha 5 anni e pesa 42 kg", 42),
        ("Anna hat 5 und Tom hat 8", 8),
        # the same in another unit, of several words or a currency
        ("30 degrees Celsius (86 degrees Fahrenheit)", 30),
        ("20 square metres (215 square feet)", 20),
        ("80 km per hour (50 miles per hour)", 80),
        ("It weighs 2 metric tons (4,400 pounds).", 2),
        ("€50 ($54)", 50),
        ("I count 12 green pears (15 in the other bag)", 15),
        # words of Greek are no symbols
        ("Η απάντηση είναι 18.", 18),
        ("Το αποτέλεσμα: 18 μήλα", 18),
        ("18 είναι η απάντηση", 18),
        ("Der Zug fährt bis Ulm, also 18", 18),
        ("18 bins", 18),
        ("合計18個", 18),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert read_number(text) == (None if number is None else pytest.approx(number, rel=1e-12))


@rows(
    "text",
    [
        "5 to 10",
        "5-10",
        "5 \u2013 10 km",
        "between 5 and 10",
        "between 5 km and 10 km",
        "from $5 up to $10",
        "5..10",
        "5 or 6",
        "5 kg or maybe 6 kg",
        "5? Or 6",
        "x = 5 or x = 6",
        "5, 6",
        "1, 2, and 3",
        "5, not 6",
        "[5, 10]",
        "(1,5)",
        "#### 5 or 6",
        r"\boxed{1} or $\boxed{2}$",
        r"\boxed{\text{none}}, not 5",
        r"\pm 5",
        "5 \u00b1 0.1",
        "5 * 3",
        "10 minus 5",
        "5 of 10",
        "1 in 4",
        "24 apples in 2 boxes",
        "12 million in 2024",
        "3\u4e07",
        "1\u51042000\u842c",
        "2 \u5343",
        "3 hours and 20 minutes",
        "1 2",
        "10:30",
        "2020-05-01",
        "12/25/1937",
        "1/0",
        "2^{n+1}",
        "(-2)^3",
        r"2\sqrt{3}",
        r"3\pi",
        r"\pi 5",
        r"2\sigma",
        "10^500",
        "x/2",
        r"\pi/2",
        r"$x$/2",
        r"3\pi/2",
        r"\boxed{\frac{\pi}{2}}",
        r"\frac{x}{2}",
        r"\frac{2}{x}",
        r"\frac{\sqrt{3}}{2}",
        r"3\frac{x}{2}",
        "2x",
        "2 n",
        "2xy",
        "2x^2",
        "1/2x",
        r"2\theta",
        "x+1",
        "x - 1",
        "(x+1)/2",
        "5/x",
        r"\sqrt{x+5}",
        r"\log_2 3",
        r"$\log_{2}(3)$",
        "10_{2}",
        "12 mod 7",
        "10 plus 5",
        "x < 5",
        "x>5",
        "> 5",
        "5 > x",
        r"x \lt 5",
        r"x \geqslant 5",
        "less than 5",
        "5 to 10 (see step 2)",
        "It isn't 42",
        "42\u301c45",
        "more than $5",
        "at least 5",
        "5 or more",
        "5+",
        "not 5",
        "5 dozen",
        "5k",
        "5K",
        "5M",
        "5 bn",
        "5 Millionen",
        "5 hundredths",
        "5 and a half",
        "5 squared",
        "5 degrees below zero",
        "5 to 10 million",
        "2 million 300 thousand",
        "2 hours 30 minutes",
        "2 hours, 30 minutes",
        "2h30",
        "5 feet 10 inches",
        "5'10\"",
        "5 lb 3 oz",
        "5 (10)",
        "#### 5 (10)",
        "5 +- 1",
        "#### 5 +/- 1",
        r"0.\overline{3}",
        "5 \u00e0 10",
        "5 a 10",
        "5~10",
        "5\u201410",
        "10ish",
        "7-ish",
        "7 at the most",
        "at the very least 7",
        "7 per 100",
        "x\u2081 = 1, x\u2082 = 2",
        "10 max speed",
        "10 at most",
        "10 max",
        "no more than 10",
        "10 through 12",
        "8 out of 10",
        "[8; 10]",
        "0.(3)",
        "0.3\u0305",
        # amounts in words of other languages
        "42\ub9cc",
        "42 millones",
        "42 milh\u00f5es",
        "42 miljoen",
        "42 Billionen",
        "42 Tausend",
        "42 mila",
        "42 tys.",
        "42 tri\u1ec7u",
        "42 \u043c\u043b\u043d",
        "42 \u0442\u044b\u0441\u044f\u0447\u0438",
        "42 \u0645\u0644\u064a\u0648\u0646",
        "42 \u0932\u093e\u0916",
        # their ranges, bounds and measures
        "42 o 45",
        "42 tot 45",
        "\u043e\u0442 42 \u0434\u043e 45",
        "42 \u0438\u043b\u0438 45",
        "42\u523045",
        "42\u621645",
        "42\u304b\u308945",
        "42\uc5d0\uc11c 45",
        "42 e 45",
        "42 en 45",
        "42 och 45",
        "\u043c\u0435\u0436\u0434\u0443 42 \u0438 45",
        "42 lub 45",
        "42 ho\u1eb7c 45",
        "42\u548c45",
        *(f"42 {word} 45" for word in ("nebo", "tai", "sau", "v\u00e0", "\u03ae", "\u0623\u0648", "\u092f\u093e")),
        *(
            f"42 {word} 45"
            for word in ("a\u017e", "do", "hasta", "\u0111\u1ebfn", "\u0625\u0644\u0649", "\u0e16\u0e36\u0e07")
        ),
        "42 km nebo 45 km",
        "#### 2 heures et 30 minutes",
        "5 h 10",
        "5 ft 10",
        "5 times (3 km)",
        "42\u306845",
        "42\uacfc 45",
        "2 ore e 30 minuti",
        "2 \u0447\u0430\u0441\u0430 \u0438 30 \u043c\u0438\u043d\u0443\u0442",
        "mindestens 42",
        *(
            f"{bound} 42"
            for bound in ("almeno", "minst", "co najmniej", "\ucd5c\uc18c", "\u5c11\u306a\u304f\u3068\u3082")
        ),
        "au moins 42",
        "m\u00e1s de 42",
        "\u81f3\u5c1142",
        "\u4e0d\u8d85\u8fc742",
        "\u043d\u0435 \u043c\u0435\u043d\u0435\u0435 42",
        "moins 42",
        "2 Stunden 30 Minuten",
        "2 heures et 30 minutes",
        "2\u5c0f\u65f630\u5206",
        "2\uc2dc\uac04 30\ubd84",
        "2 \u0447 30 \u043c\u0438\u043d",
        "2024\u5e745\u67083\u65e5",
        "3m20",
        "5 (or 6)",
        "75% (0.7)",
        "2 to 3 digits",
        "from 2 to 3 places",
        "3d 4h",
        # formulas
        r"\boxed{10!}",
        "$10!$",
        r"42 \pmod{100}",
        r"42 \bmod 100",
        "-(42)",
        # bounds, ranges and magnitudes of other languages
        *("bis zu 9", "jusqu’à 9", "au plus 9", "hasta 9", "como máximo 9", "fino a 9", "no máximo 9", "tot 9"),
        *("op til 9", "en az 9", "ít nhất 9", "paling banyak 9", "до 9", "το πολύ 9"),
        *("कम से कम 9", "อย่างน้อย 9", "على الأقل 9"),
        *("9 oder mehr", "9 kg oder mehr", "9 ou moins", "9 o más", "9 eller mer", "9 или более"),
        *("9以上", "9人以下", "9未満", "9 이상", "9개 이하"),
        "8 ile 9 arasında",
        *("9 miljoonaa", "9 millió", "9 milioane", "9 bin", "9 ezer", "9 εκατομμύρια"),
        *("9 ล้าน", "9 करोड़", "9 लाख"),
        *("2αβ", "αβ2", "3 θ", "£5 (£6)"),
    ],
)
def test_what_could_be_several_values_or_a_part_of_one_is_no_number(text: str) -> None:
    assert read_number(text) is None


@rows("gold", ["1/2", "2\u00bd", "x = 0.5", "$1,000", "42 m^2", "3 + 4 is\n#### 7", r"\boxed{5}", "10^2"])
def test_a_gold_of_one_value_accepts_itself(gold: str) -> None:
    assert Numeric().compare(task(gold), gold).hard == 1


@rows(
    "gold",
    [
        "x/2",
        r"\pi/2",
        "less than 5",
        "5 dozen",
        "5 to 10",
        "5-10",
        "5 or 6",
        "5, 6",
        "3 hours 20 minutes",
        "2020-05-01",
        "\u00b15",
        "1e999",
        r"\boxed{1, 2}",
    ],
)
def test_a_gold_that_is_not_one_value_is_an_error(gold: str) -> None:
    with pytest.raises(DataError, match="does not read as one number"):
        Numeric().compare(task(gold), "5")


def test_a_fraction_is_its_value_and_not_one_of_its_parts() -> None:
    assert Numeric().compare(task("1/2"), "0.5").hard == 1
    assert Numeric().compare(task("1/2"), "2").hard == 0
    assert Numeric().compare(task("2"), "1/2").hard == 0


@rows(
    "odd",
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
)
def test_the_time_to_read_a_number_grows_with_the_length_only(odd: str) -> None:
    # Ends within moments, or, should something be quadratic, not for many minutes.
    read_number(odd * 40_000)


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
