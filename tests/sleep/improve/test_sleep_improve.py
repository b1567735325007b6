"""What a night makes of what it knows of its documents, and what its proposal carries."""

from pathlib import Path

import pytest
from briefs_sessions import START, write_claude
from small_night import Small, later

from etude.errors import DataError
from etude.sleep.adoption.adopt import reject
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.adoption.rules import Rule
from etude.sleep.report import NightReport


def test_what_nights_know_and_cannot_be_read_is_named_before_anything_is_asked(small: Small) -> None:
    small.state.make()
    known = small.state.folder / "rules.json"
    known.write_text('{"rejected": [')
    with pytest.raises(DataError, match=r"rules\.json' cannot be read") as error:
        small.night()
    assert (error.value.exit_code, error.value.hint) == (2, "restore it, or remove it")
    assert (small.answered, small.state.numbers()) == (0, [])


def report_rules(report: NightReport) -> list[Rule]:
    """What a night proposes."""
    documents = read_proposal(Path(report.proposal)).documents if report.proposal else ()
    return [rule for one in documents for rule in one.added]


def test_the_optimizer_is_told_of_what_was_turned_down_and_writes_it_no_more(one: Small) -> None:
    small, report = one, one.report()
    reject(Path(report.proposal), small.state.folder, [rule.id for rule in report_rules(report)])
    write_claude(small.home, small.turns[:5], str(small.project), later(START, days=50))
    seen: list[str] = []
    small.before = lambda request: seen.append("\n".join(message.text for message in request.messages))
    again = small.night()
    assert not {rule.text for rule in report_rules(again)} & {rule.text for rule in report_rules(report)}
    assert any("The user has turned down these rules" in text for text in seen)
