"""A text that a night makes once more goes on with the level that its looks have left."""

import json
import random
from pathlib import Path

import pytest
from small_night import Small
from test_sleep_carry import NO, SLEEP, a_night, carried, tried, with_rule
from test_sleep_consolidate import SKILL, VAL, Optimizer

from etude import Skill
from etude.records import ChatRequest
from etude.sleep.improve.carry import Carried, LookedAt, kept_looks
from etude.sleep.improve.changes import Known
from etude.sleep.improve.context import Documents


def lucky(request: ChatRequest) -> str:
    """The gate sees the rule mend the task. Of three fresh attempts it mends two, and one is solved without it."""
    seed, new = request.seed or 0, with_rule(request.messages[0].text)
    return "yes" if (new if seed < 1_000 else (seed % 1_000 != 0) == new) else "no"


def test_a_text_that_has_used_up_alpha_is_not_tried_again_however_often_a_night_makes_it(tmp_path: Path) -> None:
    sleep = {**SLEEP, "confirm_trials": 3}
    first = a_night(tmp_path, sleep=sleep, answer=lucky)
    assert (first.status, first.carried, len(first.tested)) == ("inconclusive", None, 1)
    second = a_night(tmp_path, Known(night=2, tested=first.tested), sleep=sleep)
    assert (second.status, second.proposed, second.confirmed, second.tested) == ("inconclusive", False, None, ())
    assert second.reason.endswith(
        ", but fresh attempts in night 1 may be luck: p = 0.5, above sleep.alpha = 0.05; "
        "the same text is not tried again: its looks could have used up sleep.alpha"
    )


def test_a_text_that_was_rejected_goes_on_with_the_looks_and_the_level_that_it_has_left(tmp_path: Path) -> None:
    seeds: list[int | None] = []

    def none_helps(request: ChatRequest) -> str:
        seeds.append(request.seed)
        return "yes" if with_rule(request.messages[0].text) and (request.seed or 0) < 1_000 else "no"

    first = a_night(tmp_path, answer=none_helps)
    assert (first.status, first.carried, len(first.tested)) == ("rejected", None, 1)
    seeds.clear()
    second = a_night(tmp_path, Known(night=2, tested=first.tested), answer=none_helps)
    assert {seed for seed in seeds if seed is not None and seed >= 1_000} == {2_000, 2_001}
    assert second.reason.endswith(", but fresh attempts do not bear it out in nights 1 and 2")
    (kept,) = second.tested
    assert [look.night for look in kept.looks] == [1, 2]
    third = a_night(tmp_path, Known(night=3, tested=second.tested), val=VAL)
    assert (third.status, third.fresh is not None and third.fresh.looks) == ("inconclusive", 3)
    assert "but fresh attempts in nights 1, 2 and 3 may be luck: p = 0.028, above 0.025" in third.reason
    assert third.carried is not None
    assert third.carried.night == 3


def test_a_candidate_that_the_looks_reject_is_rejected_where_it_is_found_once_more(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        later = (request.seed or 0) >= 2_000
        return "yes" if with_rule(request.messages[0].text) is not later else "no"

    first = a_night(tmp_path, answer=answer)
    second = a_night(tmp_path, Known(night=2, carried=first.carried), answer=answer)
    assert (second.status, second.carried, second.proposed) == ("rejected", None, False)
    assert second.reason == (
        "candidate 1.0000 > current 0.0000, but it is the candidate of night 1; "
        "the candidate of night 1 is rejected: fresh attempts in nights 1 and 2 show no gain"
    )


def test_a_text_that_was_not_passed_may_pass_when_it_is_made_once_more(tmp_path: Path) -> None:
    sleep = {**SLEEP, "carry_nights": 0}
    first = a_night(tmp_path, sleep=sleep)
    assert (first.status, first.carried) == ("inconclusive", None)
    second = a_night(tmp_path, Known(night=2, tested=first.tested), val=VAL, sleep=sleep)
    assert (second.status, second.proposed, second.tested) == ("accepted", True, ())
    assert second.fresh is not None
    assert (second.fresh.p, second.fresh.looks, second.fresh.alpha) == (pytest.approx(1 / 216), 2, 0.025)
    assert second.confirmed is not None
    assert second.confirmed.verdict == "inconclusive"


def test_another_text_or_document_has_looks_of_its_own(tmp_path: Path) -> None:
    first = a_night(tmp_path)
    second = a_night(tmp_path, Known(night=2, tested=first.tested), optimizer=Optimizer("Say yes. Loudly."))
    assert second.fresh is not None
    assert (second.fresh.looks, second.fresh.alpha) == (1, 0.05)
    other = Documents(skill=Skill(name="learned", text=SKILL.text.replace("What was learned", "What was learned ")))
    third = a_night(tmp_path, Known(night=3, tested=first.tested), documents=other)
    assert third.fresh is not None
    assert third.fresh.looks == 1


def test_looks_at_one_text_spend_no_more_than_alpha_however_often_it_is_made() -> None:
    dice = random.Random(7)
    for nights in (0, 3):
        found = Carried(night=1, before="", text="")
        for number in range(1, 30):
            level = found.level_once_more(0.05, nights)
            if not level:
                break
            found = found.seen(number, [tried(str(n), _dice(dice), _dice(dice)) for n in range(2)], level)
        assert sum(look.spent for look in found.looks) <= 0.05 + 1e-12


def test_the_latest_texts_are_remembered_and_each_once() -> None:
    def of(text: str, looks: int) -> LookedAt:
        return carried(*[tried("v", NO, (1, 0, 0))] * looks).tested.model_copy(update={"text": text})

    known = kept_looks((), [of(str(number), 1) for number in range(150)])
    assert [one.text for one in known] == [str(number) for number in range(50, 150)]
    known = kept_looks(known, [of("60", 2)])
    assert (len(known), known[-1].text, len(known[-1].looks)) == (100, "60", 2)


def _dice(dice: random.Random) -> tuple[float, ...]:
    return tuple(float(dice.random() < 0.4) for _ in range(3))


def test_nights_keep_what_they_looked_at_in_the_state(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.night({"confirm_trials": 2, "carry_nights": 0})
    known = json.loads((small.state.folder / "known.json").read_text())
    ((kept,),) = known["tested"].values()
    assert [look["night"] for look in kept["looks"]] == [1]
    assert kept["before"]
    assert known["carried"] == {}
