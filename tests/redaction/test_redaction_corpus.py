"""150 secrets as they stand in transcripts, and 150 texts that only look like some, written apart from the shapes. Of
the first reading 133 were found, with 7 false hits; the general forms of those that were missed were added then."""

import codecs
import json
from pathlib import Path

import pytest
from small_night import NOW, Small, run_night

from etude.records import ChatRequest
from etude.redaction import Redactor
from etude.sleep.state import Surroundings
from rows import few, rows

# Turned by 13 letters, so that no scanner takes the file for a leak.
CORPUS = json.loads(codecs.decode(Path(__file__).with_name("corpus.rot13").read_text(encoding="utf-8"), "rot13"))
SECRETS, HARMLESS = CORPUS["secrets"], CORPUS["harmless"]


def kept(redactor: Redactor) -> list[str]:
    return [one["secret"] for one in SECRETS if one["secret"] in redactor.redact(one["text"])]


def test_at_least_nine_of_ten_secrets_are_found_with_at_most_three_false_hits() -> None:
    assert (len(SECRETS), len(HARMLESS)) == (150, 150)
    redactor = Redactor.for_transcripts()
    left = kept(redactor)
    hits = [one["kind"] for one in HARMLESS if redactor.redact(one["text"]) != one["text"]]
    assert len(left) <= 15, left
    assert len(hits) <= 3, hits


@pytest.mark.parametrize("every", few([1, 6], 6))
def test_no_secret_that_is_found_reaches_a_model_or_the_state(every: int, tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)
    missed = kept(Redactor.for_transcripts())
    found = [one for one in SECRETS if one["secret"] not in missed][::every]
    sessions = [
        {
            "id": f"s{at}",
            "project": str(small.project),
            "turns": [
                {
                    "prompt": f"Write a brief on the harbour.\n\n{one['text']}",
                    "at": NOW.isoformat(),
                    "answer": one["text"],
                }
                for one in found[at : at + 10]
            ],
        }
        for at in range(0, len(found), 10)
    ]
    path = tmp_path / "sessions.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in sessions))
    asked: list[str] = []

    def heard(request: ChatRequest) -> None:
        asked.append("\n".join(message.text for message in request.messages))

    small.before = heard
    config = small.config({"sources": [str(path)], "confirm_trials": 0})
    given = {"target": small.target, "optimizer": small.optimizer}
    run_night(config, Surroundings(home=small.home, environ=small.environ, now=lambda: NOW), given=given)
    stored = "\n".join(file.read_bytes().decode(errors="replace") for file in small.base.rglob("*") if file.is_file())
    said = "\n".join(asked)
    assert "harbour" in said
    leaked = [one["kind"] for one in found if one["secret"] in said or one["secret"] in stored]
    assert leaked == []


@rows("number", ["4111 1111 1111 1112", "DE89 3704 0044 0532 0130 01", "1700000000000000", "0000000000000000"])
def test_a_number_with_a_wrong_check_digit_is_no_card_and_no_account(number: str) -> None:
    assert Redactor.for_transcripts().redact(f"order {number} of today") == f"order {number} of today"
