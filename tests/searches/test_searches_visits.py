"""Which training tasks the evidence search visits, and when it ends: in a world where skills do what a test says."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Task, Trainer
from etude.errors import BudgetStop, RejectedRequest
from etude.records import ChatRequest, Reply, Split
from etude.records.summary import Summary
from etude.searches import evidence
from etude.stages.shared.rollout import Rollout
from etude.testing import ScriptedModel

TASKS = [Task(id=f"t{number:02}", input=f"Task {number:02}.", gold="yes") for number in range(30)]
VAL = [Task(id=f"v{number}", input=f"Task {number}.", gold="yes") for number in range(90, 100)]
RULES = [f"Rule {number}." for number in range(6)]
"""Each mends one task."""
Solves = Callable[[int, str], bool]
"""Whether the target solves the task of a number with a skill of this text."""


def target(solves: Solves) -> ScriptedModel:
    def answer(request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        return f"<answer>{'yes' if solves(int(task[5:7]), skill) else 'no'}</answer>"

    return ScriptedModel(answer, name="scripted:target")


class InFlight(ScriptedModel):
    """Solves nothing, and counts the requests that are in flight before it answers the first: `first`."""

    def __init__(self) -> None:
        super().__init__(lambda _: "<answer>no</answer>", name="scripted:target")
        self.first = 0
        self._answered = False

    async def complete(self, request: ChatRequest) -> Reply:
        self.first += not self._answered
        await asyncio.sleep(0.2)
        self._answered = True
        return await super().complete(request)


class Optimizer(ScriptedModel):
    """Proposes these rules, one in each reading, about everything that it is shown; the last one again and again.
    `shown` are the task numbers that each reading was about, `passed` those that it was to compare with. It names no
    superfluous line."""

    def __init__(self, *rules: str) -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self.shown: list[set[int]] = []
        self.passed: list[set[int]] = []
        self._rules = rules

    def _answer(self, request: ChatRequest) -> str:
        data, _, passed = request.messages[1].text.partition("# Attempts that passed")
        if data.endswith("Name the superfluous lines."):
            return json.dumps({"reasoning": "because", "superfluous": []})
        self.shown.append({int(number) for number in re.findall(r"Task (\d\d)\.", data)})
        self.passed.append({int(number) for number in re.findall(r"Task (\d\d)\.", passed)})
        rule = self._rules[min(len(self.shown), len(self._rules)) - 1]
        cites = re.findall(r'<attempt id="([^"]+)"', data)
        edit = {"op": "append", "target": "", "content": rule, "reason": "why", "cites": cites}
        return json.dumps({"reasoning": "because", "edits": [edit]})


def run(
    folder: Path,
    solves: Solves | ScriptedModel,
    *rules: str,
    batch: int = 30,
    slots: int = 1,
    calls: int | None = None,
    **search: Any,
) -> tuple[Summary, Optimizer]:
    """A run whose steps are epochs, unless the search is set to stop at fewer failures."""
    optimizer = Optimizer(*rules)
    summary = Trainer(
        {
            "train": {"epochs": 6, "batch_size": batch},
            "search": {"failures": 30, **search},
            "reflect": {"minibatch_size": 30},
            "test": {"enabled": False},
            "env": {"allow_constant_gold": True},
            "limits": {"concurrency": slots, "calls": calls},
            "run": {"folder": str(folder)},
        },
        env=ListEnvironment(TASKS, VAL, scorer="exact"),
        skill=Skill(name="s", text="Answer.\n"),
        target=solves if isinstance(solves, ScriptedModel) else target(solves),
        optimizer=optimizer,
    ).train()
    return summary, optimizer


def visits(folder: Path) -> list[list[int]]:
    """Task numbers of each step, in the order in which they were attempted."""
    views = sorted((folder / "run/steps").glob("*/rollout.json"))
    return [[int(row["task"]["id"][1:]) for row in json.loads(view.read_text())] for view in views]


def test_a_step_goes_on_where_the_last_one_ended(tmp_path) -> None:
    run(tmp_path / "few", lambda number, _: number % 3 > 0, "Useless.", failures=3)
    run(tmp_path / "all", lambda number, _: number % 3 > 0, "Useless.")
    few, (everything, *_) = visits(tmp_path / "few"), visits(tmp_path / "all")
    first = next(count for count in range(1, len(few)) if sum(map(len, few[:count])) >= len(TASKS))
    assert first > 2
    assert [number for step in few[:first] for number in step] == everything
    assert sorted(everything) == list(range(len(TASKS)))


@pytest.mark.parametrize(
    ("solves", "sizes"),
    [
        (lambda number, skill: False, [8, 8, 14]),  # eight tasks at one of two, then twice as many, or what is left
        (lambda number, skill: True, [30]),  # none of eight: as many more as there are
    ],
)
def test_a_wave_is_as_long_as_the_missing_failures_make_likely(tmp_path, solves: Solves, sizes: list[int]) -> None:
    run(tmp_path, solves, "Useless.", failures=4, revisits=0)
    assert [len(step) for step in visits(tmp_path)][: len(sizes)] == sizes


def test_a_wave_has_a_share_of_the_tasks_where_there_are_many(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(evidence, "_SHARE", 2)
    run(tmp_path, lambda number, skill: False, "Useless.", failures=1, batch=4, revisits=0)
    assert [len(step) for step in visits(tmp_path)][:2] == [15, 15]


@pytest.mark.parametrize(("slots", "width"), [(1, 8), (16, 16), (30, 30), (1000, 30)])
def test_an_epoch_begins_with_a_wave_as_wide_as_the_slots(tmp_path, slots: int, width: int) -> None:
    """There are 30 tasks; four failures are looked for, so one slot begins with eight tasks."""
    run(tmp_path, lambda number, _: False, "Useless.", slots=slots, batch=10, failures=4)
    assert len(visits(tmp_path)[0]) == width


def test_all_slots_are_busy_from_the_first_attempt_on(tmp_path) -> None:
    slots = InFlight()
    run(tmp_path, slots, "Useless.", failures=4, slots=30)
    assert slots.first == 30


def test_a_step_learns_from_twice_as_many_failures_as_it_looks_for_and_the_next_from_the_others(tmp_path) -> None:
    _, optimizer = run(tmp_path, lambda number, _: False, "Useless.", failures=4, slots=30, revisits=0)
    order = visits(tmp_path)[0]
    assert len(order) == 30
    assert optimizer.shown[:2] == [set(order[:8]), set(order[8:12])]  # which failed already, so four will do


def test_a_task_that_an_edit_has_broken_is_read_next_to_the_attempt_that_passed(tmp_path) -> None:
    def solves(number: int, skill: str) -> bool:
        return number != 20 if "Rule 0." in skill else number > 0

    _, optimizer = run(tmp_path, solves, *RULES[:2])
    assert optimizer.shown[:2] == [{0}, {20}]
    assert 20 in optimizer.passed[1]


def test_a_failure_that_a_step_left_is_read_next_to_the_attempt_that_passed_before_it(tmp_path) -> None:
    def solves(number: int, skill: str) -> bool:
        return not 10 <= number < 22 if "Rule 0." in skill else number > 0

    _, optimizer = run(tmp_path, solves, "Rule 0.", "Useless.", failures=4, slots=30)
    assert [len(shown) for shown in optimizer.shown[:3]] == [1, 8, 4]
    assert all(
        len(passed & shown) == 3 for passed, shown in zip(optimizer.passed[1:3], optimizer.shown[1:3], strict=True)
    )


def test_a_later_epoch_begins_with_all_tasks_whose_outcome_is_not_known(tmp_path, monkeypatch) -> None:
    """What failed in the first is attempted again with the rule, so its outcome is known in the second."""
    made: list[int] = []
    batch = Rollout.batch

    async def counted(self: Rollout, tasks: Sequence[Task], skill: Skill, split: Split, **more: Any) -> Any:
        made.append(len(tasks) - len(more["known"]) if split == "train" and "known" in more else 0)
        return await batch(self, tasks, skill, split, **more)

    run(tmp_path / "order", lambda number, _: True, "Useless.")
    failing = visits(tmp_path / "order")[0][:10]
    monkeypatch.setattr(Rollout, "batch", counted)
    run(
        tmp_path / "run",
        lambda number, skill: number not in failing or ("Rule 0." in skill and number == failing[0]),
        *("Rule 0.", "Useless."),
        failures=1,
        slots=30,
    )
    assert sorted(made)[-2:] == [20, 30]


@pytest.mark.parametrize(("before", "after"), [(1, 30), (30, 1)])
def test_a_run_keeps_the_width_that_it_began_with_when_it_is_resumed_with_other_slots(
    tmp_path, before: int, after: int
) -> None:
    def train(folder: Path, slots: int, calls: int | None = None) -> None:
        run(folder, lambda number, _: number % 3 > 0, "Useless.", slots=slots, calls=calls, failures=4)

    train(tmp_path / "whole", before)
    with pytest.raises(BudgetStop):
        train(tmp_path / "cut", before, calls=9)
    train(tmp_path / "cut", after)
    assert visits(tmp_path / "cut") == visits(tmp_path / "whole")


def test_steps_that_change_nothing_grow_until_one_changes_the_skill(tmp_path) -> None:
    """With 2 failures looked for, a step attempts 4 tasks that all fail."""

    def solves(number: int, skill: str) -> bool:
        return "Rule." in skill and number in learnable

    learnable: set[int] = set()
    run(tmp_path / "none", solves, "Rule.", failures=2, revisits=0)
    sizes = [len(step) for step in visits(tmp_path / "none")]
    assert sizes[:4] == [4, 4, 8, 14]
    learnable = {visits(tmp_path / "none")[2][0]}
    run(tmp_path / "third", solves, "Rule.", failures=2, revisits=0)
    assert [len(step) for step in visits(tmp_path / "third")][:5] == [4, 4, 8, 4, 4]


def test_a_further_wave_is_no_shorter_than_the_failures_that_a_step_looks_for(tmp_path) -> None:
    run(tmp_path / "order", lambda number, _: True, "Useless.")
    order = visits(tmp_path / "order")[0]
    failing = {*order[:3], order[8]}
    run(tmp_path / "run", lambda number, _: number not in failing, "Useless.", failures=4)
    # One of eight is missing at 4 in 10: two or three tasks would do, for which four take no longer.
    assert visits(tmp_path / "run")[0] == order[:12]


@pytest.mark.parametrize(("fails", "size"), [(5, 10), (18, 30)])
def test_a_batch_ends_a_step_only_where_something_failed(tmp_path, fails: int, size: int) -> None:
    run(tmp_path / "order", lambda number, _: True, "Useless.")
    order = visits(tmp_path / "order")[0]
    run(tmp_path / "run", lambda number, _: number != order[fails], "Useless.", batch=10, failures=4)
    # None of ten failed, so four failures may take all that are left.
    assert visits(tmp_path / "run")[0] == order[:size]


def test_known_outcomes_take_no_waves(tmp_path, monkeypatch) -> None:
    waves: list[tuple[int, str]] = []
    batch = Rollout.batch

    async def counted(self: Rollout, tasks: Sequence[Task], skill: Skill, split: Split, **more: Any) -> Any:
        waves.append((more["step"], skill.hash))
        return await batch(self, tasks, skill, split, **more)

    monkeypatch.setattr(Rollout, "batch", counted)
    summary, _ = run(tmp_path, lambda number, _: number % 3 > 0, "Useless.", failures=4)
    first = next(step for step, _ in enumerate(visits(tmp_path), 1) if sum(map(len, visits(tmp_path)[:step])) >= 30)
    later = [step for step, _ in waves if step > first]
    assert later == list(range(first + 1, summary.steps + 1))
    assert len(waves) - len(later) > first


@pytest.mark.parametrize("slots", [1, 30])
@pytest.mark.parametrize("failures", [6, 8, 20])
def test_a_task_that_never_has_a_score_stops_no_run_where_all_others_are_known(
    tmp_path, failures: int, slots: int
) -> None:
    def answer(request: ChatRequest) -> str | Exception:
        number = int(request.messages[1].text[5:7])
        return RejectedRequest("not this one") if number == 7 else f"<answer>{'no' if number % 3 else 'yes'}</answer>"

    summary, _ = run(
        tmp_path, ScriptedModel(answer, name="scripted:target"), "Useless.", failures=failures, slots=slots
    )
    assert summary.stopped is None
    assert len({number for step in visits(tmp_path) for number in step}) == len(TASKS)


@pytest.mark.parametrize("revisits", [0, 4, 40])
def test_of_the_solved_tasks_only_a_sample_is_visited_again(tmp_path, revisits: int) -> None:
    run(tmp_path, lambda number, _: number >= 10, "Useless.", revisits=revisits)
    first, second = visits(tmp_path)
    assert len(first) == len(set(first)) == 30
    assert len(second) == len(set(second)) == 10 + min(revisits, 20)
    assert set(range(10)) <= set(second)


def test_the_sample_of_solved_tasks_is_another_one_in_each_epoch(tmp_path) -> None:
    run(tmp_path, lambda number, skill: number >= 10 or f"Rule {number}." in skill, *RULES, revisits=4)
    samples = [set(step) - set(range(mended, 10)) for mended, step in enumerate(visits(tmp_path)[1:5], 1)]
    assert [len(sample) for sample in samples] == [4] * 4
    assert len(set.union(*samples)) > 8


def test_a_mended_task_counts_as_solved(tmp_path) -> None:
    run(tmp_path, lambda number, skill: number >= 10 or f"Rule {number}." in skill, *RULES, revisits=0)
    assert [set(step) for step in visits(tmp_path)[1:4]] == [set(range(mended, 10)) for mended in (1, 2, 3)]


def test_a_revisited_task_that_fails_again_is_read(tmp_path) -> None:
    """The rule mends the tasks below ten and breaks task 20."""

    def solves(number: int, skill: str) -> bool:
        return ("Rule." in skill) is (number < 10) if number < 10 or number == 20 else True

    summary, optimizer = run(tmp_path / "with", solves, "Rule.", "Useless.", revisits=30)
    assert summary.accepted == 1
    assert optimizer.shown[:2] == [set(range(10)), {20}]
    _, optimizer = run(tmp_path / "without", solves, "Rule.", "Useless.", revisits=0)
    assert optimizer.shown == [set(range(10))]


def test_the_search_ends_after_two_epochs_that_bring_nothing(tmp_path) -> None:
    summary, _ = run(tmp_path, lambda number, _: False, "Useless.")
    assert (summary.steps, summary.accepted) == (2, 0)


def test_an_epoch_that_brings_something_starts_the_count_anew(tmp_path) -> None:
    rules = ("Useless.", "Rule.", "Useless.", "Useless.", "Never read.")
    summary, _ = run(tmp_path, lambda number, skill: number < 5 and "Rule." in skill, *rules)
    assert (summary.steps, summary.accepted) == (4, 1)


def test_an_epoch_without_tasks_to_visit_ends_without_a_step(tmp_path) -> None:
    summary, optimizer = run(tmp_path, lambda number, skill: "Rule." in skill, "Rule.", revisits=0)
    assert (summary.steps, summary.accepted, len(optimizer.shown)) == (1, 1, 1)
    assert (summary.stopped, summary.best.val.mean) == (None, 1.0)
