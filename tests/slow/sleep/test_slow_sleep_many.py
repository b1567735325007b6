"""A harvest is linear in the number of sessions."""

import time
from pathlib import Path

from week_sessions import MONDAY, Writer

from etude.sleep.transcripts.harvest import SessionQuery, harvest
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sources import sources_named

_MOST_SECONDS = 5.0
"""Of CPU, for 2,000 sessions."""


def test_two_thousand_sessions_are_harvested_in_seconds_and_known_again(tmp_path: Path) -> None:
    for number in range(2_000):
        session = Writer(tmp_path, tmp_path / "shop", f"p{number}", 0)
        session.turn(f"Write a brief on topic {number}.")
        session.write()
    asked = SessionQuery(now=MONDAY.replace(day=28), scope=str(tmp_path / "shop"))
    with Ledger(tmp_path / "ledger.json") as ledger:
        begun = time.process_time()
        found = harvest(sources_named(()), ledger, asked, home=tmp_path, environ={})
        ledger.take(found.entries)
        ledger.commit(1, found.entries)
        again = harvest(sources_named(()), ledger, asked, home=tmp_path, environ={})
        assert time.process_time() - begun < _MOST_SECONDS
    assert (len(found.taken), again.skipped) == (2_000, {"used before": 2_000})
