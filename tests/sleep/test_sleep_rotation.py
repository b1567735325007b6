"""After some nights it is drawn anew which clusters are trained on and which are held out. Test stays test."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_night import Small

from etude.errors import BudgetStop, EtudeError, StopRun
from etude.records import ChatRequest, Split
from etude.sleep.adoption.adopt import adopt, kept_rules
from etude.sleep.adoption.known import KNOWN, Memory
from etude.sleep.adoption.rules import Evidence, revised
from etude.sleep.improve.carry import Carried
from etude.sleep.night import read_report
from etude.sleep.state import SleepState
from etude.sleep.tasks.gather import archive, archived
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.rotation import ROTATION, Rotation, cited_tasks, counted, drawn_anew, read_rotation, rotated


def tasks(splits: Sequence[str]) -> tuple[MinedTask, ...]:
    """One for each cluster."""
    return tuple(
        MinedTask(
            id=f"m{number}",
            intent=f"Write brief {number}.",
            exact=("x",),
            cluster=f"c{number}",
            split=cast(Split, split),
        )
        for number, split in enumerate(splits)
    )


def sides(found: Sequence[MinedTask]) -> str:
    return "".join(task.split[0] if task.split != "test" else "T" for task in found)


@given(
    st.lists(st.sampled_from(["train", "val", "test"]), max_size=12), st.sets(st.integers(0, 11)), st.integers(1, 5)
)
def test_test_stays_locked_cited_clusters_are_trained_on_and_both_sides_have_one(
    splits: list[Split], cited: set[int], number: int
) -> None:
    before = tasks(splits)
    names = {f"m{one}" for one in cited}
    after = drawn_anew(before, names, number=number, val=0.34, seed=42)
    assert [one.split == "test" for one in after] == [split == "test" for split in splits]
    assert all(one.split != "val" for one in after if one.id in names)
    open_ = [one for one in after if one.split != "test"]
    free = [one for one in open_ if one.id not in names]
    if len(open_) > 1 and free:
        assert {one.split for one in open_} == {"train", "val"}
    assert drawn_anew(after, names, number=number, val=0.34, seed=42) == after


def test_each_rotation_draws_other_sides_and_a_seed_draws_the_same() -> None:
    before = tasks(["train", "val"] * 10)
    drawn = [sides(drawn_anew(before, (), number=number, val=0.34, seed=42)) for number in range(1, 6)]
    assert len(set(drawn)) == 5
    assert [found.count("v") for found in drawn] == [7] * 5
    assert sides(drawn_anew(before, (), number=1, val=0.34, seed=42)) == drawn[0]
    assert sides(drawn_anew(before, (), number=1, val=0.34, seed=43)) != drawn[0]
    assert sides(drawn_anew(before, (), number=1, val=0, seed=42)) == "t" * 20


def test_wordings_of_one_cluster_go_to_one_side() -> None:
    before = [
        task.model_copy(update={"cluster": f"c{at // 3}"}) for at, task in enumerate(tasks(["train", "val"] * 6))
    ]
    after = drawn_anew(before, {"m1"}, number=1, val=0.5, seed=1)
    assert all(len({task.split for task in after if task.cluster == f"c{name}"}) == 1 for name in range(4))
    assert after[0].split == "train"


def test_what_a_rule_rests_on_counts_with_what_its_earlier_texts_rested_on() -> None:
    first = revised(
        (), "- End with a recommendation.\n", "0001", {"- End with a recommendation.": Evidence(tasks=("m1",))}
    )
    text = "- End with a clear recommendation.\n"
    rules = revised(first, text, "0002", {text.strip(): Evidence(tasks=("recall:m2", "m3~a1b2c3"))})
    assert cited_tasks([rules]) == {"m1", "m2", "m3"}
    assert cited_tasks([revised(rules, "- Say nothing at all.\n", "")]) == set()


def test_only_nights_in_which_a_gate_decided_count_and_each_once(tmp_path: Path) -> None:
    state = SleepState(tmp_path / "state")
    state.make()
    for night, statuses in (
        (1, ["accepted"]),
        (2, ["unchanged", "unverified"]),
        (3, []),
        (4, ["unchanged", "rejected"]),
    ):
        counted(state, night, statuses)
        counted(state, night, statuses)
    assert read_rotation(state) == Rotation(nights=(1, 4))
    assert [read_rotation(state).due(after) for after in (0, 1, 2, 3)] == [False, True, True, False]


def test_a_night_draws_sides_anew_when_it_is_time(tmp_path: Path) -> None:
    small = Small(tmp_path, n=3)
    sleep = {"rotate_nights": 1, "max_sessions": 3}
    assert small.night(sleep).status == "proposed"
    assert read_rotation(small.state) == Rotation(nights=(1,))
    small.write(3, 6)
    report = small.night(sleep)
    assert (
        "rotation 1: it was drawn anew which clusters are trained on (nights with a gate decision before: 1)"
        in report.notes
    )
    assert read_rotation(small.state).number == 1
    never = Small(tmp_path / "never", n=3)
    never.night({"rotate_nights": 0})
    before = {task.id: task.split for task in archived(never.state)}
    never.write(3, 4)
    never.night({"rotate_nights": 0})
    assert read_rotation(never.state).number == 0
    assert before.items() <= {task.id: task.split for task in archived(never.state)}.items()


def test_clusters_behind_an_adopted_rule_stay_on_the_side_for_training(tmp_path: Path) -> None:
    small = Small(tmp_path)
    report = small.night()
    adopt(Path(report.proposal), small.project, small.state.folder)
    cited = cited_tasks(kept_rules(small.state.folder).documents.values())
    assert cited
    for number in range(1, 6):
        small.state.write(small.state.folder / ROTATION, Rotation(number=number, nights=(1,)).model_dump_json())
        found, _ = rotated(small.config({"rotate_nights": 1}), small.state, 2)
        assert {task.split for task in found if task.id in cited} == {"train"}


def test_clusters_that_a_carried_candidate_was_made_from_stay_on_the_side_for_training(tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)
    small.state.make()
    archive(small.state, tasks(["train", "val"] * 4))
    carried = Carried(night=1, before="0", text="New.", evidence={"- A rule.": Evidence(tasks=("m0", "recall:m2"))})
    small.state.write(small.state.folder / KNOWN, Memory(carried={"/p/SKILL.md": carried}).model_dump_json())
    for number in range(1, 6):
        small.state.write(small.state.folder / ROTATION, Rotation(number=number, nights=(1,)).model_dump_json())
        found, _ = rotated(small.config({"rotate_nights": 1}), small.state, 2)
        assert {task.split for task in found} == {"train", "val"}
        assert {task.split for task in found if task.id in ("m0", "m2")} == {"train"}


def test_a_night_that_drew_sides_and_was_stopped_tells_it_then_and_when_it_goes_on(tmp_path: Path) -> None:
    small = Small(tmp_path, n=3)
    sleep = {"rotate_nights": 1}
    small.night(sleep)
    small.write(3, 6)

    def stop(request: ChatRequest) -> None:
        if "# Conversation" in request.messages[-1].text:
            raise BudgetStop("enough 7712")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night(sleep)
    stopped = read_report(small.state, 2)
    assert stopped is not None
    small.before = lambda request: None
    report = small.night(sleep)
    note = "rotation 1: it was drawn anew which clusters are trained on (nights with a gate decision before: 1)"
    assert (report.night, stopped.notes, report.notes.count(note)) == (2, (note,), 1)


def test_an_older_proposal_that_is_adopted_later_takes_its_clusters_back(tmp_path: Path) -> None:
    small = Small(tmp_path)
    report = small.night()
    known = archived(small.state)
    archive(small.state, [task.model_copy(update={"split": "val"}) for task in known])
    adopt(Path(report.proposal), small.project, small.state.folder)
    found, notes = rotated(small.config(), small.state, 2)
    assert notes == ()
    assert "train" in {task.split for task in found}


@pytest.mark.parametrize("lost", [ROTATION, "archive.jsonl"])
def test_killed_at_either_write_the_next_night_draws_the_same(tmp_path: Path, lost: str) -> None:
    class Killed(SleepState):
        def write(self, path: Path, text: str) -> None:
            if path.name == lost:
                raise StopRun("killed")
            super().write(path, text)

    def project(name: str) -> Small:
        small = Small(tmp_path / name, n=0)
        small.state.make()
        archive(small.state, tasks(["train", "val", "test"] * 4))
        counted(small.state, 1, ["accepted"])
        return small

    whole, broken = project("whole"), project("broken")
    config = whole.config({"rotate_nights": 1})
    expected = rotated(config, whole.state, 2)
    with pytest.raises(StopRun):
        rotated(config, Killed(broken.state.folder), 2)
    assert rotated(config, broken.state, 2) == expected
    assert read_rotation(broken.state) == read_rotation(whole.state) == Rotation(number=1, night=2, before=1)
    assert rotated(config, broken.state, 2) == expected
    assert rotated(config, broken.state, 3) == (expected[0], ())


def test_a_damaged_count_is_told_before_anything_is_paid_for(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.state.make()
    (small.state.folder / ROTATION).write_text('{"number": ')
    with pytest.raises(EtudeError, match=r"rotation\.json' cannot be read") as error:
        small.night()
    assert error.value.hint == "restore it, or remove it"
    assert small.answered == 0
