"""The counts of corrections over nights, and which agents read which document."""

import json
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from sleep_proposals import Project, offer
from small_night import NOW, Small

from etude.errors import DataError
from etude.sleep.adoption.adopt import Adopted, adopt, receipts
from etude.sleep.adoption.canary import Corrections, Tally
from etude.sleep.config import SleepSection
from etude.sleep.state import SleepState
from etude.sleep.transcripts.corrections import CORRECTIONS, canaries, counted, keep, kept, reads
from etude.sleep.transcripts.harvest import Asked, Harvested, harvest
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.provenance import Snapshot
from etude.sleep.transcripts.sessions import Found, Reading, Session, Turn
from etude.sleep.transcripts.sources.base import Source


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


class One(Source):
    """Has one session."""

    name = "one"

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, home: Path, environ: Mapping[str, str]) -> list[Found]:
        del home, environ
        return [Found(source=self.name, id="a", path="/a", revision=self._session.hash, changed=NOW)]

    def read(self, found: Found) -> Reading:
        del found
        return Reading(session=self._session)


def adopted_at(small: Small, days: float) -> None:
    """Adopt a rule for the memory file, as if so many days after the first night."""
    place = Project(small.project, small.state.folder)
    receipt = adopt(offer(place, [(place.memory, "- A rule.\n")], night="0001"), place.root, place.state)
    at = NOW + timedelta(days=days)
    receipt.place(small.state.folder).write_text(receipt.model_copy(update={"at": at}).model_dump_json())


def test_a_night_leaves_counts_and_nothing_of_what_was_said(small: Small) -> None:
    small.night()
    found = kept(small.state)
    assert [(one.source, one.agent, one.turns) for one in found] == [("claude-code", "claude-code", 3)] * 5
    assert {one.corrected for one in found} <= {0, 1}
    (table,) = [path for path in small.state.folder.iterdir() if path.name == CORRECTIONS]
    rows = json.loads(table.read_text())["sessions"]
    assert all(set(row) == {"source", "id", "agent", "at", "turns", "corrected"} for row in rows)


def test_counts_grow_from_night_to_night_and_no_session_is_counted_twice(small: Small) -> None:
    small.night()
    small.night()
    assert len(kept(small.state)) == 5
    small.write(5, 8)
    small.night()
    found = kept(small.state)
    assert len(found) == 8
    keep(small.state, found)
    assert kept(small.state) == found


def test_a_night_that_fails_counts_nothing(small: Small) -> None:
    def broken(request: object) -> None:
        raise RuntimeError("the power is gone")

    small.before = broken
    with pytest.raises(Exception, match="power"):
        small.night()
    assert kept(small.state) == ()


def test_the_report_of_a_night_counts_its_own_sessions(small: Small) -> None:
    assert small.night().canary == ()
    adopted_at(small, -299)
    small.write(5, 8)
    (canary,) = small.night().canary
    assert (canary.verdict, canary.before.turns + canary.after.turns) == ("watching", 24)
    assert canaries(small.state, small.project) == (canary,)


def test_a_reverted_adoption_is_not_watched(small: Small) -> None:
    small.night()
    adopted_at(small, 0)
    assert len(canaries(small.state, small.project)) == 1
    (receipt,) = receipts(small.state.folder)
    place = receipt.place(small.state.folder)
    place.write_text(receipt.model_copy(update={"reverted": True}).model_dump_json())
    assert canaries(small.state, small.project) == ()


def test_a_damaged_table_is_told_before_anything_is_paid_for(small: Small) -> None:
    small.state.make()
    (small.state.folder / CORRECTIONS).write_text("{")
    with pytest.raises(DataError, match=r"corrections\.json' cannot be read"):
        small.night()
    assert (small.answered, small.state.numbers()) == (0, [])


def test_the_sessions_that_began_last_are_kept(tmp_path: Path) -> None:
    state = SleepState(tmp_path / "state")
    state.make()
    many = [
        Corrections(source="codex", id=str(n), agent="codex", at=NOW + timedelta(days=n), turns=1, corrected=0)
        for n in range(1005)
    ]
    keep(state, many[::-1])
    assert [one.id for one in kept(state)] == [str(n) for n in range(5, 1005)]


def test_only_sessions_of_the_project_count_and_converted_ones_are_the_agents(tmp_path: Path) -> None:
    def session(source: str, project: str) -> Harvested:
        turns = (Turn(prompt="Do it.", answer="Done.", at=NOW),)
        found = Session(source=source, id=source, project=project, turns=turns)
        return Harvested(session=found, new=0, snapshot=Snapshot(source=source, id=source))

    sleep = SleepSection(project=str(tmp_path), agent="gemini-cli")
    sessions = [session("jsonl", str(tmp_path / "sub")), session("codex", "/other"), session("pi", "")]
    assert [(one.source, one.agent) for one in counted(sleep, sessions)] == [("jsonl", "gemini-cli")]


@pytest.mark.parametrize(("more", "turns"), [((), 0), (("You forgot the tests.",), 1)])
def test_a_turn_that_the_agent_went_on_with_is_counted_once(
    tmp_path: Path, more: tuple[str, ...], turns: int
) -> None:
    complaint = Turn(prompt="No, that is wrong.", answer="On it.", at=NOW)
    asked = Turn(prompt="Do it.", answer="Done.", at=NOW)
    seen = (asked, complaint)
    now = (asked, complaint.model_copy(update={"answer": "Done."}))
    now += tuple(Turn(prompt=prompt, answer="Done.", at=NOW) for prompt in more)
    sleep = SleepSection(project=str(tmp_path))

    def harvested(turns: tuple[Turn, ...], number: int) -> tuple[Harvested, ...]:
        session = Session(source="one", id="a", project=str(tmp_path), turns=turns, started=NOW, ended=NOW)
        with Ledger(tmp_path / "ledger.db", now=lambda: NOW) as ledger:
            found = harvest([One(session)], ledger, Asked(now=NOW), home=tmp_path, environ={})
            ledger.take(number, found.entries)
            ledger.commit(number)
        return found.sessions

    first, then = counted(sleep, harvested(seen, 1)), counted(sleep, harvested(now, 2))
    assert [(one.turns, one.corrected) for one in first] == [(2, 1)]
    assert [(one.turns, one.corrected) for one in then] == [(1, 1)][:turns]


def document(path: Path) -> Adopted:
    return Adopted(
        name="x",
        kind="memory",
        path=str(path),
        real=str(path.resolve()),
        before=None,
        after="0",
        backup="",
        had_block=False,
    )


def test_agents_read_the_documents_at_their_places(tmp_path: Path) -> None:
    def readers(place: str) -> list[str]:
        agents = ("claude-code", "codex", "gemini-cli", "pi")
        return [agent for agent in agents if reads(agent, document(tmp_path / place), tmp_path)]

    assert readers("CLAUDE.md") == ["claude-code"]
    assert readers("AGENTS.md") == ["codex", "pi"]
    assert readers(".claude/skills/learned/SKILL.md") == ["claude-code"]
    assert readers(".agents/skills/learned/SKILL.md") == ["codex", "gemini-cli", "pi"]
    assert readers("docs/rules.md") == ["claude-code", "codex", "gemini-cli", "pi"]


def test_a_memory_file_that_is_a_link_is_read_by_both(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    both = document(tmp_path / "CLAUDE.md")
    assert [agent for agent in ("claude-code", "codex", "gemini-cli") if reads(agent, both, tmp_path)] == [
        "claude-code",
        "codex",
    ]


def test_counts_are_sums_over_sessions(small: Small) -> None:
    small.night()
    adopted_at(small, 0)
    (canary,) = canaries(small.state, small.project)
    assert canary.before == Tally(turns=15, corrected=sum(one.corrected for one in kept(small.state)))
    shutil.rmtree(small.base)
    assert canaries(small.state, small.project) == ()
