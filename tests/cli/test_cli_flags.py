import pytest

from etude.cli.parsing.verb import take_dotted
from etude.cli.parsing.usage import UsageError


@pytest.mark.parametrize("words", [["--a.b"], ["--a.b", "--json"]])
def test_a_flag_without_a_value_is_an_error_that_shows_the_form(words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        take_dotted(words)
    assert str(caught.value) == "--a.b needs a value\nhint: as in --a.b=VALUE"
