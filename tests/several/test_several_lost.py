"""What failed calls and refused replies leave of a result: no score, no finding, and each verb says how many."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Task, make_config
from etude.cli import audit, prune, recheck, several
from etude.errors import DataError, RejectedRequest, VoidStop
from etude.measure.audit.suite import aaudit_skill, aaudit_suites
from etude.measure.pruning.prune import aprune_skill
from etude.measure.recheck import arecheck_skill
from etude.measure.several import Suite, acheck_suites, ameasure_skills
from etude.records import ChatRequest, Reply
from etude.testing import ScriptedModel

SKILL = Skill(name="answers", text="- Say yes to all that is asked.\n- Mind the gap.\n")
TASKS = [Task(id=f"t{n}", input=f"Is it {n}?", gold="yes") for n in range(12)]
FAILS, REFUSES = ("Is it 3?", "Is it 4?"), ("Is it 5?",)
LIMITS = {"max_void_eval": 0.3, "max_void": 0.3, "outage_seconds": 0.01}


def answer(request: ChatRequest) -> Reply | str | Exception:
    told, asked = (request.messages[place].text for place in (0, -1))
    if any(each in asked for each in FAILS):
        return RejectedRequest("no such luck")
    if any(each in asked for each in REFUSES):
        return Reply(text="", finish="refusal")
    return "yes" if "Say yes" in told else "no"


def given(folder: Path, env: ListEnvironment) -> Any:
    config = make_config({"run": {"folder": str(folder), "name": "t"}, "limits": LIMITS})
    return config, {"env": env, "target": ScriptedModel(answer), "skill": SKILL}


def suite() -> ListEnvironment:
    return ListEnvironment((), (), TASKS, scorer="exact")


def rechecked(folder: Path) -> Iterable[str]:
    config, parts = given(folder, suite())
    return recheck._lines(asyncio.run(arecheck_skill(config, **parts)), "")


def audited(folder: Path) -> Iterable[str]:
    config, parts = given(folder, suite())
    return audit._lines(asyncio.run(aaudit_skill(config, "test", **parts)))


def pruned(folder: Path) -> Iterable[str]:
    config, parts = given(folder, ListEnvironment(TASKS[5:], TASKS[:1], scorer="exact"))
    return prune._lines(asyncio.run(aprune_skill(config, **parts)))


def in_a_table(folder: Path, work: Any) -> Any:
    config, parts = given(folder, suite())

    async def measured() -> Any:
        suites = await acheck_suites(
            config, [Suite("answers", SKILL, lambda judge: parts["env"])], target=parts["target"]
        )
        return await work(config, suites, target=parts["target"])

    return asyncio.run(measured())


def all_audited(folder: Path) -> Iterable[str]:
    return audit._table_lines(in_a_table(folder, aaudit_suites))


def all_compared(folder: Path) -> Iterable[str]:
    async def work(config: Any, suites: Any, **more: Any) -> Any:
        return await ameasure_skills(config, suites, 1, **more)

    return several._lines(in_a_table(folder, work), "on just these tasks")


@pytest.mark.parametrize("verb", [rechecked, audited, pruned, all_audited, all_compared])
def test_each_verb_says_which_replies_were_refused_and_what_to_do(tmp_path: Path, verb: Any) -> None:
    (said,) = (line for line in verb(tmp_path) if line.startswith("refused"))
    assert said.endswith(": take another target.model, or leave out what it refuses")


@pytest.mark.parametrize(
    ("verb", "errors"),
    [(rechecked, "4 attempts errored; their tasks"), (audited, "8 attempts err"), (all_audited, "8 attempts err")],
)
def test_attempts_that_errored_are_told(tmp_path: Path, verb: Any, errors: str) -> None:
    assert any(line.startswith("errors") and errors in line for line in verb(tmp_path))


def test_a_row_says_how_many_tasks_could_not_be_judged(tmp_path: Path) -> None:
    _, row, *_ = all_audited(tmp_path)
    assert row.split()[:4] == ["answers", "10", "of", "12"]


def test_a_finding_says_that_replies_were_refused(tmp_path: Path) -> None:
    config, parts = given(tmp_path, ListEnvironment((), (), TASKS[:2], scorer="exact"))
    refused = ScriptedModel(lambda request: Reply(text="", finish="refusal"))
    found = asyncio.run(aaudit_skill(config, "test", **parts | {"target": refused}))
    assert [each.what for each in found.findings] == ["0 of 10 attempts passed, 10 refused"] * 2


def test_where_all_attempts_of_a_recheck_error_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "max_void_eval", 0.99)
    target = ScriptedModel(lambda request: RejectedRequest("no such luck"))
    config, parts = given(tmp_path, suite())
    with pytest.raises(VoidStop, match="12 of 12 test attempts errored"):
        asyncio.run(arecheck_skill(config, **parts | {"target": target}))
    odd = ScriptedModel(lambda request: "yes" if _odd(request) else RejectedRequest("no such luck"))
    with pytest.raises(DataError, match="no task of split 'test' has a score under both skills"):
        asyncio.run(arecheck_skill(config, **parts | {"target": odd}))


def _odd(request: ChatRequest) -> bool:
    """With the skill the odd ones have a reply, without it the even ones."""
    told, asked = (request.messages[place].text for place in (0, -1))
    return (int(asked.split()[-1].rstrip("?")) % 2 == 1) is ("Say yes" in told)
