"""What a night knows of its documents reaches whom it is for, and what it has spent on them counts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from briefs_sessions import strict_checks, training_checks
from etude.sleep.improve.carry import Carried
from small_night import Small
from test_sleep_carry import SLEEP, a_night, with_rule
from test_sleep_consolidate import Optimizer

from etude.errors import BudgetStop
from etude.records import ChatRequest, Edit, LedgerEntry, Split
from etude.sleep.adoption.known import KNOWN, Memory, TriedEdit, read_memory, remember
from etude.sleep.improve.changes import Change, Known, LeftOut, Spent, unread_in
from etude.sleep.improve.documents import Improved, improve
from etude.sleep.tasks.gather import archive
from etude.sleep.tasks.mined import MinedTask, SessionRef
from etude.workbench import Given


def a_task(small: Small, number: int, split: Split = "train", **more: Any) -> MinedTask:
    checks = training_checks("structure") if split == "train" else strict_checks("structure")
    given = {"id": f"t{number}", "intent": small.turns[number].prompt, "checks": checks, "split": split, **more}
    return MinedTask.model_validate(given)


def improved(small: Small, tasks: Sequence[MinedTask], number: int, **sleep: Any) -> Improved:
    """What a night makes of these tasks."""
    small.state.make_night(number)
    given = Given(target=small.target, optimizer=small.optimizer)
    return asyncio.run(improve(small.config(sleep), tasks, small.state, number, Spent(), given))


# --- what no optimizer is told --------------------


@pytest.mark.parametrize("cluster", ["held out", "another"])
def test_what_was_learned_from_the_cluster_of_a_held_out_task_is_not_told_to_the_optimizer(
    tmp_path: Path, cluster: str
) -> None:
    """An earlier night trained on a task of it; the sides are drawn anew since."""
    small = Small(tmp_path, n=0)
    small.state.make()
    archive(small.state, [a_task(small, 9, cluster=cluster, night=1)])
    learned = Edit(op="append", content="- Say 7713.", cites=("a1",))
    tried = TriedEdit(step=1, edit=learned, fate="applied", accepted=False, tasks=("t9",))
    small.state.write(small.state.folder / KNOWN, Memory(tried={str(small.skill): (tried,)}).model_dump_json())
    improved(small, [a_task(small, 0), a_task(small, 1), a_task(small, 2, "val", cluster="held out")], 2)
    assert any("# Current skill" in text for text in small.optimizer.answered)
    assert any("Say 7713." in text for text in small.optimizer.answered) is (cluster == "another")


# --- what a look and the training after it cost --------------------


def test_a_look_at_a_carried_candidate_counts_for_the_budget_of_the_document(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        calls.append(request)
        later = (request.seed or 0) >= 2_000
        return "yes" if with_rule(request.messages[0].text) is not later else "no"

    calls = list[ChatRequest]()
    first = a_night(tmp_path, answer=answer)
    known = Known(night=2, carried=first.carried)

    def second(folder: str, limits: dict[str, int]) -> Change:
        optimizer = Optimizer("Say nothing.")
        calls.clear()
        try:
            return a_night(
                tmp_path / folder, known, answer=answer, optimizer=optimizer, config={"limits": {**limits}}
            )
        finally:
            calls.extend(optimizer.requests)

    change = second("whole", {"concurrency": 1})
    assert "the candidate of night 1 is rejected" in change.reason
    used = change.spent.calls
    assert used == len(calls)
    assert second("enough", {"concurrency": 1, "calls": used}).spent.calls == used
    with pytest.raises(BudgetStop):
        second("short", {"concurrency": 1, "calls": used - 2})
    assert len(calls) == used - 2


# --- sessions that wait --------------------


def test_sessions_wait_only_where_they_are_of_the_night_and_nothing_was_learned_from_them(tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)

    def of(session: str, **more: Any) -> MinedTask:
        sessions = (SessionRef(source="codex", id=session),)
        return a_task(small, 0, **{"night": 2, "sessions": sessions, **more})

    trained = a_night(tmp_path)
    passed = trained.model_copy(update={"origin": Carried(night=1, before="", text="")})
    tasks = [
        of("waits"),
        of("earlier", night=1),
        of("held", split="val"),
        of("recalled", origin="recall", derived_from="t0"),
        of("read"),
    ]
    assert unread_in([(tasks, passed), ([of("read")], trained)], 2) == (("codex", "waits"),)
    assert unread_in([(tasks, trained)], 2) == ()


def test_skills_that_are_skipped_are_told_beside_sessions_that_wait(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.night({"confirm_trials": 2})
    carried = (small.state.folder / KNOWN).read_text()
    small.write(5, 14)
    assert small.night({"confirm_trials": 2}).documents[0].origin == 1
    (small.state.folder / KNOWN).write_text(carried)
    path = small.project / ".claude" / "skills" / "briefs" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe")
    tasks = [MinedTask.model_validate({**task, "skill": "briefs"}) for task in small.tasks(2)]
    tonight = [task.model_copy(update={"night": 3}) for task in tasks if task.night == 2]
    found = improved(small, tonight, 3, confirm_trials=2, fan_out=True)
    assert [document.origin for document in found.documents] == [1]
    skipped, wait = found.notes
    assert skipped.startswith("the skill 'briefs' is not improved: ")
    assert wait == (
        f"sessions that wait, as a candidate of an earlier night passed before they were read: {len(found.unread)}"
    )


# --- how much is kept --------------------


def test_the_last_trials_and_edits_are_kept_and_each_once(tmp_path: Path) -> None:
    small = Small(tmp_path, n=0)
    small.state.make()
    change = a_night(tmp_path, sleep={**SLEEP, "carry_nights": 0})
    (entry,) = change.edits
    for night, rules in ((1, range(400)), (2, range(300, 650)), (2, range(300, 650))):
        left_out = tuple(LeftOut(rule=str(number), text="- A rule.", tasks=1) for number in rules)
        contents = [f"- Rule {night} {number}." for number in range(150)]
        ledger = tuple(of_content(entry, content) for content in contents)
        held_out = change.held_out.model_copy(update={"ledger": ledger})
        came = change.model_copy(update={"left_out": left_out, "held_out": held_out})
        remember(small.state, read_memory(small.state), night, [("/p/SKILL.md", came, None)])
    memory = read_memory(small.state)
    trials, tried = memory.trials["/p/SKILL.md"], memory.tried["/p/SKILL.md"]
    assert (len(trials), next(iter(trials)), list(trials)[-1]) == (500, "150", "649")
    assert (trials["299"].night, trials["300"].night) == (1, 2)
    assert (len(tried), tried[0].edit.content, tried[-1].edit.content) == (200, "- Rule 1 100.", "- Rule 2 149.")


def of_content(entry: LedgerEntry, content: str) -> LedgerEntry:
    return entry.model_copy(update={"edit": entry.edit.model_copy(update={"content": content})})
