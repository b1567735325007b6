import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from task_files import mark_reviewed

from etude.envs.scorers.checks import Check
from etude.errors import DataError
from etude.sleep.tasks.files import TaskFile, read, replay, write
from etude.sleep.tasks.mined import MinedTask, SessionRef

TASKS = (
    MinedTask(
        id="one",
        intent="Write a commit message.",
        context="for this \u2028 diff",
        checks=(Check(op="max_chars", arg=72, requirement="It is short."),),
        rubric="It says why.",
        sessions=(SessionRef(source="codex", id="s1"),),
        night=3,
        feedback="satisfied",
    ),
    MinedTask(id="two", intent="Sum the column.", exact=("12",), split="val"),
)


def saved(folder: Path, data: Any) -> Path:
    path = folder / "tasks.json"
    path.write_text(json.dumps(data))
    return path


def own(**fields: Any) -> dict[str, Any]:
    return {"format": "etude.tasks", "version": 1, **fields}


def test_what_is_written_is_read_again_and_only_its_owner_may_look(tmp_path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text("old")
    written = write(path, TASKS, project="/p")
    assert written == TaskFile(tasks=TASKS, project="/p")
    assert read(path) == written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.json"]


def test_tasks_are_worked_on_only_when_a_person_has_reviewed_them(tmp_path) -> None:
    path = tmp_path / "tasks.json"
    write(path, TASKS)
    with pytest.raises(DataError, match=r"no person has reviewed these tasks \(reviewed: false\)\nhint: read them"):
        replay(path)
    mark_reviewed(path)
    assert replay(path) == (TASKS, {})


def test_a_file_without_tasks_can_be_read_and_not_worked_on(tmp_path) -> None:
    path = saved(tmp_path, own(reviewed=True, tasks=[]))
    assert read(path).tasks == ()
    with pytest.raises(DataError, match="has no tasks"):
        replay(path)


def test_a_list_of_tasks_alone_is_read_and_nobody_has_reviewed_it(tmp_path) -> None:
    rows = [TASKS[1].model_dump(mode="json"), {"id": "b", "intent": "Sort the names.", "rubric": "All are there."}]
    file = read(saved(tmp_path, rows))
    assert (file.tasks[0], file.tasks[1].id, file.reviewed) == (TASKS[1], "b", False)
    assert read(saved(tmp_path, [])).tasks == ()


ROW = {"id": "a", "intent": "Sort the names.", "rubric": "All are there."}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (4, "must be a valid dictionary"),
        ({"format": "x", "tasks": []}, "format = 'x': must be 'etude.tasks'\nhint: change 'format'"),
        (own(tasks=[], version=2), "version = 2: must be 1\nhint: change 'version'"),
        (own(), "'tasks' is missing"),
        (own(tasks=[], review=True), "unknown key 'review'\nhint: did you mean 'reviewed'?"),
        (own(tasks=[], reviewed="true"), "reviewed = 'true': must be true or false"),
        (
            own(tasks=[ROW, {**ROW, "intend": "x"}]),
            "unknown key 'tasks.1.intend'\nhint: did you mean 'tasks.1.intent'?",
        ),
        (own(tasks=[{"id": "a", "rubric": "r"}]), "'tasks.0.intent' is missing\nhint: add 'tasks.0.intent'"),
        (
            own(tasks=[{**ROW, "rubric": ""}]),
            "tasks.0: there is no criterion: give checks, a rubric or exact answers",
        ),
        (own(tasks=[ROW, ROW]), "two tasks have the id 'a'\nhint: correct it, or leave it out"),
        (own(tasks=[{**ROW, "command": ["pytest"]}]), "unknown key 'tasks.0.command'"),
        (own(tasks=[{**ROW, "checks": [{"op": "regex", "arg": "("}]}]), "tasks.0"),
        (own(tasks=[{**ROW, "checks": [{"op": "tool_called", "arg": "../../evil"}]}]), "evil"),
        (own(tasks=[{**ROW, "intent": "x" * 100_000}]), "tasks.0.intent"),
        (own(tasks=[{**ROW, "origin": "dream"}]), "a task of origin 'dream' is for training"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_place(tmp_path, data: object, message: str) -> None:
    path = saved(tmp_path, data)
    with pytest.raises(DataError) as error:
        read(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON: Expecting property name"),
        (b"[NaN]", "is not JSON: NaN is not a value"),
        (b"[" * 100_000, "is not JSON: maximum recursion depth exceeded"),
        (b"\xff", "cannot be read: 'utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_no_json_is_refused(tmp_path, content: bytes, message: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(path)


def test_a_missing_file_and_a_place_that_cannot_be_written_are_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"none\.json' cannot be read: "):
        read(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"tasks\.json' cannot be written: "):
        write(tmp_path / "none" / "tasks.json", TASKS)


def test_a_folder_in_the_place_of_the_file_leaves_nothing_behind(tmp_path) -> None:
    (tmp_path / "tasks.json").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / "tasks.json", TASKS)
    assert os.listdir(tmp_path) == ["tasks.json"]


def test_tasks_are_worked_on_without_the_secrets_that_their_file_holds(tmp_path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
    said = f"Say {key} aloud."
    unlike = Check(op="not_contains", arg=key, requirement=said)
    task = MinedTask(id="one", intent=said, context=said, rubric=said, exact=("12",), checks=(unlike,))
    path = tmp_path / "tasks.json"
    write(path, [task])
    mark_reviewed(path)
    tasks, redacted = replay(path)
    clean = "Say [redacted:token] aloud."
    shown = unlike.model_copy(update={"requirement": clean})
    assert tasks == (
        task.model_copy(update=dict.fromkeys(["intent", "context", "rubric"], clean) | {"checks": (shown,)}),
    )
    assert redacted == {"token": 4}


@pytest.mark.parametrize(
    ("criteria", "where"),
    [
        ({"exact": ("12", "marko@example.com")}, "exact"),
        ({"checks": (Check(op="contains", arg="marko@example.com"),)}, "check 'contains'"),
    ],
)
def test_an_answer_that_needs_what_is_taken_out_is_refused(tmp_path, criteria: dict[str, Any], where: str) -> None:
    path = tmp_path / "tasks.json"
    write(path, [MinedTask(id="one", intent="Whom do I write to? marko@example.com", **criteria)])
    mark_reviewed(path)
    with pytest.raises(
        DataError, match=f"task 'one': {where} asks for what looks like a secret \\(email\\)"
    ) as error:
        replay(path)
    assert "marko" not in error.value.message


def test_values_of_key_variables_are_taken_out(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_KEY", "plain-words-4711")
    path = tmp_path / "tasks.json"
    write(path, [MinedTask(id="one", intent="Open with plain-words-4711.", exact=("yes",))])
    mark_reviewed(path)
    assert replay(path)[0][0].intent == "Open with [redacted:HOUSE_KEY]."


def test_a_pipe_is_refused_and_a_link_to_a_file_is_followed(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="it is not a regular file"):
        read(tmp_path / "pipe")
    write(tmp_path / "tasks.json", TASKS)
    (tmp_path / "link.json").symlink_to("tasks.json")
    assert read(tmp_path / "link.json").tasks == TASKS
