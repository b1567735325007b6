"""The harvest of a night, from sources that live in memory."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError
from strict_source import in_zone

from etude.records import digest
from etude.redaction.redactor import Redactor
from etude.sleep.transcripts.cleaning import OWN
from etude.sleep.transcripts.harvest import Harvest, SessionQuery, harvest
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.scope import Scope
from etude.sleep.transcripts.sessions import Reading, Session, Turn, UnreadSession
from etude.sleep.transcripts.sources import source_of
from etude.sleep.transcripts.sources.source import Source
from rows import rows

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
        self.copies: list[UnreadSession] = []
        self.reads: list[str] = []

    def add(self, id, *prompts, project="/code/app", at: datetime | None = NOON, **more) -> "Memory":
        asked = more.pop("asked", None)
        times = [None] * len(prompts) if asked is None else [asked + number * HOUR for number in range(len(prompts))]
        scripted = more.pop("scripted", False)
        turns = tuple(
            Turn(prompt=each, at=moment, answer="done", scripted=scripted)
            for each, moment in zip(prompts, times, strict=True)
        )
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
        return UnreadSession(source=self.name, id=id, path=f"/{id}", revision=revision, changed=self.changed[id])

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


def new_turns(harvested: Session) -> tuple[Turn, ...]:
    return harvested.turns[harvested.new :]


def ids(found: Harvest) -> list[str]:
    return [each.id for each in found.taken]


def test_sessions_come_clean_and_without_secrets_the_one_changed_first_first(ledger):
    source = Memory().add("b", "token=abc for me@example.org", "/clear", at=NOON).add("a", "hello", at=NOON - HOUR)
    other = Memory("other").add("c", "use open-sesame-1", at=NOON - HOUR / 2, skipped={"sidechain": 2})
    found = gather(ledger, source, other, environ={"MY_KEY": "open-sesame-1"})
    assert ids(found) == ["a", "c", "b"]
    assert [turn.prompt for turn in new_turns(found.taken[2])] == ["token=[redacted:token] for [redacted:email]"]
    assert found.taken[1].turns[0].prompt == "use [redacted:MY_KEY]"
    assert found.redacted == {"MY_KEY": 1, "email": 1, "token": 1}
    assert found.skipped == {"command": 1, "sidechain": 2}
    assert found.sessions == {"memory": 2, "other": 1}
    assert (found.problems, found.waiting) == ((), 0)


def test_a_used_session_is_read_no_second_time_and_a_resumed_one_gives_its_new_turns(ledger):
    source = Memory().add("a", "one", "two")
    assert night(ledger, 1, source) == ["a"]
    again = gather(ledger, source)
    assert (ids(again), again.skipped, source.reads) == ([], {"used before": 1}, ["a"])
    source.add("a", "one", "two", "three")
    resumed = gather(ledger, source)
    assert [turn.prompt for turn in resumed.taken[0].turns] == ["one", "two", "three"]
    assert [turn.prompt for turn in new_turns(resumed.taken[0])] == ["three"]


def test_the_turns_that_a_fork_has_from_another_session_are_context(ledger):
    source = Memory().add("fork", "one", "two", "three", copied=2).add("same", "one", "two", copied=2)
    found = gather(ledger, source)
    assert ids(found) == ["fork"]
    assert [turn.prompt for turn in found.taken[0].turns] == ["one", "two", "three"]
    assert [turn.prompt for turn in new_turns(found.taken[0])] == ["three"]
    assert found.skipped == {"nothing new": 1}
    assert night(ledger, 1, source) == ["fork"]
    assert gather(ledger, source).skipped == {"used before": 2}
    source.add("same", "one", "two", "four", copied=2)
    assert [turn.prompt for turn in new_turns(gather(ledger, source).taken[0])] == ["four"]


def test_turns_that_another_session_has_from_the_same_moment_count_once(ledger):
    then = {"asked": NOON - 9 * HOUR}
    source = Memory().add("fork", "one", "two", "three", **then).add("back", "one", "four", **then)
    source.add("first", "one", "two", at=NOON - HOUR, **then).add("same words", "one", asked=NOON - HOUR)
    found = {each.id: [turn.prompt for turn in new_turns(each)] for each in gather(ledger, source).taken}
    assert found == {"first": ["one", "two"], "fork": ["three"], "back": ["four"], "same words": ["one"]}
    assert sorted(night(ledger, 1, source)) == ["back", "first", "fork", "same words"]
    other = Memory("other").add("fork", "one", "two", **then)  # another program may have taken the session over
    source.add("late", "one", "two", "five", at=NOON + HOUR, **then).add("whole", "one", "two", at=NOON, **then)
    found = gather(ledger, source, other)
    assert [[turn.prompt for turn in new_turns(each)] for each in found.taken] == [["five"]]
    assert found.skipped == {"nothing new": 2, "used before": 4}


def test_the_turns_that_a_fork_begins_with_as_its_parent_does_are_context_whenever_they_were_written_down(ledger):
    source = Memory().add("parent", "one", "two", "three", at=NOON - HOUR, asked=NOON - 9 * HOUR)
    source.add("fork", "one", "two", "four", parent="parent", asked=NOON)
    source.add("lost", "one", "five", parent="gone", asked=NOON - 3 * HOUR).add(
        "own", "one", parent="own", asked=NOON - HOUR
    )
    found = {each.id: [turn.prompt for turn in new_turns(each)] for each in gather(ledger, source).taken}
    assert found.pop("parent") == ["one", "two", "three"]
    assert found == {"fork": ["four"], "lost": ["one", "five"], "own": ["one"]}


def test_a_fork_that_is_read_before_its_parent_leaves_it_all_that_it_has_from_there(ledger):
    then = {"asked": NOON - 9 * HOUR}
    source = Memory().add("fork", "one", "two", "four", parent="parent", at=NOON - HOUR, **then)
    source.add("parent", "one", "two", "three", at=NOON, **then)
    for limit in (None, 1, 1):  # in one night, or in two
        found = gather(ledger, source, limit=limit)
        new = {each.id: [turn.prompt for turn in new_turns(each)] for each in found.taken}
        fork, parent = {"fork": ["four"]}, {"parent": ["one", "two", "three"]}
        one = parent if ledger.counts() == {"queued": 1, "used": 1} else fork
        assert new == (fork | parent if limit is None else one)
        if limit is not None:
            ledger.take(found.entries)
            ledger.commit(1, found.entries)
    assert ledger.counts() == {"used": 2}


def test_a_copy_with_nothing_new_in_it_takes_no_place_of_a_night(ledger):
    then = {"asked": NOON - 9 * HOUR}
    source = Memory().add("a", "one", at=NOON - 3 * HOUR, **then).add("b", "one", at=NOON - 2 * HOUR, **then)
    found = gather(ledger, source.add("c", "two", at=NOON - HOUR), limit=2)
    assert (ids(found), found.waiting) == (["a", "c"], 0)


def test_what_scripts_said_is_left_out_until_it_is_asked_for(ledger):
    source = Memory().add("a", "one", "two", scripted=True).add("b", "hello")
    assert night(ledger, 1, source) == ["b"]
    found = gather(ledger, source)
    assert found.skipped == {"told by a script": 2, "used before": 1}
    assert found.hints == ("left out: 2 prompts of scripts; sleep.scripts: true takes in what scripts said",)
    found = gather(ledger, source, scripts=True)
    assert (ids(found), found.hints) == (["a"], ())


def test_sessions_with_the_same_problem_are_named_together(ledger):
    source = Memory()
    for id in "abc":
        source.put(id, Reading(problem="packed"))
    assert gather(ledger, source).problems == ("memory: session 'a' and 2 more: packed",)


def test_a_night_that_failed_consumes_nothing(ledger):
    source = Memory().add("a", "one")
    ledger.take(gather(ledger, source).entries)
    assert ids(gather(ledger, source)) == ["a"]
    assert night(ledger, 2, source) == ["a"]
    source.add("a", "one", "two")
    ledger.take(gather(ledger, source).entries)
    assert [turn.prompt for turn in new_turns(gather(ledger, source).taken[0])] == ["two"]


def test_where_the_past_was_rewritten_what_follows_is_new(ledger):
    source = Memory().add("a", "one", "two", "three")
    night(ledger, 1, source)
    for prompts, new in ((("one", "other", "three"), ["other", "three"]), (("other",), ["other"])):
        found = gather(ledger, source.add("a", *prompts))
        assert [turn.prompt for turn in new_turns(found.taken[0])] == new
    assert gather(ledger, source.add("a", "one")).skipped == {"nothing new": 1}


def test_new_turns_without_worth_are_used_up(ledger):
    source = Memory().add("a", "one")
    night(ledger, 1, source)
    source.add("a", "one", "/exit")
    found = gather(ledger, source)
    assert (ids(found), found.skipped) == ([], {"command": 1, "nothing new": 1})
    assert night(ledger, 2, source) == []
    assert gather(ledger, source).skipped == {"used before": 1}
    source.add("a", "one", "/exit", "two")
    assert [turn.prompt for turn in new_turns(gather(ledger, source).taken[0])] == ["two"]


def test_sessions_past_the_limit_wait_whatever_their_age(ledger):
    source = Memory()
    for number in range(5):
        source.add(f"s{number}", "do it", at=NOON - number * HOUR)
    first = gather(ledger, source, limit=2, hours=5)
    assert (ids(first), first.waiting) == (["s4", "s3"], 3)
    ledger.take(first.entries)
    ledger.commit(1, first.entries)
    later = harvest(
        [source], ledger, SessionQuery(now=NOON + 100 * HOUR, limit=2, hours=5), home=Path("/home/user"), environ={}
    )
    assert (ids(later), later.waiting) == (["s2", "s1"], 1)
    assert later.skipped == {"used before": 2}
    ledger.take(later.entries)
    ledger.commit(2, later.entries)
    assert night(ledger, 3, source, hours=1) == ["s0"]


def test_a_waiting_session_is_not_read_again_while_the_limit_holds(ledger):
    source = Memory().add("a", "one", at=NOON - HOUR).add("b", "two").add("c", "/x")
    ledger.take(gather(ledger, source, limit=1).entries)
    source.reads.clear()
    found = gather(ledger, source, limit=1)
    assert (ids(found), found.waiting, source.reads, found.skipped) == (["a"], 1, ["a"], {"empty": 1})


def test_own_sessions_are_left_out(ledger):
    source = Memory().add("own", f"{OWN}\nx").add("user", "hi")
    found = gather(ledger, source)
    assert ids(found) == ["user"]
    assert found.skipped == {"own": 1}
    ledger.take(found.entries)
    ledger.commit(1, found.entries)
    statuses = {each.id: each.status for each in ledger.entries()}
    assert statuses == {"own": "own", "user": "used"}
    source.add("own", f"{OWN}\nx", "more")
    assert gather(ledger, source).skipped == {"own": 1, "used before": 1}


def test_a_session_of_a_subagent_is_counted_once(ledger):
    source = Memory().put("a", Reading(skipped={"subagent": 1})).put("b", Reading(skipped={"broken line": 2}))
    assert gather(ledger, source).skipped == {"subagent": 1, "broken line": 2, "empty": 1}


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
    assert found.sessions == {"memory": 1}


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
    assert (found.skipped, found.sessions) == ({"unreadable": 1}, {"memory": 2})
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
    assert [turn.prompt for turn in new_turns(gather(ledger, source).taken[0])] == ["two"]


def test_of_copies_the_one_changed_last_is_read(ledger):
    source = Memory().add("a", "one", at=NOON)
    source.copies = [
        UnreadSession(source="memory", id="a", path="/old", revision="o", changed=NOON - HOUR),
        UnreadSession(source="memory", id="a", path="/unknown", revision="u"),
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
    assert found.gone == {"/code": 1, "/code/app2": 1, "/code/other/app": 1, "app": 1, "C:\\app": 1}
    assert found.hints[0].startswith("folders that are gone: '/code' (1), '/code/app2' (1), ")
    more = found.model_copy(update={"gone": {**found.gone, "/x": 1, "/y": 2}})
    assert " and 2 more; sleep.other_paths" in more.hints[0]
    assert len(gather(ledger, source).taken) == 9
    converted = Memory("jsonl").add("a", "do it", project="/of another machine")
    assert gather(ledger, converted, scope="/code/app/").hints == ()
    ledger.take(found.entries)
    assert gather(ledger, source, scope="/code/app").gone == found.gone


def test_other_paths_of_a_project_are_in_scope_too(ledger):
    source = Memory().add("a", "one", project="/code/old/sub").add("b", "two", project="C:\\code\\App")
    asked = {"scope": "/code/app", "other_paths": ("/code/old", "c:\\code\\App")}
    assert sorted(ids(gather(ledger, source, **asked))) == ["a", "b"]


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


@rows(
    ("folder", "project", "inside"),
    [
        ("real", "link/sub", True),
        ("link", "real", True),
        ("none", "none/x", True),
        ("none", "none/../x", False),
        ("real", "repo", False),
        ("repo", "tree", True),
        ("repo/sub", "tree/sub/deep", True),
        ("repo/sub", "tree", False),
        ("tree/sub", "repo/sub", True),
        ("tree", "gone tree", True),
        ("tree", "real", False),
    ],
)
def test_scope_follows_links_and_worktrees_and_needs_no_folder_to_exist(tmp_path, folder, project, inside):
    (tmp_path / "real" / "sub").mkdir(parents=True, exist_ok=True)
    if not (tmp_path / "link").exists():
        (tmp_path / "link").symlink_to("real")
        for tree in ("tree", "gone tree"):
            about = tmp_path / "repo" / ".git" / "worktrees" / tree
            about.mkdir(parents=True)
            # Both ways in which git writes it.
            (about / "gitdir").write_text(
                f"{tmp_path}/tree/.git\n" if tree == "tree" else f"../../../../{tree}/.git\n"
            )
            (about / "commondir").write_text("../..\n")
        (tmp_path / "tree").mkdir()
        (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path / 'repo' / '.git' / 'worktrees' / 'tree'}\n")
    assert Scope([str(tmp_path / folder)]).has(str(tmp_path / project)) is inside


@rows(
    ("folder", "project", "inside"),
    [
        ("/mnt/c/Users/me/shop", "C:\\Users\\me\\shop", True),
        ("/mnt/c/Users/me/shop", "c:/Users/me/shop/sub", True),
        ("/mnt/c/Users/me/shop", "D:\\Users\\me\\shop", False),
        ("/home/me/shop", "\\\\wsl.localhost\\Ubuntu\\home\\me\\shop", True),
        ("/home/me/shop", "\\\\wsl$\\Ubuntu\\home\\me\\shop\\sub", True),
        ("/home/me/shop", "//wsl.localhost/Ubuntu/home/me/shop", True),
        ("C:\\Users\\me\\shop", "c:\\users\\me\\shop\\sub", True),
        ("/home/me/shop", "/home/me/Shop", False),
        ("/home/me/shop", "", False),
        ("/home/me/shop", "home/me/shop", False),
        ("/home/me/shop", "/home/me/shop\0", False),
    ],
)
def test_windows_and_its_linux_name_the_same_folders_differently(folder, project, inside):
    assert Scope([folder]).has(project) is inside
    assert Scope(None).has(project)


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
    assert len(found.taken) == 4
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
    assert len(here[0].taken) == 30
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
