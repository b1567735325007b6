"""The harvest of a night, from sources that live in memory."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError
from strict_source import in_zone

from etude.records import digest
from etude.redaction.redactor import Redactor
from etude.sleep.transcripts.cleaning import OBSERVERS, OWN
from etude.sleep.transcripts.harvest import Harvest, Harvested, SessionQuery, harvest, in_scope
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sessions import Found, Reading, Session, Turn
from etude.sleep.transcripts.sources import source_of
from etude.sleep.transcripts.sources.source import Source

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Memory(Source):
    """Sessions by id, each with when it was changed; what is an exception is raised."""

    name = "memory"

    def __init__(self, name="memory", broken: Exception | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.broken = broken
        self.readings: dict[str, Reading | Exception] = {}
        self.changed: dict[str, datetime | None] = {}
        self.copies: list[Found] = []
        self.reads: list[str] = []

    def add(self, id, *prompts, project="/code/app", at: datetime | None = NOON, **more) -> "Memory":
        turns = tuple(Turn(prompt=each, answer="done") for each in prompts)
        session = Session(source=self.name, id=id, project=project, turns=turns, ended=more.pop("ended", at))
        self.readings[id] = Reading(session=session, **more)
        self.changed[id] = at
        return self

    def put(self, id, reading, at: datetime | None = NOON) -> "Memory":
        self.readings[id] = reading
        self.changed[id] = at
        return self

    def find(self, home, environ):
        if self.broken is not None:
            raise self.broken
        return [*(self.found(id) for id in reversed(self.readings)), *self.copies]

    def found(self, id):
        reading = self.readings[id]
        session = reading.session if isinstance(reading, Reading) else None
        revision = "r" if session is None else digest(session.model_dump(mode="json"))
        return Found(source=self.name, id=id, path=f"/{id}", revision=revision, changed=self.changed[id])

    def _read(self, found):
        self.reads.append(found.id)
        reading = self.readings[found.id]
        if isinstance(reading, Exception):
            raise reading
        return reading


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.json") as ledger:
        yield ledger


def gather(ledger, *sources, environ=None, **asked) -> Harvest:
    return harvest(sources, ledger, SessionQuery(now=NOON, **asked), home=Path("/home/user"), environ=environ or {})


def night(ledger, number, *sources, **asked) -> list[str]:
    """A night that succeeds; returns the sessions it worked on."""
    found = gather(ledger, *sources, **asked)
    ledger.take(found.entries)
    ledger.commit(number, found.entries)
    return ids(found)


def new_turns(harvested: Harvested) -> tuple[Turn, ...]:
    return harvested.session.turns[harvested.new :]


def ids(found: Harvest) -> list[str]:
    return [each.session.id for each in found.sessions]


def test_sessions_come_clean_and_without_secrets_the_one_changed_first_first(ledger):
    source = Memory().add("b", "token=abc for me@example.org", "/clear", at=NOON).add("a", "hello", at=NOON - HOUR)
    other = Memory("other").add("c", "use open-sesame-1", at=NOON - HOUR / 2, skipped={"sidechain": 2})
    found = gather(ledger, source, other, environ={"MY_KEY": "open-sesame-1"})
    assert ids(found) == ["a", "c", "b"]
    assert [turn.prompt for turn in new_turns(found.sessions[2])] == ["token=[redacted:token] for [redacted:email]"]
    assert found.sessions[1].session.turns[0].prompt == "use [redacted:MY_KEY]"
    assert found.redacted == {"MY_KEY": 1, "email": 1, "token": 1}
    assert found.skipped == {"command": 1, "sidechain": 2}
    assert [(each.source, each.found, each.read, each.taken, each.beyond) for each in found.sources] == [
        ("memory", 2, 2, 2, 0),
        ("other", 1, 1, 1, 0),
    ]
    assert found.sources[0].redacted == {"email": 1, "token": 1}
    assert (found.problems, found.beyond) == ((), 0)


def test_a_used_session_is_read_no_second_time_and_a_resumed_one_gives_its_new_turns(ledger):
    source = Memory().add("a", "one", "two")
    assert night(ledger, 1, source) == ["a"]
    again = gather(ledger, source)
    assert (ids(again), again.skipped, source.reads) == ([], {"used before": 1}, ["a"])
    source.add("a", "one", "two", "three")
    resumed = gather(ledger, source)
    assert [turn.prompt for turn in resumed.sessions[0].session.turns] == ["one", "two", "three"]
    assert [turn.prompt for turn in new_turns(resumed.sessions[0])] == ["three"]


def test_the_turns_that_a_fork_has_from_another_session_are_context(ledger):
    source = Memory().add("fork", "one", "two", "three", copied=2).add("same", "one", "two", copied=2)
    found = gather(ledger, source)
    assert ids(found) == ["fork"]
    assert [turn.prompt for turn in found.sessions[0].session.turns] == ["one", "two", "three"]
    assert [turn.prompt for turn in new_turns(found.sessions[0])] == ["three"]
    assert found.skipped == {"nothing new": 1}
    assert night(ledger, 1, source) == ["fork"]
    assert gather(ledger, source).skipped == {"used before": 2}
    source.add("same", "one", "two", "four", copied=2)
    assert [turn.prompt for turn in new_turns(gather(ledger, source).sessions[0])] == ["four"]


def test_a_night_that_failed_consumes_nothing(ledger):
    source = Memory().add("a", "one")
    ledger.take(gather(ledger, source).entries)
    assert ids(gather(ledger, source)) == ["a"]
    assert night(ledger, 2, source) == ["a"]
    source.add("a", "one", "two")
    ledger.take(gather(ledger, source).entries)
    assert [turn.prompt for turn in new_turns(gather(ledger, source).sessions[0])] == ["two"]


def test_a_rewritten_past_starts_again(ledger):
    source = Memory().add("a", "one", "two")
    night(ledger, 1, source)
    found = gather(ledger, source.add("a", "other"))
    assert [turn.prompt for turn in new_turns(found.sessions[0])] == ["other"]


def test_new_turns_without_worth_are_used_up(ledger):
    source = Memory().add("a", "one")
    night(ledger, 1, source)
    source.add("a", "one", "/exit")
    found = gather(ledger, source)
    assert (ids(found), found.skipped) == ([], {"command": 1, "nothing new": 1})
    assert night(ledger, 2, source) == []
    assert gather(ledger, source).skipped == {"used before": 1}
    source.add("a", "one", "/exit", "two")
    assert [turn.prompt for turn in new_turns(gather(ledger, source).sessions[0])] == ["two"]


def test_sessions_past_the_limit_wait_whatever_their_age(ledger):
    source = Memory()
    for number in range(5):
        source.add(f"s{number}", "do it", at=NOON - number * HOUR)
    first = gather(ledger, source, limit=2, hours=5)
    assert (ids(first), first.beyond) == (["s4", "s3"], 3)
    ledger.take(first.entries)
    ledger.commit(1, first.entries)
    later = harvest(
        [source], ledger, SessionQuery(now=NOON + 100 * HOUR, limit=2, hours=5), home=Path("/home/user"), environ={}
    )
    assert (ids(later), later.beyond) == (["s2", "s1"], 1)
    assert later.skipped == {"used before": 2}
    ledger.take(later.entries)
    ledger.commit(2, later.entries)
    assert night(ledger, 3, source, hours=1) == ["s0"]


def test_a_waiting_session_is_not_read_again_while_the_limit_holds(ledger):
    source = Memory().add("a", "one", at=NOON - HOUR).add("b", "two").add("c", "/x")
    ledger.take(gather(ledger, source, limit=1).entries)
    source.reads.clear()
    found = gather(ledger, source, limit=1)
    assert (ids(found), found.beyond, source.reads, found.skipped) == (["a"], 1, ["a"], {"empty": 1})


def test_own_sessions_and_those_of_observers_are_left_out(ledger):
    source = Memory().add("own", f"{OWN}\nx").add("watch", OBSERVERS[0]).add("user", "hi")
    found = gather(ledger, source)
    assert ids(found) == ["user"]
    assert found.skipped == {"observer": 1, "own": 1}
    ledger.take(found.entries)
    ledger.commit(1, found.entries)
    statuses = {each.id: each.status for each in ledger.entries()}
    assert statuses == {"own": "own", "watch": "empty", "user": "used"}
    source.add("own", f"{OWN}\nx", "more")
    assert gather(ledger, source).skipped == {"empty": 1, "own": 1, "used before": 1}


def test_an_empty_session_is_read_again_once_it_has_changed(ledger):
    source = Memory().add("a", "/clear").put("b", Reading(skipped={"broken line": 3}))
    found = gather(ledger, source)
    assert found.skipped == {"broken line": 3, "command": 1, "empty": 2}
    assert night(ledger, 1, source) == []
    assert gather(ledger, source).skipped == {"empty": 2}
    assert ids(gather(ledger, source.add("a", "/clear", "hello"))) == ["a"]


def test_a_broken_source_stops_no_other_and_is_named(ledger):
    secret = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    broken = Memory("broken", ValueError(f"bad {secret} " + "x" * 1_000))
    source = Memory().add("a", "one").put("b", OSError("gone")).put("c", Reading(problem="no JSON"))
    found = gather(ledger, broken, source)
    assert ids(found) == ["a"]
    assert found.problems[0].startswith("broken: ValueError: bad [redacted:api-key] xxx")
    assert len(found.problems[0]) == 300
    assert sorted(found.problems[1:]) == [
        "memory: session 'b': cannot be read: OSError",
        "memory: session 'c': no JSON",
    ]
    assert found.skipped == {"unreadable": 2}
    assert [counts.source for counts in found.sources] == ["broken", "memory"]


class Exhausted(Redactor):
    """Fails at one text."""

    def redact_counted(self, text):
        if text == "two":
            raise MemoryError("no more")
        return super().redact_counted(text)


def test_a_session_that_cannot_be_worked_up_stops_no_other(ledger):
    source = Memory().add("a", "one").add("b", "two").add("c", "three")
    found = harvest(
        [source], ledger, SessionQuery(now=NOON), home=Path("/home/user"), environ={}, redactor=Exhausted()
    )
    assert ids(found) == ["a", "c"]
    assert found.problems == ("memory: session 'b': MemoryError: no more",)
    assert (found.skipped, found.sources[0].taken) == ({"unreadable": 1}, 2)
    assert [entry.status for entry in found.entries] == ["used", "used"]


def test_a_store_that_cannot_be_read_is_a_problem_and_not_an_empty_one(ledger, tmp_path):
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 100)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "sessions").symlink_to("sessions")
    asked = SessionQuery(now=NOON, hours=1)
    found = harvest([source_of("opencode"), source_of("codex")], ledger, asked, home=tmp_path, environ={})
    assert [problem.partition(":")[0] for problem in found.problems] == ["codex", "opencode"]
    assert "file is not a database" in found.problems[1]
    assert found.skipped == {"unreadable": 1}


def test_a_session_that_fails_after_it_was_used_keeps_how_far_it_was_used(ledger):
    source = Memory().add("a", "one")
    night(ledger, 1, source)
    source.put("a", Reading(problem="broken"))
    assert night(ledger, 2, source) == []
    source.add("a", "one", "two")
    assert [turn.prompt for turn in new_turns(gather(ledger, source).sessions[0])] == ["two"]


def test_of_copies_the_one_changed_last_is_read(ledger):
    source = Memory().add("a", "one", at=NOON)
    source.copies = [
        Found(source="memory", id="a", path="/old", revision="o", changed=NOON - HOUR),
        Found(source="memory", id="a", path="/unknown", revision="u"),
    ]
    found = gather(ledger, source)
    assert (ids(found), found.skipped, found.entries[0].revision) == (["a"], {"copy": 2}, source.found("a").revision)


def test_only_sessions_of_the_project_and_below_it_are_asked_for(ledger):
    source = Memory()
    for project in (
        "/code/app",
        "/code/app/sub",
        "/code",
        "/",
        "/code/app2",
        "/code/other/app",
        "",
        "app",
        "C:\\app",
    ):
        source.add(f"<{project}>", "do it", project=project)
    found = gather(ledger, source, scope="/code/app/")
    assert sorted(ids(found)) == ["</code/app/sub>", "</code/app>"]
    assert found.skipped == {"other project": 7}
    assert len(gather(ledger, source).sessions) == 9


def test_sessions_of_other_projects_are_not_read_again_until_they_are_asked_for(ledger):
    source = Memory().add("a", "one", project="/code/a").add("b", "two", project="/code/b")
    assert night(ledger, 1, source, scope="/code/a") == ["a"]
    source.reads.clear()
    assert gather(ledger, source, scope="/code/a").skipped == {"other project": 1, "used before": 1}
    assert source.reads == []
    assert ids(gather(ledger, source)) == ["b"]
    source.add("b", "two", "three", project="/code/b")
    assert gather(ledger, source, scope="/code/a").skipped == {"other project": 1, "used before": 1}
    assert source.reads == ["b", "b"]


def test_scope_follows_links_and_needs_no_folder_to_exist(tmp_path):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert in_scope(str(tmp_path / "link" / "sub"), str(tmp_path / "real"))
    assert in_scope(str(tmp_path / "real"), str(tmp_path / "link"))
    assert in_scope("/no/such/folder/x", "/no/such/folder")
    assert not in_scope("/no/such/folder/../x", "/no/such/folder")
    assert in_scope("", None)


def test_looking_back_compares_moments_and_not_their_texts(ledger):
    east = timezone(14 * HOUR)
    source = Memory()
    source.add("in", "one", at=NOON - 3 * HOUR)
    source.add("edge", "one", at=NOON - 4 * HOUR)
    source.put("east", Reading(session=source.readings["in"].session), at=(NOON - 3 * HOUR).astimezone(east))
    source.add("out", "one", at=NOON - 5 * HOUR)
    source.put("far", source.readings["out"], at=(NOON - 5 * HOUR).astimezone(east))
    source.add("touched", "one", at=NOON, ended=NOON - 9 * HOUR)
    source.add("timeless", "one", at=None)
    found = gather(ledger, source, hours=4)
    assert found.skipped == {"too old": 3}
    assert found.sources[0].taken == 4
    assert gather(ledger, source).skipped == {}


def test_a_look_back_over_a_change_of_the_clock_counts_hours_that_passed(ledger):
    # The clock in New York went from 2:00 to 3:00 on 8 March 2026: from 1:30 to 3:30 one hour passes.
    now = datetime(2026, 3, 8, 3, 30, tzinfo=ZoneInfo("America/New_York"))
    source = Memory().add("in", "one", at=now.astimezone(UTC) - 2 * HOUR)
    source.add("out", "one", at=now.astimezone(UTC) - 3 * HOUR)
    found = harvest([source], ledger, SessionQuery(now=now, hours=2), home=Path("/"), environ={})
    assert ids(found) == ["in"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York"])
def test_every_time_zone_gives_the_same_harvest(tmp_path, zone):
    source, start = Memory(), datetime(2026, 3, 8, tzinfo=UTC)
    for number in range(48):
        source.add(f"s{number}", "do it", at=start + number * HOUR / 2)
    asked = SessionQuery(now=start + HOUR * 18.25, hours=12, limit=30)

    def found(name) -> tuple[Harvest, Harvest]:
        with Ledger(tmp_path / name) as ledger:
            first = harvest([source], ledger, asked, home=Path("/"), environ={})
            ledger.take(first.entries)
            ledger.commit(1, first.entries)
            return first, harvest([source], ledger, asked, home=Path("/"), environ={})

    here = found("here")
    assert len(here[0].sessions) == 30
    with in_zone(zone):
        assert found("there") == here


def test_texts_that_no_file_can_hold_stop_nothing(ledger):
    source = Memory().add("a\ud800", "hi \ud800", project="/x\ud800").add("b", "hi", project="/x\0y")
    assert gather(ledger, source, scope="/x").skipped == {"other project": 2}
    assert sorted(night(ledger, 1, source)) == ["a\ud800", "b"]
    assert gather(ledger, source).skipped == {"used before": 2}


def test_bad_terms_are_refused():
    for bad in ({"limit": 0}, {"hours": 0}, {"hours": float("inf")}, {"now": datetime(2026, 1, 1)}):
        with pytest.raises(ValidationError):
            SessionQuery.model_validate({"now": NOON, **bad})
