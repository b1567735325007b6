"""What a prompt says of the answer before it, where the same words also begin a request."""

import pytest

from etude.sleep.transcripts.wording import opinion


@pytest.mark.parametrize(
    "prompt",
    [
        "Why did you choose SQLite?",
        "Why are you using tabs here?",
        "The tests fail on Windows, find out why",
        "Nothing changed in the schema, so skip the migration",
        "Same error handling for the second endpoint please",
        "Same problem as in ticket 12: write it up",
        "No change to the API please, only docs",
        "I meant to ask: can you add docs too?",
    ],
)
def test_a_request_that_begins_like_a_complaint_is_none(prompt: str) -> None:
    assert opinion(prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "Why did you delete it?",
        "The tests fail now",
        "The build fails when I run it on Windows.",
        "It fails on Windows.",
        "Your patch breaks the build",
        "Nothing changed.",
        "Nothing happens when I click it",
        "Same error",
        "The same problem as before",
        "Same result even after a restart",
        "No change",
        "I meant British spelling",
    ],
)
def test_a_complaint_is_one_to_the_end_of_its_clause(prompt: str) -> None:
    assert opinion(prompt) == "negative"
