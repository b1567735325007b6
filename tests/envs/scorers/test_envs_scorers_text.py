import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.text import ANLS, F1, AnlsOptions, Exact, SquadOptions, TextOptions
from etude.records import Task
from etude.testing.scorer import ScorerContract
from rows import rows


def task(gold: object) -> Task:
    return Task(id="t", input="i", gold=gold)


class TestExact(ScorerContract):
    def make_scorer(self) -> Exact:
        return Exact()

    def make_other_scorer(self) -> Exact:
        return Exact(TextOptions(articles=True))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task("New York"), " new  york\n"),
            (task(["a", "b"]), "B"),
            (task(5), "5"),
            (task("Straße"), "STRASSE"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("5"), "-5"), (task("York"), "New York"), (task("x" * 900), "y" * 900), (task("x"), "the x")]


class TestF1(ScorerContract):
    def make_scorer(self) -> F1:
        return F1()

    def make_other_scorer(self) -> F1:
        return F1(SquadOptions(articles=False))

    def right(self) -> list[tuple[Task, str]]:
        return [(task("The Eiffel Tower"), "eiffel tower."), (task(["x", "b c"]), "b, c")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("eiffel tower"), "tower"), (task("a b"), "c"), (task("tower eiffel"), "eiffel tower")]


class TestANLS(ScorerContract):
    def make_scorer(self) -> ANLS:
        return ANLS()

    def make_other_scorer(self) -> ANLS:
        return ANLS(AnlsOptions(threshold=0.8))

    def right(self) -> list[tuple[Task, str]]:
        return [(task("Invoice 12"), "invoice 12"), (task(["x", "y"]), "Y")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("invoice"), "invoise"), (task("invoice"), "nothing like it")]


@rows(
    ("options", "gold", "answer", "hard"),
    [
        ({"casefold": False}, "A", "a", 0),
        ({"whitespace": False}, "a b", "a  b", 0),
        ({"punctuation": True}, "it's 5!", "its 5", 1),
        ({"articles": True}, "the cat", "a Cat", 1),
        ({"answer_after": "####"}, "so\n#### 72", "because #### 71 #### 72", 1),
        ({"answer_after": "<a>", "answer_until": "</a>"}, "x", "hm <a>no</a> <a> x </a> done", 1),
        ({"answer_after": "####"}, "72", "72", 1),
    ],
)
def test_options_say_what_does_not_count(options: dict, gold: str, answer: str, hard: int) -> None:
    assert Exact(TextOptions(**options)).compare(task(gold), answer).hard == hard


SAME_TEXT = [
    ("caf\u00e9", "cafe\u0301"),
    ("\ud55c", "\u1112\u1161\u11ab"),
    ("x", "\ufeffx\u200b"),
    ("coop", "co\u00adop"),
    ("a b", "a\u00a0b"),
    ("co-op", "co\u2011op"),
    ("-5", "\u22125"),
]


@rows(
    ("gold", "answer", "hard"), [(*pair, hard) for pair, hard in zip(SAME_TEXT, (1, 1, 0, 0, 0, 0, 0), strict=True)]
)
def test_where_white_space_counts_only_letters_may_be_written_otherwise(gold: str, answer: str, hard: int) -> None:
    exact = Exact(TextOptions(whitespace=False))
    assert exact.compare(task(gold), answer).hard == exact.compare(task(answer), gold).hard == hard
    after = Exact(TextOptions(whitespace=False, answer_after="caf\u00e9:"))
    assert after.compare(task(gold), f"cafe\u0301:{answer}").hard == hard


@rows(
    ("scorer", "gold", "answer", "hard"),
    [
        (Exact, "x\u00b2", "x2", 0),
        (Exact, "caf\u00e9", "cafe", 0),
        (Exact, "co-op", "coop", 0),
        (Exact, "a b", "a\u200bb", 0),
        # a number is not another one without its signs
        (F1, "-5", "5", 0),
        (F1, "-$5", "$5", 0),
        (F1, "1.5", "15", 0),
        (F1, "1,5", "15", 0),
        (F1, ".5", "5", 0),
        (F1, "1/2", "12", 0),
        (F1, "10:30", "1030", 0),
        (F1, "1e-5", "1e5", 0),
        (F1, "2^3", "23", 0),
        (F1, "-1,234", "1,234", 0),
        (F1, "C++", "C", 0),
        (F1, "C#", "c", 0),
        (F1, "A-", "A", 0),
        (F1, "<5", "5", 0),
        (F1, ">= 5", "<= 5", 0),
        (F1, "a != b", "a = b", 0),
        # other punctuation does not count
        (F1, "-5", "\u22125.", 1),
        (F1, "1,000", "1000", 1),
        (F1, "$5", "5", 1),
        (F1, "10%", "10", 1),
        (F1, "(5)", "5!", 1),
        (F1, "U.S.", "us", 1),
        (F1, "covid-19", "COVID19", 1),
        (F1, "wait...", "wait", 1),
        (F1, "a + b", "a b", 1),
        (F1, "don't", "don\u2019t", 1),
        (F1, "\u201cno\u201d", "no", 1),
        (F1, "\u00abno\u00bb", '"no"', 1),
    ],
)
def test_what_looks_different_stays_different_and_signs_count_where_they_make_a_number(
    scorer: type[Exact | F1], gold: str, answer: str, hard: int
) -> None:
    assert scorer().compare(task(gold), answer).hard == hard


@rows("odd", ["\u0301\u0323", "a\u200b", "-1,", ".-", "1,000"])
def test_the_time_to_compare_grows_with_the_length_only(odd: str) -> None:
    # Ends within moments, or, should something be quadratic, not for many minutes.
    assert F1().compare(task("x"), odd * 60_000).hard == 0
    assert Exact(TextOptions(whitespace=False)).compare(task("x"), odd * 60_000).hard == 0


def test_f1_is_the_overlap_of_words_with_the_best_gold_answer() -> None:
    score = F1().compare(task(["zebra", "red green blue"]), "the red, green car")
    assert (score.hard, score.soft) == (0, pytest.approx(2 * 2 / 6))
    assert score.feedback.endswith("; missing: blue; not expected: car")


def test_anls_forgives_slips_but_not_other_words() -> None:
    score = ANLS().compare(task("invoice"), "invoise")
    assert (score.hard, score.soft) == (0, pytest.approx(1 - 1 / 7))
    assert "similarity 0.86" in score.feedback
    far = ANLS().compare(task("invoice"), "inkwell")
    assert (far.soft, "similarity 0.29" in far.feedback) == (0, True)
    assert ANLS(AnlsOptions(solved_at=0.8)).compare(task("invoice"), "invoise").hard == 1


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_scores_are_symmetric_in_range_and_full_for_the_gold_itself(one: str, other: str) -> None:
    for scorer in (Exact(), F1(), ANLS()):
        assert scorer.compare(task(one), one).hard == 1
        score, turned = scorer.compare(task(one), other), scorer.compare(task(other), one)
        assert (score.hard, score.soft) == (turned.hard, pytest.approx(turned.soft))
        assert score.soft >= score.hard * 0.999


def test_a_scorer_of_another_package_may_take_its_options_only() -> None:
    class Loud(Exact):
        def __init__(self, options: TextOptions | None = None) -> None:
            super().__init__(options)

    assert isinstance(Loud.from_options({}, "scorer", judge=None), Loud)
