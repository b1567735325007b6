"""check: python -m pytest pytest_tests     (with boxes: 2)"""

import pytest
from etude_attempt import AttemptFailed, call


@pytest.mark.parametrize(("a", "b", "total"), [(2, 3, 5), (-1, 1, 0)])
def test_add(a: int, b: int, total: int) -> None:
    assert call("solution", "add", a, b) == total


def test_texts_are_refused() -> None:
    with pytest.raises(AttemptFailed, match="raised TypeError"):
        call("solution", "add", "2", 3)
