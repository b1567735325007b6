import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from etude.config import RunSection
from etude.errors import ConfigError, DataError, IdentityError, LockedError, SkillError, StopRun
from etude.events import Notice
from etude.records import File, Skill
from etude.redaction import Redactor
from etude.store import RunFolder, read_events
from etude.store.identity import differences
from etude.store.run import JsonlSink

NOTICE = Notice(level="info", text="hello")
SECRET = "open-sesame-1"
# Put together at run time, so that no scanner takes this file for a leak.
EXAMPLE = "Send `Authorization: Bearer " + "a1B2c3D4e5F6g7H8i9J0" + "`, as with sk-" + "abc123" * 5 + ".\n"


def section(tmp_path: Path, name: str = "first") -> RunSection:
    return RunSection(folder=str(tmp_path / "runs"), name=name)


@pytest.fixture
def run(tmp_path):
    with RunFolder.open(section(tmp_path)) as run:
        yield run


def test_opening_creates_the_folder_with_journal_and_events(run, tmp_path):
    assert (run.path, run.name) == (tmp_path / "runs" / "first", "first")
    assert {path.name for path in run.path.iterdir()} >= {"journal.db", "journal.db.lock", "events.jsonl"}


@pytest.mark.parametrize(("error", "answered", "stays"), [(DataError, 0, 0), (DataError, 1, 1), (StopRun, 0, 1)])
async def test_only_what_is_refused_before_anything_was_done_leaves_no_folder(tmp_path, error, answered, stays):
    async def work():
        return 7

    run = RunFolder.open(section(tmp_path))
    for number in range(answered):
        await run.journal.once("call", str(number), int, work)
    with pytest.raises(error), run:
        raise error("no")
    assert run.path.exists() == bool(stays)


def test_a_refusal_leaves_a_folder_that_was_there(run, tmp_path):
    run.close()
    with pytest.raises(DataError), RunFolder.open(section(tmp_path)):
        raise DataError("no")
    assert run.path.exists()


def test_a_second_opening_is_refused_until_the_first_is_closed(tmp_path):
    run = RunFolder.open(section(tmp_path))
    with pytest.raises(LockedError) as caught:
        RunFolder.open(section(tmp_path))
    assert str(caught.value) == (
        f"run folder {str(run.path)!r} is in use by another process\n"
        "hint: wait until that one has ended, or give `run.name` another value"
    )
    with RunFolder.open(section(tmp_path, "second")):
        pass
    run.close()
    run.close()
    RunFolder.open(section(tmp_path)).close()


@pytest.mark.parametrize("fork", [None, "first"])
def test_a_journal_in_another_format_is_refused_and_leaves_the_folder_unlocked(tmp_path, fork):
    with RunFolder.open(section(tmp_path)) as run, run.journal.database.write() as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    for _ in range(2):
        with pytest.raises(IdentityError):
            RunFolder.open(section(tmp_path, "second" if fork else "first"), fork=fork)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (" ", "it names nothing"),
        ("..", "it names nothing"),
        ("a/b", "it has a '/' or a '\\'"),
        ("a\\b", "it has a '/' or a '\\'"),
        *((name, "a shell reads it as something else") for name in ("~", "~root", "$HOME", "a`b`", "run*", "run?")),
        ("a\nb", "it has a character that cannot be seen"),
        ("-force", "it begins with a dash, as options do"),
        ("n" * 101, "it has 101 bytes, 100 are allowed"),
        ("é" * 51, "it has 102 bytes, 100 are allowed"),
        ("a\x7fb", "it has a character that cannot be seen"),
        ("a\udc80b", "it has a character that cannot be seen"),
        ("invoice\u202egpj.md", "it has a character that cannot be seen"),
        ("run.", "it begins or ends with a space, or ends with a dot"),
        ("run ", "it begins or ends with a space, or ends with a dot"),
    ],
)
def test_a_name_that_is_trouble_elsewhere_is_refused(tmp_path, name, why):
    for open_it in (
        lambda: RunFolder.open(section(tmp_path, name)),
        lambda: RunFolder.open(section(tmp_path, "second"), fork=name),
    ):
        with pytest.raises(ConfigError) as caught:
            open_it()
        assert caught.value.message.endswith(f"is not a plain folder name: {why}")
        assert caught.value.hint == "use letters, digits, '-' and '_', as in 'my-run'"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "name", ["run", "2024-01-01 a", "é", ".hidden", "a..b", "007", "n" * 100, "日本", "a-", "🎻"]
)
def test_plain_names_are_fine(tmp_path, name):
    with RunFolder.open(section(tmp_path, name)) as run:
        assert run.path == tmp_path / "runs" / name


def test_a_folder_that_cannot_be_made_or_used_is_a_config_error(tmp_path):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be used: Not a directory") as caught:
        RunFolder.open(RunSection(folder=str(tmp_path / "file")))
    assert caught.value.hint == "change `run.folder`"
    with pytest.raises(ConfigError, match="cannot be used: File name too long"):
        RunFolder.open(RunSection(folder=str(tmp_path / ("n" * 300))))
    (tmp_path / "runs" / "first" / "events.jsonl").mkdir(parents=True)
    for _ in range(2):
        with pytest.raises(ConfigError, match="cannot be used: Is a directory"):
            RunFolder.open(section(tmp_path))


def test_a_disk_that_is_full_stops_the_run_and_is_no_wrong_setting(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("etude.store.run.private_folder", full)
    with pytest.raises(StopRun, match="cannot be written: No space left on device"):
        RunFolder.open(section(tmp_path))


async def test_a_fork_starts_over_the_facts_of_its_parent_once(tmp_path):
    async def work():
        return 7

    with RunFolder.open(section(tmp_path)) as parent:
        await parent.journal.once("call", 1, int, work)
        with RunFolder.open(section(tmp_path, "second"), fork="first") as fork:
            assert fork.journal.counts() == {"call": 1}
            fork.journal.claim_identity({"seed": 2})
        await parent.journal.once("call", 2, int, work)
    with RunFolder.open(section(tmp_path, "second"), fork="first") as fork:
        assert fork.journal.counts() == {"call": 1}


def test_forking_needs_another_run_that_exists(tmp_path):
    with RunFolder.open(section(tmp_path)):
        pass
    with pytest.raises(ConfigError, match="fork = 'first' is this run itself"):
        RunFolder.open(section(tmp_path), fork="first")
    with pytest.raises(ConfigError, match=r"fork = '\.\./first' is not a plain folder name"):
        RunFolder.open(section(tmp_path, "second"), fork="../first")
    with pytest.raises(DataError) as caught:
        RunFolder.open(section(tmp_path, "second"), fork="third")
    runs = tmp_path / "runs"
    assert str(caught.value) == f"there is no run in {str(runs / 'third')!r}\nhint: runs in {str(runs)!r}: first"
    assert not (runs / "second").exists()


def test_json_is_written_the_same_whatever_the_order_of_fields(run):
    first = run.write_json("steps/0001/a.json", {"b": [1, None], "a": "é"}).read_bytes()
    second = run.write_json("steps/0001/a.json", {"a": "é", "b": (1, None)}).read_bytes()
    assert first == second == '{\n  "a": "é",\n  "b": [\n    1,\n    null\n  ]\n}\n'.encode()


def test_numbers_that_json_lacks_are_refused(run):
    with pytest.raises(ValueError, match="not JSON compliant"):
        run.write_json("a.json", float("nan"))
    assert not (run.path / "a.json").exists()


def test_texts_are_written_byte_for_byte(run):
    assert run.write_text("a.md", "é\r\n\u2028end").read_bytes() == "é\r\n\u2028end".encode()
    assert run.write_text("a.md", "a\ud800b").read_bytes() == b"a\\ud800b"
    assert json.loads(run.write_json("a.json", "a\ud800b").read_bytes()) == "a\ud800b"


def test_files_are_replaced_in_one_move_and_nothing_else_is_left(run):
    path = run.write_text("steps/0001/a.md", "one")
    with path.open() as reader:
        run.write_text("steps/0001/a.md", "two")
        assert reader.read() == "one"
    assert path.read_text() == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]


@pytest.mark.parametrize("relative", ["../a.md", "/tmp/a.md", "", ".", "link/a.md"])
def test_nothing_is_written_outside_of_the_folder(run, tmp_path, relative):
    (tmp_path / "elsewhere").mkdir()
    (run.path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="leads out of the run folder"):
        run.write_text(relative, "x")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_that_cannot_be_written_stops_the_run(run):
    run.write_text("steps", "in the way")
    with pytest.raises(StopRun, match="cannot be written: File exists") as caught:
        run.write_text("steps/a.md", "x")
    assert caught.value.hint == "free some space or fix the permissions, then run the same command again"


def test_diffs_tell_of_a_missing_line_end_and_break_lines_at_line_ends_only(run):
    path = run.write_candidate("steps/0001", "a\u2028b", "a\u2028b\n")
    assert path.with_suffix(".diff").read_text() == (
        "--- current\n+++ candidate\n@@ -1 +1 @@\n-a\u2028b\n\\ No newline at end of file\n+a\u2028b\n"
    )
    path = run.write_candidate("steps/0002", "", "")
    assert path.with_suffix(".diff").read_text() == ""


def test_the_best_skill_is_a_folder_with_its_files(run):
    files = {"scripts/go.sh": File(data=b"\xff\0", executable=True), "a.md": File(data=b"a")}
    path = run.write_best(Skill(name="my-skill", text="text", files=files))
    assert path == run.path / "best" / "my-skill"
    assert (path / "SKILL.md").read_text() == "text"
    assert (path / "scripts" / "go.sh").read_bytes() == b"\xff\0"
    assert os.access(path / "scripts" / "go.sh", os.X_OK)
    with pytest.raises(SkillError):
        run.write_best(Skill(name="../../x", text="text"))


def test_half_written_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    with RunFolder.open(section(tmp_path)) as run:
        path = run.write_best(Skill(name="my-skill", text="text"))
    (path / ".etude-0123456789abcdef").write_text("half of it")
    with RunFolder.open(section(tmp_path)):
        assert [file.name for file in path.iterdir()] == ["SKILL.md"]


async def test_the_key_itself_is_in_no_file_of_the_run_folder(tmp_path):
    async def work():
        return SECRET

    def files_with_the_key():
        files = [path for path in run.path.rglob("*") if path.is_file()]
        assert {"journal.db", "events.jsonl", "candidate.diff", "SKILL.md"} <= {path.name for path in files}
        return [path for path in files if b"sesame" in path.read_bytes()]

    with RunFolder.open(section(tmp_path), redactor=Redactor({"MY_KEY": SECRET})) as run:
        run.write_text("config.yaml", f"a: {SECRET}")
        run.write_json("summary.json", {"a": SECRET})
        run.write_skill(0, SECRET)
        run.write_candidate("steps/0001", f"old {SECRET}", f"new {SECRET}")
        run.write_best(Skill(text=SECRET))
        run.events.emit(Notice(level="info", text=SECRET))
        assert await run.journal.once("call", SECRET, str, work) == "[redacted:MY_KEY]"
        run.journal.claim_identity({"a": SECRET})
        assert files_with_the_key() == []
    assert files_with_the_key() == []


async def answer_of(run: RunFolder, text: str) -> str:
    async def work():
        return text

    return await run.journal.once("call", text, str, work)


def skill_texts(run: RunFolder, text: str) -> dict[str, bytes]:
    """What stands in the files when `text` is the skill, a candidate and the best skill."""
    candidate = run.write_candidate("steps/0001", "", text)
    paths = [
        run.write_skill(1, text),
        candidate,
        candidate.with_suffix(".diff"),
        run.write_best(Skill(text=text)) / "SKILL.md",
    ]
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        *((word, f"The answer is {word}.\n") for word in ("postgres", "international-standard", "200000000000")),
        (SECRET, EXAMPLE),
    ],
)
async def test_ordinary_words_and_examples_of_keys_stay_in_answers_and_skills(tmp_path, secret, text):
    with RunFolder.open(section(tmp_path), redactor=Redactor({"POSTGRES_PASSWORD": secret})) as run:
        assert await answer_of(run, text) == text
        assert run.journal.get("call", text, str) == text
        assert skill_texts(run, text) == {
            "0001.md": text.encode(),
            "candidate.md": text.encode(),
            "candidate.diff": f"--- current\n+++ candidate\n@@ -0,0 +1 @@\n+{text}".encode(),
            "SKILL.md": text.encode(),
        }


def test_events_and_views_are_cleared_of_all_that_looks_like_a_credential(run):
    clean = "Send `Authorization: Bearer [redacted:authorization]`, as with [redacted:api-key].\n"
    assert run.write_text("a.md", EXAMPLE).read_text() == clean
    assert json.loads(run.write_json("a.json", {"a": EXAMPLE}).read_bytes()) == {"a": clean}
    run.events.emit(Notice(level="info", text=EXAMPLE))
    assert [event["text"] for event in read_events(run.path)] == [clean]


def test_secrets_of_the_environment_are_kept_out_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    with RunFolder.open(section(tmp_path)) as run:
        for path in (run.write_text("a.md", f"say {SECRET}"), run.write_skill(0, f"say {SECRET}")):
            assert path.read_text() == "say [redacted:MY_KEY]"


def test_events_are_lines_with_their_time(tmp_path):
    sink = JsonlSink(tmp_path / "events.jsonl", now=lambda: datetime(2024, 5, 6, 7, 8, 9, 10_000, tzinfo=UTC))
    sink.emit(NOTICE)
    expected = '{"at": "2024-05-06T07:08:09.010Z", "kind": "notice", "level": "info", "text": "hello", "hint": ""}\n'
    assert (tmp_path / "events.jsonl").read_text() == expected
    sink.close()
    sink.emit(NOTICE)
    assert (tmp_path / "events.jsonl").read_text() == expected
    assert sink.failure is None


def test_a_torn_last_line_is_ended_before_the_next_event(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"kind": "notice"}\n{"kind": "not')
    for _ in range(2):
        sink = JsonlSink(tmp_path / "events.jsonl")
        sink.emit(NOTICE)
        sink.close()
    assert (tmp_path / "events.jsonl").read_text().count("\n") == 4
    assert [event.get("text") for event in read_events(tmp_path)] == [None, "hello", "hello"]


def test_odd_texts_stay_on_one_line(tmp_path):
    sink = JsonlSink(tmp_path / "events.jsonl")
    sink.emit(Notice(level="info", text="a\nb\u2028c\ud800"))
    sink.close()
    assert [event["text"] for event in read_events(tmp_path)] == ["a\nb\u2028c\ud800"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_event_log_and_not_the_run(tmp_path):
    (tmp_path / "events.jsonl").symlink_to("/dev/full")
    sink = JsonlSink(tmp_path / "events.jsonl")
    for _ in range(2):
        sink.emit(NOTICE)
    assert sink.failure is not None
    assert sink.failure.strerror == "No space left on device"
    sink.close()


@pytest.mark.parametrize(
    ("files", "said"), [(False, ["the initial skill has another text"]), (True, ["skill.files: was true, now false"])]
)
def test_trained_files_that_make_the_text_another_are_named_as_the_setting(files: bool, said: list[str]) -> None:
    settings = {"skill": {"files": files}}, {"skill": {"files": False}}
    assert differences({"skill": {"hash": "a"}}, {"skill": {"hash": "b"}}, settings) == said
