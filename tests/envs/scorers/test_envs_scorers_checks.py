import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from etude.envs.scorers.answer_scorer import make_scorer
from etude.envs.scorers.checks import Checks, ChecksOptions
from etude.envs.scorers.checks_operators import OPERATORS
from etude.envs.scorers.rubric import Grade
from etude.errors import BoundaryError, ConfigError, DataError
from etude.records import Message, Score, Task, ToolCall, Trajectory, assistant
from etude.testing.scorer import ScorerContract
from rows import rows

PAGE = Path(__file__).parents[3] / "docs" / "scorers.md"
SLOW = {"op": "regex", "arg": r"(a+)+$"}
TRAP = "a" * 60 + "!"


def task(gold: object) -> Task:
    return Task(id="t", input="Advise us.", gold=gold)


def called(*names: str, answer: str = "done") -> Trajectory:
    calls = tuple(ToolCall(id=str(at), name=name, arguments="{}") for at, name in enumerate(names))
    return Trajectory(answer=answer, messages=(Message(role="assistant", tool_calls=calls), assistant(answer)))


class Graded:
    """Gives the same grade to every answer."""

    def __init__(self, score: float = 1.0) -> None:
        self.score = score
        self.asked: list[Sequence[Message]] = []

    async def ask(self, messages: Sequence[Message], reply_type: type[Grade]) -> Grade:
        self.asked.append(messages)
        return reply_type(score=self.score, reason="it weighs one side only")

    def fingerprint(self) -> str:
        return f"always {self.score}"


class TestChecks(ScorerContract):
    def make_scorer(self) -> Checks:
        return Checks()

    def make_other_scorer(self) -> Checks:
        return Checks(ChecksOptions(multiline=True))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task([{"op": "contains", "arg": "Total"}, {"op": "max_chars", "arg": 20}]), "the total is 4"),
            (task({"checks": [{"op": "not_contains", "arg": "TODO"}]}), "done"),
            (task({"kind": "rule", "checks": [{"op": "no_refusal"}]}), "Of course."),
            (task('[{"op": "regex", "arg": "[0-9]"}]'), "4"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [
            (task([{"op": "contains", "arg": "Total"}, {"op": "max_chars", "arg": 20}]), "4"),
            (task([{"op": "regex", "arg": "x" * 900}]), "y" * 900),
            (task([{"op": "contains", "arg": f"{word:x<300}"} for word in "abcdefghi"]), "y"),
        ]


class TestChecksWithARubric(TestChecks):
    def make_scorer(self) -> Checks:
        return Checks.from_options({}, "scorer", Graded)

    def make_other_scorer(self) -> Checks:
        return Checks.from_options({}, "scorer", lambda: Graded(0.5))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task({"rubric": "It is good.", "checks": [{"op": "min_chars", "arg": 2}]}), "good"),
            (task({"rubric": "It is good."}), "good"),
        ]


@pytest.mark.parametrize(
    ("options", "hard"), [({}, 0), ({"ignore_case": True}, 1), ({"multiline": True}, 0), ({"ignore_case": False}, 0)]
)
async def test_the_flags_of_a_pattern_are_off_unless_set(options: dict, hard: int) -> None:
    gold = [{"op": "regex", "arg": "^A", **options}]
    assert (await Checks().score(task(gold), Trajectory(answer="a\nb"))).hard == hard


@pytest.mark.parametrize(
    ("options", "check", "hard"),
    [
        ({"multiline": True}, {"op": "regex", "arg": "^b"}, 1),
        ({"multiline": True}, {"op": "regex", "arg": "^b", "multiline": False}, 0),
        ({"ignore_case": False}, {"op": "contains", "arg": "A", "ignore_case": True}, 1),
        ({"ignore_case": False, "multiline": True}, {"op": "max_chars", "arg": 3}, 1),
    ],
)
async def test_settings_are_flags_of_the_checks_that_do_not_say(options: dict, check: dict, hard: int) -> None:
    scorer = make_scorer({"name": "checks", **options}, "env.scorer")
    assert (await scorer.score(task([check]), Trajectory(answer="a\nb"))).hard == hard


BRIEF = """## Key Risks (today)
- the supplier may stop deliveries

Recommendation: go on, and look again in May

Confidence: high [1]
"""


@pytest.mark.parametrize(
    ("checks", "multiline", "hard"),
    [
        ([{"op": "section_present", "arg": "Key Risks"}, {"op": "regex", "arg": r"[Cc]onfidence\s*[:=]"}], False, 1),
        ([{"op": "regex", "arg": r"^[Rr]ecommendation[ \t]*[:=][ \t]*.{10,}"}], False, 0),
        ([{"op": "regex", "arg": r"^[Rr]ecommendation[ \t]*[:=][ \t]*.{10,}"}], True, 1),
        ([{"op": "min_citations", "arg": 1}, {"op": "max_chars", "arg": 900}], False, 1),
    ],
)
async def test_published_checks_of_answers_can_be_used(checks: list, multiline: bool, hard: int) -> None:
    scorer = Checks(ChecksOptions(multiline=multiline))
    assert (await scorer.score(task({"kind": "rule", "checks": checks}), Trajectory(answer=BRIEF))).hard == hard


async def test_a_check_reads_real_tool_calls_and_not_what_the_answer_says_of_them() -> None:
    asked, forbidden = (
        task([{"op": "tool_called", "arg": "search"}]),
        task([{"op": "tool_not_called", "arg": "search"}]),
    )
    said = Trajectory(answer="tool_call: search")
    scorer = Checks()
    assert [(await scorer.score(asked, each)).hard for each in (called("read", "Search"), called("read"), said)] == [
        1,
        0,
        0,
    ]
    assert [(await scorer.score(forbidden, each)).hard for each in (called("search"), called(), said)] == [0, 1, 1]


async def test_a_tool_is_told_apart_by_case_where_that_is_asked_for() -> None:
    gold = [{"op": "tool_called", "arg": "Search", "ignore_case": False}]
    assert (await Checks().score(task(gold), called("search"))).hard == 0


@pytest.mark.parametrize("op", ["not_contains", "no_refusal"])
async def test_an_empty_answer_passes_no_check(op: str) -> None:
    arg = None if op == "no_refusal" else "x"
    score = await Checks().score(task([{"op": op, "arg": arg}]), called("read", answer=" \n"))
    assert score == Score(hard=0, soft=0, feedback="there is no answer")
    assert Checks().compare(task([{"op": op, "arg": arg}]), "") == score


@pytest.mark.parametrize(
    ("check", "answer", "feedback"),
    [
        ({"op": "regex", "arg": "[Cc]onfidence"}, "x", "something that is required is not in the answer"),
        ({"op": "not_regex", "arg": "[Cc]onf"}, "conf", "something is in the answer that must not be there"),
        ({"op": "section_present", "arg": "Risks"}, "x", "there is no section on 'Risks', or nothing in it"),
        ({"op": "max_chars", "arg": 2}, "x" * 1500, "the answer is too long: 1,500 characters, at most 2"),
        ({"op": "tool_called", "arg": "search"}, "x", "the tool search was not called"),
        ({"op": "min_citations", "arg": 2}, "[1]", "too few sources are cited: 1, at least 2 are required"),
        ({"op": "regex", "arg": "[Cc]onf", "requirement": "It says how sure it is."}, "x", "It says how sure it is."),
        (
            {"op": "regex", "arg": "[Cc]onf", "requirement": "matches [Cc]onf"},
            "x",
            "something that is required is not in the answer",
        ),
    ],
)
async def test_feedback_says_what_is_wrong_and_never_shows_a_pattern(check: dict, answer: str, feedback: str) -> None:
    score = await Checks().score(task([check]), Trajectory(answer=answer))
    assert score.feedback == f"1 of 1 requirements not met: {feedback}"


async def test_a_rubric_is_graded_beside_the_checks_and_its_judge_sees_none_of_them() -> None:
    judge = Graded(0.5)
    gold = {"checks": [{"op": "contains", "arg": "secret words"}], "rubric": "It weighs both sides."}
    score = await Checks(judge=lambda: judge).score(task(gold), Trajectory(answer="secret words"))
    assert (score.hard, score.soft) == (0, 0.75)
    assert score.feedback == "graded 0.5: it weighs one side only"
    question = judge.asked[0][-1].text
    assert "It weighs both sides." in question
    assert "Advise us." in question
    assert "contains" not in question


@pytest.mark.parametrize(("grade", "hard"), [(0.79, 0), (0.8, 1)])
async def test_a_rubric_is_met_from_the_threshold_on(grade: float, hard: int) -> None:
    scorer = Checks(judge=lambda: Graded(grade))
    assert (await scorer.score(task({"rubric": "It is good."}), Trajectory(answer="x"))).hard == hard


async def test_answers_are_scored_while_another_one_takes_long() -> None:
    scorer = Checks(ChecksOptions(seconds=0.1))
    golds = [[SLOW], [{"op": "contains", "arg": "!"}]]
    results = await asyncio.gather(
        *(scorer.score(task(gold), Trajectory(answer=TRAP)) for gold in golds), return_exceptions=True
    )
    assert isinstance(results[0], BoundaryError)
    assert results[1] == Score(hard=1, soft=1, feedback="correct")


@rows(
    ("gold", "message"),
    [
        ({"rubric": " "}, "task 't' has no checks\nhint: give it one, as in [{op: contains, arg: total}]"),
        ("Paris", "task 't': gold 'Paris' is neither a list of checks nor a mapping"),
        ("[" * 200_000, "task 't': gold '[[["),
        ({"check": []}, "task 't': unknown key 'check'\nhint: did you mean 'checks'?"),
        (["contains"], "task 't': checks.0 = 'contains': expected keys with values"),
        ([{"op": "no_refusal"}, {"arg": 1}], "task 't': 'checks.1.op' is missing\nhint: add"),
        ([{"op": "contain", "arg": "x"}], "task 't': checks.0.op = 'contain': must be 'section_present', "),
        ([{"op": "regex", "args": "x"}], "task 't': unknown key 'checks.0.args'\nhint: did you mean 'checks.0.arg'?"),
        ([{"op": "contains"}], "task 't': checks.0: contains takes a text of at most 1,000 characters, found None"),
        (
            [{"op": "max_chars", "arg": True}],
            "task 't': checks.0: max_chars takes a whole number from 1 on, found True",
        ),
        ([{"op": "tool_called", "arg": "a b"}], "task 't': checks.0: tool_called takes a name of 1 to 64 letters"),
        (
            [{"op": "section_present", "arg": "**"}],
            "task 't': checks.0: section_present takes the words of one heading",
        ),
        ([{"op": "regex", "arg": "a", "multiline": "yes"}], "task 't': checks.0.multiline = 'yes': must be"),
        ([{"op": "regex", "arg": "("}], "task 't': checks.0: regex: '(' is not a regular expression: missing )"),
        ([{"op": "contains", "arg": "x", "multiline": True}], "task 't': checks.0: contains has no flag 'multiline'"),
        (
            [{"op": "max_chars", "arg": 5}, {"op": "min_chars", "arg": 6}],
            "task 't': no answer passes all checks: max_chars 5 is less than min_chars 6\nhint: remove one",
        ),
        (
            [{"op": "contains", "arg": "Total sum"}, {"op": "not_contains", "arg": "TOTAL"}],
            "task 't': no answer passes all checks: contains('Total sum') and not_contains('TOTAL') exclude",
        ),
        ({"rubric": "It is good."}, "task 't' has a rubric, but there is no model to judge it\nhint: add a `judge`"),
    ],
)
def test_checks_that_cannot_be_used_are_named(gold: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        Checks().check_task(task(gold))
    assert str(error.value).startswith(message)


@rows(
    "gold",
    [
        [{"op": "contains", "arg": "Total"}, {"op": "not_contains", "arg": "TOTAL", "ignore_case": False}],
        [{"op": "regex", "arg": "a"}, {"op": "not_regex", "arg": "a", "ignore_case": True}],
        [{"op": "tool_called", "arg": "Read"}, {"op": "tool_not_called", "arg": "read", "ignore_case": False}],
    ],
)
def test_checks_that_only_look_alike_do_not_exclude_each_other(gold: list) -> None:
    assert len(Checks().requirements(task(gold)).checks) == 2


def test_what_has_no_case_is_forbidden_in_every_case() -> None:
    gold = [{"op": "contains", "arg": "no. 42"}, {"op": "not_contains", "arg": "42", "ignore_case": False}]
    with pytest.raises(DataError, match="exclude each other"):
        Checks().check_task(task(gold))


def test_whether_checks_exclude_each_other_is_decided_with_the_flags_of_the_settings() -> None:
    other_case = task([{"op": "contains", "arg": "Total"}, {"op": "not_contains", "arg": "total"}])
    assert Checks(ChecksOptions(ignore_case=False)).requirements(other_case).checks
    with pytest.raises(DataError, match="exclude each other"):
        Checks().check_task(other_case)
    same = task([{"op": "regex", "arg": "a"}, {"op": "not_regex", "arg": "a", "ignore_case": True}])
    assert Checks().requirements(same).checks
    with pytest.raises(DataError, match="exclude each other"):
        Checks(ChecksOptions(ignore_case=True)).check_task(same)


def test_checks_are_no_answer_and_settings_are_checked() -> None:
    with pytest.raises(DataError, match="what scorer 'checks' compares with is not an answer"):
        Checks().gold_answer(task([]))
    with pytest.raises(ConfigError, match=r"env\.scorer 'checks': unknown key 'show_check'"):
        make_scorer({"name": "checks", "show_check": True}, "env.scorer")
    assert Checks().needs_gold


def test_the_page_of_checks_names_every_operator_with_what_it_takes() -> None:
    section = PAGE.read_text().partition("### Checks")[2]
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \| .* \|$", section, re.MULTILINE)
    assert rows == [(name, each.takes) for name, each in OPERATORS.items()]
    # What the page says of the flags: off for patterns, else on; of several lines off.
    assert {each.ignore_case for name, each in OPERATORS.items() if "regex" in name} == {False}
    assert {each.ignore_case for name, each in OPERATORS.items() if "regex" not in name} == {None, True}
    assert {each.multiline for each in OPERATORS.values()} == {None, False}
