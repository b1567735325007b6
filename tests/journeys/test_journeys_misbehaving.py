"""Whatever a model server does, a training ends with the right result or stops and says why: never a wrong number.

One behaviour of each kind: the others are tried where they are handled, in `tests/models`.
"""

from pathlib import Path
from typing import Any

import pytest
from behaviours import GOOD, ROWS
from trained_against import Ended, Row, good, train

from etude.models.wrappers import retrying


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Short waits between tries of one request, and no certificates to read."""
    monkeypatch.setattr(retrying, "SHORTEST_DELAY", 0.002)
    monkeypatch.setattr(retrying, "LONGEST_DELAY", 0.02)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_training_is_right_or_stops_and_says_why(row: Row, tmp_path, good_results, capsys) -> None:
    ends_as_expected(row, tmp_path, good_results, capsys)


def ends_as_expected(row: Row, folder: Path, good_results: dict[str, dict[str, Any]], capsys: Any) -> None:
    wanted = result_of_good(row.good, folder / "good", good_results, capsys)
    (folder / "run").mkdir()
    ended = run(folder / "run", row, capsys)
    problems = row.expect(ended, wanted)
    assert not problems, "\n".join([*problems, ended.said])
