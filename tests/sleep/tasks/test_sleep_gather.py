"""The parts that a night's tasks come from."""

from pathlib import Path
from typing import Any

import pytest
from small_night import NOW, Small
from task_files import mark_reviewed

from etude.envs.scorers.checks import Check
from etude.errors import ConfigError
from etude.records import Split
from etude.sleep.config import make_sleep_config
from etude.sleep.state import Surroundings, state_of
from etude.sleep.tasks.files import write
from etude.sleep.tasks.gather import archive, archived, divided, from_file, settings_of, sources_of
from etude.sleep.tasks.mined import MinedTask
from rows import rows

MODELS: dict[str, Any] = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
CHECKS = (Check(op="min_chars", arg=1, requirement="says something"),)


def task(name: str, **more: object) -> MinedTask:
    return MinedTask.model_validate({"id": name, "intent": f"Do the thing {name}.", "checks": CHECKS, **more})


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path, n=2)


def test_all_sources_that_were_tried_on_the_real_program_are_read_by_default(small: Small, tmp_path: Path) -> None:
    names = [source.name for source in sources_of(small.config())]
    assert {"claude-code", "codex"} <= set(names)
    assert "jsonl" not in names
    path = tmp_path / "t.jsonl"
    path.touch()
    with_file = [source.name for source in sources_of(small.config({"sources": ["codex", str(path)]}))]
    assert with_file == ["codex", "jsonl"]
    named = small.config({"sources": ["codex", "pi", "codex"]})
    assert [source.name for source in sources_of(named)] == ["codex", "pi"]


@pytest.mark.parametrize(
    ("sleep", "error"), [({"sources": ["nope.jsonl"]}, "sleep.sources: 'nope.jsonl' does not exist")]
)
def test_what_would_read_nothing_is_refused(small: Small, sleep: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sources_of(small.config(sleep))
    assert caught.value.message == error


def test_the_state_is_in_the_state_folder_of_the_user(small: Small, tmp_path: Path) -> None:
    around = Surroundings(home=tmp_path / "home", environ={}, now=lambda: NOW)
    assert state_of(small.config(), around).folder.parent == tmp_path / "home/.local/state/etude/sleep"
    assert state_of(small.config(), small.around).folder.parent == tmp_path / "state/etude/sleep"
    with pytest.raises(ConfigError, match="is not a folder"):
        state_of(small.config({"project": str(tmp_path / "none")}), around)


def test_the_archive_keeps_real_tasks_once_and_the_latest(small: Small) -> None:
    state = small.state
    assert archived(state) == ()
    state.make()
    archive(state, [task("a", night=1), task("b"), task("d~1", origin="dream", derived_from="d")])
    assert [one.id for one in archived(state)] == ["a", "b"]
    archive(state, [task("a", night=2), task("recall:b", origin="recall", derived_from="b")])
    assert [(one.id, one.night) for one in archived(state)] == [("b", None), ("a", 2)]
    archive(state, [task(f"n{number}") for number in range(1_000)])
    assert len(archived(state)) == 1_000
    assert archived(state)[0].id == "n0"


def test_a_reviewed_file_is_divided_only_when_it_says_nothing_of_sides(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    config = make_sleep_config({**MODELS, "sleep": {"tasks": str(path), "val_fraction": 0.5}})
    names = ("apples in the fridge", "letters to the bank", "the roof of the shed", "music for a party")
    tasks = [task(name, intent=f"Write about {name}.") for name in names]
    write(path, tasks)
    mark_reviewed(path)
    found = {one.split for one in from_file(config).tasks}
    assert found == {"train", "val"}
    before = settings_of(config)
    write(path, [tasks[0], tasks[1].model_copy(update={"split": "val"})])
    mark_reviewed(path)
    gathered = from_file(config)
    assert [(one.id, one.split) for one in gathered.tasks] == [(names[0], "train"), (names[1], "val")]
    now = settings_of(config)
    assert [name for name in now if now[name] != before[name]] == ["sleep.tasks"]


@rows(
    ("changed", "named"),
    [
        ({"reflect": {"preferences": "Say please."}}, "reflect.preferences"),
        ({"sleep": {"skill": "other"}}, "sleep.skill"),
        ({"target": {"model": "simulated:other"}}, "target.model"),
    ],
)
def test_a_setting_that_changed_is_named(changed: dict[str, Any], named: str) -> None:
    before, now = (settings_of(make_sleep_config({**MODELS, **more})) for more in ({}, changed))
    assert [name for name in now if now[name] != before.get(name)] == [named]


SUBJECTS = ("apples in the fridge", "letters to the bank", "the roof of the shed", "music for a party", "snow")


@pytest.mark.parametrize(("side", "other"), [("train", "val"), ("val", "train")])
def test_a_side_with_no_task_tonight_has_tasks_of_earlier_nights(side: Split, other: Split) -> None:
    known = [
        task(f"k{number}", intent=f"Write about {about}.", cluster=f"c{number}", split=side, project="/p")
        for number, about in enumerate(SUBJECTS[:4])
    ]
    tonight = task("new", intent=f"Write about {SUBJECTS[4]}.", project="/p")
    earlier = tonight.model_copy(update={"id": "old", "cluster": "c9", "split": other})
    elsewhere = task("far", intent="Write about Rome.", cluster="c8", split=side, project="/q")
    found = divided(make_sleep_config(MODELS), [tonight], [*known, earlier, elsewhere])
    assert [one.split for one in found.tasks] == [other, side, side, side]
    assert {one.derived_from or one.id for one in found.tasks[1:]} < {one.id for one in known}
    assert {one.origin for one in found.tasks[1:]} == ({"recall"} if side == "train" else {"real"})
    assert found.notes == (f"'{side}' has none tonight: in its place 3 tasks of earlier nights",)


def test_more_tasks_than_wanted_are_dropped_from_the_tail() -> None:
    tasks = [task(f"t{number}", intent=f"Write about {about}.") for number, about in enumerate(SUBJECTS)]
    found = divided(make_sleep_config({**MODELS, "sleep": {"max_tasks": 4}}), tasks, ())
    assert (len(found.tasks), len(found.later)) == (4, 1)
    assert found.dropped == {"more than sleep.max_tasks = 4": 1}


def test_a_file_whose_tasks_are_all_alike_has_nothing_to_hold_out(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    write(path, [task("one", intent="Write about apples."), task("two", intent="Please write about apples.")])
    mark_reviewed(path)
    gathered = from_file(make_sleep_config({**MODELS, "sleep": {"tasks": str(path)}}))
    assert len(gathered.notes) == 1
    assert gathered.notes[0].startswith("nothing was held out: ")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\r\n"])
def test_a_task_with_a_line_separator_of_any_kind_is_known_again(small: Small, separator: str) -> None:
    state = state_of(small.config(), small.around)
    state.make()
    mined = [task("a", context=f"In short:{separator}two."), task("b")]
    archive(state, mined)
    archive(state, [task("c")])
    assert archived(state) == (*mined, task("c"))
