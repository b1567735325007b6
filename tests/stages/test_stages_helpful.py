"""How many of an optimizer's edits help, as their accounts show."""

from math import log

import pytest

from etude.stages.shared.helpful import a_step_later, learnt, odds


def test_before_any_account_an_edit_helps_a_little_less_often_than_not() -> None:
    assert -1 < odds(learnt((), [])) < 0


def test_accounts_that_speak_for_edits_raise_the_odds_of_others_and_those_that_do_not_lower_them() -> None:
    good, bad = learnt((), [4.0] * 10), learnt((), [-log(2)] * 10)
    assert odds(bad) < -1.5 < 0 < 1.5 < odds(good)
    assert odds(learnt((), [5000.0])) > odds(learnt((), []))  # of very many tasks
    assert odds(learnt((), [0.0] * 10)) == pytest.approx(odds(learnt((), [])))  # what tells nothing


def test_what_was_learnt_fades_and_nothing_is_ruled_out() -> None:
    bad = learnt((), [-log(2)] * 200)
    assert odds(bad) < odds(a_step_later(bad)) < odds(learnt((), []))
    assert odds(learnt(bad, [8.0] * 40)) > 0
    good = learnt((), [4.0] * 5)
    assert odds(learnt((), [])) < odds(a_step_later(good)) < odds(good)
    assert odds(good) - odds(a_step_later(good)) > 0.4  # trust fades faster than doubt
    assert sum(a_step_later(bad)) == pytest.approx(1)
