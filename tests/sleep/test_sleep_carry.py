"""A candidate that may be luck is carried to later nights, and their looks together are as seldom wrong as one."""

import importlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_night import Small
from test_sleep_consolidate import SKILL, VAL, Optimizer, night

from etude import Skill, Task
from etude.cli.main import main
from etude.errors import BudgetStop
from etude.intervals import Arms, permutation
from etude.records import ChatRequest
from etude.records.summary import Tried
from etude.sleep.improve.carry import Carried, Look
from etude.sleep.improve.changes import Change, Known
from etude.sleep.improve.context import Documents

YES, NO = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
SLEEP = {"memory": False, "confirm_trials": 2}
"""Two tasks that are mended in two attempts each: p = 1/36; one: 1/6."""


@pytest.fixture
def nights(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """benchmarks/nights.py, which is no part of the package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    before = set(sys.modules)
    yield importlib.import_module("nights")
    for name in ("nights", "peers", "harness", "measure", "environments", "endpoint", "contract"):
        if name not in before:
            sys.modules.pop(name, None)


def tried(task: str, a: tuple[float, ...], b: tuple[float, ...]) -> Tried:
    return Tried(task=task, a=a, b=b)


def carried(*looks: Tried, alpha: float = 0.05, nights: int = 3) -> Carried:
    found = Carried(night=1, before="", text="")
    for number, one in enumerate(looks, 1):
        found = found.seen(number, [one], found.level(alpha, nights))
    return found


# --- the levels --------------------


def test_the_level_that_is_spent_is_the_largest_p_that_the_scores_could_have_had() -> None:
    arms = [Arms((0, 1, 0), (1, 0, 1))]
    assert permutation(arms, 0.05).level == 0.05  # all three under the new document: 1 of 20 ways
    assert permutation(arms, 0.049).level == 0.0
    assert permutation(arms, 0.5).level == 0.5
    assert permutation(2 * arms, 0.05).level == 0.0475
    assert permutation([Arms((0, 0, 0), (1, 1, 0))], 0.05).level == 0.0  # the best of all ways has 4 of 20


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_p_is_at_most_alpha_in_just_that_share_of_all_ways(alpha: float) -> None:
    dice = random.Random(3)
    for _ in range(20):
        values = [[dice.choice((0.0, 0.5, 1.0)) for _ in range(4)] for _ in range(3)]
        arms = [Arms(one[:2], one[2:]) for one in values]
        ways = [
            [
                Arms([one[i] for i in range(4) if i not in pick], [one[i] for i in pick])
                for one, pick in zip(values, picks, strict=True)
            ]
            for picks in _picks(3)
        ]
        share = sum(permutation(way, 1.0).p <= alpha for way in ways) / len(ways)
        assert permutation(arms, alpha).level == pytest.approx(share)


def _picks(tasks: int) -> list[tuple[tuple[int, int], ...]]:
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    found: list[tuple[tuple[int, int], ...]] = [()]
    for _ in range(tasks):
        found = [(*one, pair) for one in found for pair in pairs]
    return found


def test_the_first_look_has_all_of_alpha_and_one_task_mended_in_three_attempts_passes() -> None:
    found = carried(tried("v", NO, YES))
    assert (found.looks[0].level, found.looks[0].p, found.settled) == (0.05, 0.05, True)


def test_later_looks_share_what_the_first_could_not_have_spent() -> None:
    found = carried(tried("v", NO, (1, 1, 0)))
    assert (found.looks[0].spent, found.level(0.05, 3)) == (0.0, pytest.approx(0.05 / 3))
    assert found.level(0.05, 1) == 0.05


def test_where_the_first_look_could_have_used_up_alpha_there_is_no_second() -> None:
    found = carried(tried("v", (1, 0, 0), (0, 1, 1)))
    assert (found.settled, found.looks[0].spent, found.level(0.05, 3)) == (False, 0.05, 0.0)


def test_looks_spend_no_more_than_alpha_together_whatever_they_see() -> None:
    dice = random.Random(5)
    for _ in range(200):
        found = Carried(night=1, before="", text="")
        for number in range(1, 5):
            level = found.level(0.05, 3)
            if not level:
                break
            seen = [tried(f"{n}", _dice(dice), _dice(dice)) for n in range(dice.choice((1, 2, 3)))]
            found = found.seen(number, seen, level)
        assert sum(look.spent for look in found.looks) <= 0.05 + 1e-12
        assert found.level(0.05, len(found.looks) - 1) == 0.0


def _dice(dice: random.Random) -> tuple[float, ...]:
    return tuple(float(dice.random() < 0.4) for _ in range(3))


def test_strata_are_nights_and_tasks_so_that_an_easier_night_is_no_gain() -> None:
    """All attempts of the second night are solved, whichever document they had."""
    found = carried(tried("v", NO, (1, 1, 0)), tried("v", YES, YES))
    assert found.looks[1].p == found.looks[0].p == 0.2


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("noise", [0.2, 0.4])
def test_candidates_that_change_nothing_are_proposed_as_seldom_as_alpha_says_over_all_looks(
    nights: ModuleType, noise: float, tasks: int
) -> None:
    first, any_look = nights.over_looks(noise, "useless", tasks, 600)
    assert first <= any_look
    assert 600 * any_look <= 48  # of 600 with a share of 5%, 999 in 1000 samples have no more than that


def test_a_document_that_helps_is_proposed_more_often_where_it_is_carried(nights: ModuleType) -> None:
    first, any_look = nights.over_looks(0.2, "good", 2, 300)
    assert any_look > first + 0.15


# --- nights --------------------


def with_rule(text: str) -> bool:
    return "Say yes." in text


def a_night(folder: Path, known: Known | None = None, **more: Any) -> Change:
    more.setdefault("sleep", SLEEP)
    solves, val = more.pop("solves", with_rule), more.pop("val", VAL[:1])
    optimizer = more.pop("optimizer", Optimizer("Say yes."))
    known = known or Known(night=1)
    found, _ = night(folder / f"{known.night}", solves, optimizer, val=val, known={"skill": known}, **more)
    return found.changes[0]


def test_an_inconclusive_candidate_is_carried_and_passes_with_what_the_next_night_sees(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    assert (first.status, first.proposed) == ("inconclusive", False)
    assert first.carried is not None
    assert first.carry_told == (
        "the candidate of night 1 is carried: p = 0.17 over night 1, the next look needs p <= 0.017, 3 looks left"
    )
    optimizer = Optimizer("Another rule.")
    second = a_night(tmp_path, Known(night=2, carried=first.carried), val=VAL, optimizer=optimizer)
    assert (second.status, second.proposed, second.carried) == ("accepted", True, None)
    assert "Say yes." in second.after.text
    assert second.reason == "the candidate of night 1: fresh attempts in nights 1 and 2 bear it out"
    assert second.origin is not None
    assert [(look.night, len(look.tried)) for look in second.origin.looks] == [(1, 1), (2, 2)]
    assert second.fresh is not None
    assert (second.fresh.p, second.fresh.looks, second.fresh.tasks) == (pytest.approx(1 / 216), 2, 2)
    assert second.confirmed is not None
    assert [len(one.b) for one in second.confirmed.tried] == [4, 2]
    assert second.confirmed.verdict == "inconclusive"
    assert optimizer.requests == []  # it is tried before anything is paid for


def test_attempts_of_a_later_look_have_seeds_of_their_own(tmp_path: Path) -> None:
    seeds: list[int | None] = []

    def answer(request: ChatRequest) -> str:
        seeds.append(request.seed)
        return "yes" if with_rule(request.messages[0].text) else "no"

    first = a_night(tmp_path, answer=answer)
    before = {seed for seed in seeds if seed is not None and seed >= 1_000}
    seeds.clear()
    a_night(tmp_path, Known(night=2, carried=first.carried), answer=answer)
    assert before == {1_000, 1_001}
    assert {seed for seed in seeds if seed is not None and seed >= 1_000} == {2_000, 2_001}


def in_other_words(folder: Path, again: int, loudly: int, val: list[Task]) -> Change:
    """Two nights: a candidate that is carried, and one in other words.

    Args:
        again: seeds of fresh attempts that the carried one solves in the second night, below this.
        loudly: of those that the other one solves; of the second held-out task one less.
    """

    def answer(request: ChatRequest) -> str:
        told, seed = request.messages[0].text, request.seed or 0
        if "Say yes. Loudly." in told:
            last = loudly - ("Task 6." in request.messages[-1].text)
            return "yes" if seed < 1_000 or seed < 1_000 + last else "no"
        return "yes" if with_rule(told) and (seed < 2_000 or seed < 2_000 + again) else "no"

    known = Known(night=2, carried=a_night(folder, answer=answer).carried)
    assert known.carried is not None
    return a_night(folder, known, val=val, answer=answer, optimizer=Optimizer("Say yes. Loudly."))


def test_a_carried_candidate_stays_beside_one_in_other_words_that_has_less_evidence(tmp_path: Path) -> None:
    found = in_other_words(tmp_path, 1, 1, VAL[:1])
    assert found.status == "inconclusive"
    assert found.carried is not None
    assert (found.carried.night, len(found.carried.looks)) == (1, 2)
    assert found.carry_told.startswith("the candidate of night 1 is carried: p = 0.083 over nights 1 and 2")
    assert found.reason.endswith(
        "; tonight's (p = 0.5 over night 2) gives way to the candidate of night 1 (p = 0.083 over nights 1 and 2)"
    )
    assert len(found.tested) == 2  # the looks at both are kept


def test_a_carried_candidate_gives_way_to_one_with_more_evidence_and_not_to_one_with_as_much(tmp_path: Path) -> None:
    found = in_other_words(tmp_path / "more", 0, 2, VAL)
    assert found.carried is not None
    assert (found.carried.night, len(found.carried.looks)) == (2, 1)
    assert found.reason.endswith(
        "; the candidate of night 1 (p = 0.17 over nights 1 and 2) gives way to tonight's (p = 0.083 over night 2)"
    )
    same = in_other_words(tmp_path / "same", 0, 2, VAL[:1])
    assert same.carried is not None
    assert (same.carried.night, same.carried.looks[-1].p) == (1, same.tested[1].looks[-1].p)


def test_without_carrying_the_next_night_knows_nothing(tmp_path: Path) -> None:
    first = a_night(tmp_path, sleep={**SLEEP, "carry_nights": 0})
    assert (first.status, first.carried, first.carry_told) == ("inconclusive", None, "")


def test_a_document_that_changed_drops_what_was_made_from_it(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    other = Documents(skill=Skill(name="learned", text=SKILL.text.replace("What was learned", "What was learned ")))
    second = a_night(tmp_path, Known(night=2, carried=first.carried), documents=other)
    assert second.origin is None
    assert "the candidate of night 1 is dropped: the document is another since" in second.reason
    assert second.carried is not None
    assert second.carried.night == 2  # that night's own


def test_what_does_worse_on_a_task_over_all_looks_is_rejected(tmp_path: Path) -> None:
    first = a_night(tmp_path)

    def answer(request: ChatRequest) -> str:
        told, asked = request.messages[0].text, request.messages[-1].text
        return "yes" if with_rule(told) != ("Task 6." in asked) else "no"

    val = [*VAL, Task(id="v7", input="Task 7.")]
    second = a_night(tmp_path, Known(night=2, carried=first.carried), val=val, answer=answer)
    assert (second.carried, second.proposed) == (None, False)
    assert (
        "the candidate of night 1 is rejected: 'v6' does worse in fresh attempts in nights 1 and 2" in second.reason
    )


def test_what_loses_a_task_is_rejected_however_clear_the_gain_of_the_others_is(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    val = [*VAL, *(Task(id=f"v{number}", input=f"Task {number}.") for number in (7, 8, 9))]
    more = {"val": val, "answer": but_for_task_9}
    second = a_night(tmp_path, Known(night=2, carried=first.carried), **more)
    assert (second.origin, second.proposed) == (None, False)
    assert (
        "the candidate of night 1 is rejected: 'v9' does worse in fresh attempts in nights 1 and 2" in second.reason
    )
    config = {"gate": {"no_regression": False}}
    second = a_night(tmp_path / "free", Known(night=2, carried=first.carried), config=config, **more)
    assert (second.status, second.origin is not None) == ("accepted", True)


def but_for_task_9(request: ChatRequest) -> str:
    told, asked = request.messages[0].text, request.messages[-1].text
    return "yes" if with_rule(told) != ("Task 9." in asked) else "no"


def test_a_task_is_worse_where_a_look_lost_it_and_not_where_luck_may_have_it_lower() -> None:
    assert carried(tried("v", YES, (1, 1, 0))).worse == ()
    assert carried(tried("v", YES, NO)).worse == ("v",)
    assert carried(tried("v", YES, NO), tried("v", NO, YES)).worse == ()
    assert carried(tried("v", NO, (1, 0, 0)), tried("v", YES, NO)).worse == ("v",)


def test_what_may_still_be_luck_goes_on_until_its_looks_are_over(tmp_path: Path) -> None:
    """With one attempt at one task, no two looks get below 1/4."""
    sleep = {**SLEEP, "confirm_trials": 1, "carry_nights": 2}
    known, lefts = None, list[int]()
    for number in (1, 2, 3):
        change = a_night(tmp_path, Known(night=number, carried=known), sleep=sleep)
        known = change.carried
        lefts.append(0 if known is None else known.left(2))
        assert (change.status, change.proposed) == ("inconclusive", False)
    assert lefts == [2, 1, 0]
    assert "the candidate of night 1 is not carried any further: it may still be luck after 3 looks" in change.reason


def test_a_candidate_that_is_found_once_more_has_no_second_test_of_the_same_night(tmp_path: Path) -> None:
    sleep = {**SLEEP, "confirm_trials": 1}
    first = a_night(tmp_path, sleep=sleep)
    second = a_night(tmp_path, Known(night=2, carried=first.carried), sleep=sleep)
    assert second.carried is not None
    assert ([look.night for look in second.carried.looks], second.carried.night) == ([1, 2], 1)
    assert "but it is the candidate of night 1, which may be luck" in second.reason
    assert second.confirmed is not None
    assert (second.confirmed.verdict, second.confirmed.settle) == ("inconclusive", None)


@pytest.mark.parametrize(
    "more", [{"val": []}, {"config": {"gate": {"enabled": False}}}, {"sleep": {**SLEEP, "confirm_trials": 0}}]
)
def test_a_night_that_asks_for_no_attempts_at_held_out_tasks_does_not_look(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    first = a_night(tmp_path)
    second = a_night(tmp_path, Known(night=2, carried=first.carried), **more)
    assert second.carried == first.carried


def test_settings_that_leave_no_look_drop_the_candidate(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    second = a_night(tmp_path, Known(night=2, carried=first.carried), sleep={**SLEEP, "carry_nights": 0})
    assert second.carried is None
    assert "the candidate of night 1 is dropped: the settings leave no further look" in second.reason


def test_what_could_have_used_up_alpha_is_not_carried_and_the_reason_says_so(tmp_path: Path) -> None:
    """Under the new document two of three fresh attempts are solved, under the old one one: half of all ways."""

    def answer(request: ChatRequest) -> str:
        seed, new = request.seed or 0, with_rule(request.messages[0].text)
        return "yes" if (seed < 1_000 and new) or (seed >= 1_000 and (seed != 1_000) == new) else "no"

    found = a_night(tmp_path, sleep={**SLEEP, "confirm_trials": 3}, answer=answer)
    assert (found.status, found.carried) == ("inconclusive", None)
    assert found.reason.endswith(
        "; the candidate of night 1 is not carried: its looks could have used up sleep.alpha"
    )


# --- the state and what is told --------------------


def test_nights_carry_a_candidate_over_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = Small(tmp_path)
    report = small.night({"confirm_trials": 2})
    told = "the candidate of night 1 is carried: p = 0.17 over night 1, the next look needs p <= 0.017, 3 looks left"
    assert (report.status, report.documents[0].carried) == ("no change", told)
    (kept,) = json.loads((small.state.folder / "known.json").read_text())["carried"].values()
    assert [look["night"] for look in kept["looks"]] == [1]
    assert all(one["sessions"] for one in kept["evidence"].values() if one["tasks"])
    where = ["--project", str(small.project), "--state", str(small.base)]
    assert main(["sleep", "explain", *where]) == 0
    out = capsys.readouterr().out
    assert f"\n  {told}\n" in out
    assert (
        "\nlearned: the candidate of night 1 is carried to the next night; fresh attempts, old -> candidate\n" in out
    )
    assert "  0, 0 -> 1, 1\n" in out
    assert main(["sleep", "status", *where]) == 0
    assert "learned inconclusive (carried)" in capsys.readouterr().out

    small.write(5, 14)
    report = small.night({"confirm_trials": 2})
    document = report.documents[0]
    assert (report.status, document.status, document.origin, document.carried) == ("proposed", "accepted", 1, "")
    assert document.verdict == "inconclusive"
    assert report.reason == ""
    rules = json.loads((small.state.night(2) / "proposal" / "rules.json").read_text())["documents"]
    evidence = [rule["evidence"] for those in rules.values() for rule in those]
    assert all(one["sessions"] and one["tasks"] for one in evidence)
    assert json.loads((small.state.folder / "known.json").read_text())["carried"] == {}
    assert main(["sleep", "explain", *where]) == 0
    out = capsys.readouterr().out
    assert "\n  the candidate of night 1: fresh attempts in nights 1 and 2 bear it out\n" in out
    assert ", the level of look 2 (sleep.carry_nights)" in out
    assert "\nlearned: the candidate of night 1 is proposed; fresh attempts, old -> candidate\n  night 1: p = " in out
    (found,) = json.loads((small.state.night(2) / "diagnostics.json").read_text())["documents"]
    assert [Look.model_validate(look).night for look in found["origin"]["looks"]] == [1, 2]


def test_sessions_that_a_carried_candidate_left_unread_wait_for_the_next_night(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.night({"confirm_trials": 2})
    small.write(5, 14)
    report = small.night({"confirm_trials": 2})
    assert report.documents[0].origin == 1
    tasks = [task for task in small.tasks(2) if task["origin"] == "real" and task["night"] == 2]
    sides = {
        side: {one["id"] for t in tasks if t["split"] == side for one in t["sessions"]} for side in ("train", "val")
    }
    assert {id for id, status in small.ledger().items() if status == "queued"} == sides["train"]
    assert sides["train"]
    assert sides["val"]
    told = "sessions that wait, as a candidate of an earlier night passed before they were read: "
    assert f"{told}{len(sides['train'])}" in report.notes
    third = small.night({"confirm_trials": 2})
    assert third.sessions == {"claude-code": len(sides["train"])}
    assert (third.documents[0].origin, set(small.ledger().values())) == (None, {"used"})
    assert [note for note in third.notes if told in note] == []


def test_a_night_that_is_interrupted_within_a_look_counts_it_once(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.night({"confirm_trials": 2})
    small.write(5, 14)
    run = small.state.night(2) / "runs" / "learned" / "carried-skill"

    def stop(request: ChatRequest) -> None:
        if run.exists() and "# Current skill" not in request.messages[-1].text and small.answered % 5 == 4:
            raise BudgetStop("enough 7713")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night({"confirm_trials": 2})
    assert run.exists()
    small.before = lambda request: None
    report = small.night({"confirm_trials": 2})
    assert (report.night, report.starts, report.documents[0].origin) == (2, 2, 1)
    (found,) = json.loads((small.state.night(2) / "diagnostics.json").read_text())["documents"]
    assert [look["night"] for look in found["origin"]["looks"]] == [1, 2]
