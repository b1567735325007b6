"""Nights in a row: which sessions they use, what they keep, and what they leave alone."""

from pathlib import Path

import pytest
from briefs_sessions import START
from small_night import MODELS, Counted, Finished, Small

from etude.errors import EtudeError
from etude.records import ChatRequest, Reply
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.report import read_report


class Mute(Counted):
    """Says nothing about sessions in which `topic` stands."""

    def __init__(self, topic: str) -> None:
        super().__init__(MODELS["optimizer"], lambda request: None)
        self._topic = topic

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        text = "\n".join(message.text for message in request.messages)
        silent = "# Conversation" in text and self._topic in text
        return reply.model_copy(update={"text": "I would rather not."}) if silent else reply


def statuses(small: Small) -> list[str]:
    return sorted(small.ledger().values())


def sessions_of(small: Small, night: int) -> set[str]:
    """Ids of the sessions that the tasks of a night come from."""
    return {one["id"] for task in small.tasks(night) for one in task["sessions"] if task["night"] == night}


def test_a_night_proposes_a_rule_and_changes_nothing_but_its_own_state(finished: Finished) -> None:
    small, report = finished.small, finished.report
    assert finished.untouched
    assert (report.status, report.resumes, report.simulated) == ("proposed", False, True)
    assert report.sessions == {"claude-code": 5}
    assert report.tasks == {"train": 3, "val": 2}
    assert [(one.name, one.status) for one in report.documents] == [("learned", "accepted"), ("memory", "unchanged")]
    assert (report.documents[0].baseline, report.documents[0].candidate) == (0, 1)
    (document,) = read_proposal(Path(report.proposal)).documents
    assert document.live.path.endswith(".claude/skills/learned/SKILL.md")
    assert report.spent.calls == small.answered
    assert report.started > START
    assert read_report(small.state, 1) == report
    state = small.state
    assert [folder.stat().st_mode & 0o777 for folder in (state.folder, state.nights, state.night(1))] == [0o700] * 3


def test_sessions_are_used_once(one: Small) -> None:
    small = one
    assert statuses(small) == ["used"] * 5
    answered = small.answered
    report = small.night()
    assert (report.night, report.status) == (2, "nothing to do")
    assert report.reason == "there is no session that no night has used"
    assert report.skipped == {"used before": 5}
    # Two probes and nothing else: the roles are asked whether they are there, before it is known what there is.
    assert small.answered == answered + 2
    assert report.spent.calls == 2


def test_sessions_beyond_the_limit_come_the_next_nights_and_none_is_lost_or_read_twice(small: Small) -> None:
    reports = [small.night({"max_tasks": 3}) for _ in range(2)]
    assert [report.sessions for report in reports] == [{"claude-code": 3}, {"claude-code": 2}]
    assert [report.waiting for report in reports] == [2, 0]
    read = [sessions_of(small, night) for night in (1, 2)]
    assert sum(map(len, read)) == len(set().union(*read)) == 5
    assert statuses(small) == ["used"] * 5


def test_the_first_night_says_how_to_take_in_what_is_older(small: Small) -> None:
    notes = [small.night({"lookback_hours": 24 * 297.5}).notes for _ in range(2)]
    hint = "`--sleep.lookback_hours null` takes in those of this project"
    assert f"left out: 3 sessions of all projects, older than sleep.lookback_hours = 7140; {hint}" in notes[0]
    assert not any(hint in note for note in notes[1])


def test_a_session_that_could_not_be_mined_is_tried_once_more(small: Small) -> None:
    mute = Mute(small.turns[0].prompt)
    report = small.night(given={"optimizer": mute})
    assert report.status == "proposed"
    assert report.sessions == {"claude-code": 5}
    assert len(report.problems) == 1
    assert report.problems[0].endswith("(the next night tries it again)")
    assert statuses(small) == ["queued", "used", "used", "used", "used"]
    report = small.night(given={"optimizer": mute})
    assert (report.status, report.reason) == ("nothing to do", "no session has a task in it")
    assert report.sessions == {"claude-code": 1}
    assert report.problems[0].endswith("(it was the second try, and the last)")
    assert statuses(small) == ["used"] * 5


def test_a_night_in_which_nothing_could_be_mined_uses_nothing_up(small: Small) -> None:
    with pytest.raises(EtudeError) as error:
        small.night(given={"optimizer": Mute("")})
    assert error.value.exit_code == 1
    assert "no session could be mined" in error.value.message
    assert statuses(small) == ["queued"] * 5
    report = small.night()
    assert (report.night, report.status) == (2, "proposed")
    assert statuses(small) == ["used"] * 5


def test_a_night_after_the_rule_was_adopted_finds_nothing_to_mend(one: Small) -> None:
    small = one
    adopt(Path(small.report().proposal), small.project, small.state.folder)
    small.write(5, 9)
    report = small.night()
    assert report.sessions == {"claude-code": 4}
    assert (report.status, report.reason) == (
        "no change",
        "no candidate was made: every validation task is solved already",
    )
    assert report.documents[0].baseline == 1
