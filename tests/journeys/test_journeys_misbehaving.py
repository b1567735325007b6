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

ROWS = [*behaviours_said.ROWS, *behaviours_sent.ROWS, *behaviours_asked.ROWS, *behaviours_elsewhere.ROWS]
GOOD = behaviours_elsewhere.GOOD
SIBLINGS = frozenset(
    {
        "two answers",
        "a tag in upper case",
        "an answer within a fence",
        "thoughts in square brackets",
        "thoughts in upper case with attributes",
        "thoughts in marks of their own",
        "thoughts between tags with a colon",
        "thoughts after the answer",
        "an edit without a target",
        "an edit without a reason",
        "an edit with more keys",
        "edits as text within the object",
        "an object with prose around it",
        "a broken object at first",
        "a reply that the network ended",
        "a reply that ended for want of resources",
        "a reply that was aborted",
        "an ending in upper case",
        "a target that is cut off before any text",
        "the reply is in reasoning",
        "content is a space",
        "no choices once",
        "choices is null once",
        "another model's name in the answer",
        "fields of unknown types",
        "a reply that repeats the prompt",
        "the optimizer gets another request's reply",
        "408 once",
        "409 once",
        "425 once",
        "499 once",
        "529 once",
        "429 with a time that has passed",
        "500 for ever for the optimizer",
        "the spending limit is reached halfway",
        "the model is gone for good",
        "the optimizer's key is refused",
        "an error as a text once",
        "204 once",
        "null once",
        "a list once",
        "a JSON text of the answer",
        "rubbish behind the JSON once",
        "NaN among the numbers",
        "a body of many megabytes once",
        "an unknown character set",
        "a body that only claims to be compressed once",
        "resets the connection once",
        "ends in the middle once",
        "words that are no HTTP once",
        "no length",
        "in chunks without the last one once",
        "a drip that is too slow once",
        "redirects in a circle",
        "a stream without its last mark",
        "no field that it does not know",
        "no top_p",
        "no usage in streams",
        "neither JSON schema nor tools",
        "a usage without fields",
        "counts with fractions",
        "counts that are null",
        "a usage that is a list",
        "more is read from the cache than was sent",
        "thoughts outside of the count against a limit of tokens",
        "a test task is too large",
        "a test task is filtered",
        "a test task has empty replies",
        "Responses: cancelled once",
        "Responses: still in progress once",
        "Responses: thoughts beside the text",
        "Messages: an error within an answer once",
        "Messages: a stop sequence",
        "Messages: no content",
        "Messages: no temperature",
        "wants its reasoning_details back",
        "a judge with grades as text",
        "a judge in prose at first",
        "a judge that grades nothing",
    }
)
"""Their neighbours ask nearly the same of a client: they run with the slow tests."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def marked(row: Row) -> Any:
    return pytest.param(row, id=row.name, marks=[pytest.mark.slow] if row.name in SIBLINGS else [])


@pytest.mark.parametrize("row", [marked(row) for row in ROWS])
def test_a_training_is_right_or_stops_and_says_why(row: Row, tmp_path, good_results, capsys) -> None:
    wanted = result_of_good(row.good, tmp_path / "good", good_results, capsys)
    (tmp_path / "run").mkdir()
    ended = run(tmp_path / "run", row, capsys)
    problems = row.expect(ended, wanted)
    assert not problems, "\n".join([*problems, ended.said])


def test_every_behaviour_has_a_name_of_its_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert len(set(names) - SIBLINGS) >= 60
    assert set(names) >= SIBLINGS
