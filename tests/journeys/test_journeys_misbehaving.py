"""Whatever a model server does, a training ends with the right result or stops and says why: never a wrong number."""

from pathlib import Path
from typing import Any

import behaviours_asked
import behaviours_elsewhere
import behaviours_said
import behaviours_sent
import pytest
from trained_against import Ended, Row, good, train

from etude.models.wrappers import retrying
from rows import few

ROWS = [*behaviours_said.ROWS, *behaviours_sent.ROWS, *behaviours_asked.ROWS, *behaviours_elsewhere.ROWS]
FAST = (
    "thoughts before the reply",
    "never an object",
    "cut off at the limit and said to have ended",
    "every reply ends in an error",
    "an optimizer that is cut off each time",
    "content is null",
    "500 once",
    "429 with seconds",
    "429 for a day",
    "the key is refused halfway",
    "a page in place of every answer",
    "half of the JSON once",
    "resets for ever",
    "an error within a stream once",
    "no seed",
    "no JSON schema",
    "thoughts outside of the count against a limit of dollars",
    "a test task is too long",
    "Responses: failed once",
    "Messages: the credit is used up halfway",
    "wants its reasoning_content back",
    "a judge with grades up to ten",
)
"""One of each kind; each behaviour is also tried where it is handled, in `tests/models`."""
GOOD = behaviours_elsewhere.GOOD


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits between tries of one request."""
    monkeypatch.setattr(retrying, "SHORTEST_DELAY", 0.002)
    monkeypatch.setattr(retrying, "LONGEST_DELAY", 0.02)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(scope="module")
def good_results() -> dict[str, dict[str, Any]]:
    """Of trainings against a good server, as they are asked for."""
    return {}


def result_of_good(name: str, folder: Path, known: dict[str, dict[str, Any]], capsys: Any) -> dict[str, Any]:
    if name not in known:
        folder.mkdir()
        ended = run(folder, Row("good", good, lambda *_: [], GOOD[name]), capsys)
        assert ended.code == 0
        assert ended.result["verdict"] == "ship"
        known[name] = ended.result
    return known[name]


def run(folder: Path, row: Row, capsys: Any) -> Ended:
    def printed() -> str:
        out, err = capsys.readouterr()
        return f"{out}\n{err}"

    return train(folder, row.behaviour, row.settings, printed)


@pytest.mark.parametrize("row", few(ROWS, *(row for row in ROWS if row.name in FAST)), ids=lambda row: row.name)
def test_a_training_is_right_or_stops_and_says_why(row: Row, tmp_path, good_results, capsys) -> None:
    ends_as_expected(row, tmp_path, good_results, capsys)


def ends_as_expected(row: Row, folder: Path, good_results: dict[str, dict[str, Any]], capsys: Any) -> None:
    wanted = result_of_good(row.good, folder / "good", good_results, capsys)
    (folder / "run").mkdir()
    ended = run(folder / "run", row, capsys)
    problems = row.expect(ended, wanted)
    assert not problems, "\n".join([*problems, ended.said])
