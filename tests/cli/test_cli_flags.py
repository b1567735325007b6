import pytest

from etude.cli.parsing.flags import take_dotted
from etude.cli.parsing.usage import UsageError


def test_dotted_flags_are_taken_in_both_forms_and_the_rest_stays_in_order() -> None:
    words = ["a.yaml", "--train.epochs", "2", "--json", "--gate.metric=soft", "b"]
    assert take_dotted(words) == (["a.yaml", "--json", "b"], [("train.epochs", "2"), ("gate.metric", "soft")])


def test_a_value_may_be_negative_empty_or_hold_an_equals_sign() -> None:
    words = ["--a.b", "-1", "--c.d=", "--e.f=x=y"]
    assert take_dotted(words) == ([], [("a.b", "-1"), ("c.d", ""), ("e.f", "x=y")])


def test_keys_may_be_deep_and_plain_options_are_left_alone() -> None:
    words = ["--target.price.input", "0.5", "--fault", "drop=0.1", "./a.b"]
    assert take_dotted(words) == (["--fault", "drop=0.1", "./a.b"], [("target.price.input", "0.5")])


def test_two_dashes_end_the_flags() -> None:
    assert take_dotted(["--a.b", "1", "--", "--c.d", "2"]) == (["--", "--c.d", "2"], [("a.b", "1")])


@pytest.mark.parametrize("words", [["--a.b"], ["--a.b", "--json"]])
def test_a_flag_without_a_value_is_an_error_that_shows_the_form(words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        take_dotted(words)
    assert str(caught.value) == "--a.b needs a value\nhint: as in --a.b=VALUE"
