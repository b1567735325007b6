"""What a night knows of its documents reaches whom it is for, and what it has spent on them counts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from briefs_sessions import strict_checks, training_checks
from small_night import Small
from test_sleep_consolidate import Optimizer
from test_sleep_consolidate import night as a_night

from etude.records import Edit, LedgerEntry, Split
from etude.sleep.improve.documents import TrainingOutcome, improve
from etude.sleep.improve.groups import groups_of
from etude.sleep.improve.known import KNOWN, NightMemory, remember, remembered
from etude.sleep.tasks.gather import archive
from etude.sleep.tasks.mined import MinedTask
from etude.workbench import Given


def a_task(small: Small, number: int, split: Split = "train", **more: Any) -> MinedTask:
    checks = training_checks("structure") if split == "train" else strict_checks("structure")
    given = {"id": f"t{number}", "intent": small.turns[number].prompt, "checks": checks, "split": split, **more}
    return MinedTask.model_validate(given)


def improved(small: Small, tasks: Sequence[MinedTask], number: int, **sleep: Any) -> TrainingOutcome:
    """What a night makes of these tasks."""
    given = Given(target=small.target, optimizer=small.optimizer)
    config, folder = small.config(sleep), small.state.night(number) / "runs"
    groups, _ = groups_of(config, tasks, small.around, folder)
    return asyncio.run(improve(config, groups, small.state, number, given))


# --- what no optimizer is told --------------------


@pytest.mark.parametrize("cluster", ["held out", "another"])
def test_what_was_learned_from_the_cluster_of_a_held_out_task_is_not_told_to_the_optimizer(
    tmp_path: Path, cluster: str
) -> None:
    """An earlier night trained on a task of it; the sides are drawn anew since."""
    small = Small(tmp_path, n=0)
    small.state.make()
    archive(small.state, [a_task(small, 9, cluster=cluster, night=1)])
    learned = Edit(op="append", content="- Say 7713.", cites=("t9",))
    tried = LedgerEntry(step=1, edit=learned, fate="applied", accepted=False)
    small.state.write(small.state.folder / KNOWN, NightMemory(tried={str(small.skill): (tried,)}).model_dump_json())
    improved(small, [a_task(small, 0), a_task(small, 1), a_task(small, 2, "val", cluster="held out")], 2)
    assert any("# Current skill" in text for text in small.optimizer.answered)
    assert any("Say 7713." in text for text in small.optimizer.answered) is (cluster == "another")


# --- how much is kept --------------------


def test_the_last_edits_are_kept_and_each_once(tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)
    small.state.make()
    found, _ = a_night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."), sleep={"memory": False})
    change = found.changes[0]
    (entry,) = change.edits
    for night in (1, 2, 2):
        contents = [f"- Rule {night} {number}." for number in range(150)]
        ledger = tuple(of_content(entry, content) for content in contents)
        held_out = change.held_out.model_copy(update={"ledger": ledger})
        came = change.model_copy(update={"held_out": held_out})
        remember(small.state, remembered(small.state), [("/p/SKILL.md", came)])
    memory = remembered(small.state)
    tried = memory.tried["/p/SKILL.md"]
    assert (len(tried), tried[0].edit.content, tried[-1].edit.content) == (200, "- Rule 1 100.", "- Rule 2 149.")


def of_content(entry: LedgerEntry, content: str) -> LedgerEntry:
    return entry.model_copy(update={"edit": entry.edit.model_copy(update={"content": content})})
