"""Whether a harvest tells that the agent went on with a turn that a night has used."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_sleep_harvest import Memory, gather

from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sessions import Reading, Session, Turn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("prompt", "again"), [("two", True), ("/exit", False)])
def test_a_used_turn_that_grew_is_told_where_it_says_what_a_user_wants(
    tmp_path: Path, prompt: str, again: bool
) -> None:
    def source(answer: str, *more: Turn) -> Memory:
        turns = (Turn(prompt="one", answer="done"), Turn(prompt=prompt, answer=answer), *more)
        return Memory().put("a", Reading(session=Session(source="memory", id="a", project="/x", turns=turns)))

    with Ledger(tmp_path / "ledger.db", now=lambda: NOON) as ledger:
        ledger.take(1, gather(ledger, source("half")).entries)
        ledger.commit(1)
        (found,) = gather(ledger, source("whole", Turn(prompt="three", answer="done"))).sessions
        assert found.session.turns[-1].prompt == "three"
        assert found.again == again
