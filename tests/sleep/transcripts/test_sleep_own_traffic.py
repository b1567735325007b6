"""What etude sends at night is never taken for a user's words in a later one."""

from small_night import Finished

from etude.sleep.transcripts.cleaning import OWN, cleaned
from etude.sleep.transcripts.sessions import Session, Turn


def test_whatever_is_asked_at_night_is_known_for_etudes_own(finished: Finished) -> None:
    said = ["\n\n".join(message.text for message in request.messages) for request in finished.asked]
    for text in said:
        session = Session(source="codex", id="1", turns=(Turn(prompt=text, answer="Done."),))
        assert cleaned(session).skipped == {"own": 1}, text[:300]
    assert {text[:12] for text in said if OWN in text} == {
        "Reply with t",
        "You read one",
        "You look aft",
        "Do the task ",
    }
    assert any(OWN not in text for text in said)
