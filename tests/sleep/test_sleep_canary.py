"""Corrections since an adoption and before it: what is counted, and when it is called worse."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from etude.sleep.adoption.adopt import Adopted, Receipt
from etude.sleep.adoption.canary import Corrections, Tally, corrections, fisher, watch
from etude.sleep.transcripts.sessions import Session, ToolUse, Turn

ADOPTED = datetime(2026, 9, 20, tzinfo=UTC)


def session(*turns: Turn, **more: Any) -> Session:
    return Session(**{"source": "codex", "id": "a", "started": ADOPTED, "turns": turns, **more})


def counts(days: int, turns: int, corrected: int, agent: str = "codex") -> Corrections:
    at = ADOPTED + timedelta(days=days)
    return Corrections(source=agent, id=f"{agent}{days}", agent=agent, at=at, turns=turns, corrected=corrected)


def receipt(**more: Any) -> Receipt:
    document = Adopted(
        name="memory",
        kind="memory",
        path="/p/AGENTS.md",
        real="/p/AGENTS.md",
        before=None,
        after="0",
        backup="",
        had_block=False,
    )
    return Receipt(**{"night": "0003", "number": 1, "documents": (document,), "at": ADOPTED, **more})


def by_all(agent: str, document: Adopted) -> bool:
    del agent, document
    return True


def test_a_correction_is_a_complaint_in_the_turn_after_an_answer() -> None:
    found = corrections(
        session(
            Turn(prompt="This is wrong, fix it.", answer="Done."),
            Turn(prompt="It still fails.", answer="Now?"),
            Turn(prompt="Thanks, it works.", answer="Good."),
            Turn(prompt="You forgot the tests.", tools=(ToolUse(name="edit"),)),
        ),
        "codex",
    )
    assert found is not None
    assert (found.turns, found.corrected) == (4, 2)


def test_the_first_ask_corrects_nothing_and_a_turn_without_an_agent_does_not_count() -> None:
    found = corrections(
        session(Turn(prompt="It still fails."), Turn(prompt="It still fails.", answer="Done.")), "codex"
    )
    assert found is not None
    assert (found.turns, found.corrected) == (1, 0)


def test_a_session_counts_from_its_first_turn_and_without_any_time_not_at_all() -> None:
    asked = Turn(prompt="Do it.", answer="Done.")
    timed = asked.model_copy(update={"at": ADOPTED + timedelta(hours=1)})
    times = [
        found and found.at
        for found in (
            corrections(session(turn, started=began), "codex") for turn, began in ((asked, ADOPTED), (timed, None))
        )
    ]
    assert times == [ADOPTED, timed.at]
    assert corrections(session(asked, started=None), "codex") is None


def test_of_a_session_that_went_on_only_what_is_new_counts_from_when_it_went_on() -> None:
    day = timedelta(days=1)
    turns = [
        Turn(prompt=prompt, answer="Done.", at=ADOPTED + n * day)
        for n, prompt in enumerate(["Do it.", "It still fails.", "You forgot the tests.", "Now the docs."])
    ]
    first, then = corrections(session(*turns[:2]), "codex"), corrections(session(*turns), "codex", 2)
    assert first is not None
    assert then is not None
    assert (first.at, first.turns, first.corrected) == (ADOPTED, 2, 1)
    assert (then.at, then.turns, then.corrected) == (ADOPTED + 2 * day, 2, 1)
    assert corrections(session(*turns), "codex", 4) is None


@pytest.mark.parametrize(
    ("before", "after", "p"),
    [
        # The tea of Fisher (1935), one-sided: 17 of 70, and 1 of 70 for the whole row.
        ((4, 1), (4, 3), 17 / 70),
        ((4, 0), (4, 4), 1 / 70),
        ((20, 0), (20, 0), 1.0),
        ((20, 20), (20, 20), 1.0),
        ((20, 5), (20, 0), 1.0),
    ],
)
def test_the_test_is_fishers(before: tuple[int, int], after: tuple[int, int], p: float) -> None:
    sides = [Tally(turns=turns, corrected=corrected) for turns, corrected in (before, after)]
    assert fisher(*sides) == pytest.approx(p)


def test_many_turns_are_counted_exactly() -> None:
    p = fisher(Tally(turns=20_000, corrected=2_000), Tally(turns=10_000, corrected=1_000))
    assert 0.5 < p < 0.52


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((40, 2), (19, 19), "watching"),
        ((19, 0), (40, 40), "watching"),
        ((40, 2), (20, 1), "no worse"),
        ((40, 20), (40, 1), "no worse"),
        ((40, 2), (40, 7), "no worse"),
        ((40, 2), (40, 9), "worse"),
    ],
)
def test_it_is_worse_where_more_turns_are_corrected_than_chance_explains(
    before: tuple[int, int], after: tuple[int, int], verdict: str
) -> None:
    (canary,) = watch([receipt()], [counts(-1, *before), counts(1, *after)], by_all)
    assert canary.verdict == verdict
    assert (canary.before, canary.after) == tuple(Tally(turns=turns, corrected=c) for turns, c in (before, after))
    assert (canary.p is None) == (verdict == "watching")
    assert (canary.night, canary.documents, canary.since) == ("0003", ("memory",), ADOPTED)


def test_only_sessions_of_agents_that_read_the_document_count() -> None:
    sessions = [counts(day, 30, 3, agent) for day in (-1, 1) for agent in ("codex", "claude-code")]
    (canary,) = watch([receipt()], sessions, lambda agent, document: agent == "codex")
    assert (canary.before.turns, canary.after.turns) == (30, 30)


def test_a_session_that_began_before_the_adoption_read_the_old_document() -> None:
    (canary,) = watch([receipt()], [counts(0, 5, 1), counts(-1, 7, 2)], by_all)
    assert (canary.before, canary.after) == (Tally(turns=7, corrected=2), Tally(turns=5, corrected=1))


def test_what_was_taken_back_and_what_has_no_time_is_not_watched() -> None:
    assert watch([receipt(reverted=True), receipt(at=None)], [counts(1, 30, 30)], by_all) == ()


def test_what_was_said_under_the_same_rules_before_is_no_baseline() -> None:
    """The night was adopted, taken back and adopted once more."""
    again = receipt(at=ADOPTED + timedelta(days=10))
    sessions = [counts(-1, 36, 4), counts(1, 36, 24), counts(11, 30, 20)]
    (canary,) = watch([receipt(reverted=True), again], sessions, by_all)
    assert (canary.before, canary.after) == (Tally(turns=36, corrected=4), Tally(turns=30, corrected=20))
    assert canary.verdict == "worse"
