"""The suites of several skills, each audited with its own skill; luck is counted over all their tasks together."""

from collections.abc import Sequence
from typing import Unpack

from pydantic import Field

from etude.comparison import open_test
from etude.config import TrainConfig
from etude.errors import DataError, StopRun, VoidStop
from etude.measure.audit.suite import Auditing, TaskFault
from etude.measure.audit.unseen import unseen
from etude.measure.audit.versions import VERSIONS
from etude.measure.several import WRONG, Suite, opened
from etude.records import Record
from etude.workbench import Given, takes_given


class AuditRow(Record):
    """What one suite can see of its skill."""

    skill: str
    """The name of its folder."""
    problem: str = ""
    """Why it was not audited; empty where it was."""
    judged: int = 0
    """Tasks that every version has attempted."""
    passed: dict[str, int] = Field(default_factory=dict[str, int])
    """Of these, by version, how many passed in its first attempt."""
    findings: tuple[TaskFault, ...] = ()


class AuditTable(Record):
    """Suites side by side."""

    rows: tuple[AuditRow, ...]
    error: float = WRONG
    """Which share, at most, of the tasks that no version is said to change is expected to be changed by one, over the
    whole table."""
    calls_sent: int
    """This time; 0 when the journal knew all answers."""
    simulated: bool


@takes_given
async def aaudit_suites(config: TrainConfig, suites: Sequence[Suite], **given: Unpack[Given]) -> AuditTable:
    """Audit each skill on the tasks that it brings, as `aaudit_skill` does. The journal of one run has all facts, and
    its limits hold for all suites together.

    Args:
        suites: those of `acheck_suites`.

    Raises:
        StopRun: a budget is used up or an endpoint is dead; its `summary` is the table so far.
        VoidStop, DataError: so many attempts errored that no suite could be audited.
    """
    works, problems, sent, simulated = dict[str, Auditing](), dict[str, str](), 0, False
    skills = [suite.skill for suite in suites if not suite.problem]
    failed: VoidStop | DataError | None = None

    def table() -> AuditTable:
        tried = {f"{name}/{task}": each for name, work in works.items() for task, each in work.tried.items()}
        certain = frozenset(f"{name}/{task}" for name, work in works.items() for task in work.certain)
        alike, rows = unseen(tried, certain, WRONG), list[AuditRow]()
        for suite in suites:
            work, problem = works.get(suite.name), suite.problem or problems.get(suite.name, "")
            if work is None:
                rows.append(AuditRow(skill=suite.name, problem=problem or "it was not finished"))
                continue
            mine = frozenset(task.id for task in work.tasks if f"{suite.name}/{task.id}" in alike)
            firsts = [each.scores for each in work.tried.values()]
            passed = {name: sum(scores[name][0].hard >= 1 for scores in firsts) for name in VERSIONS}
            rows.append(
                AuditRow(skill=suite.name, judged=len(firsts), passed=passed, findings=tuple(work.findings(mine)))
            )
        return AuditTable(rows=tuple(rows), calls_sent=sent, simulated=simulated)

    try:
        for suite in suites:
            if suite.problem:
                continue
            try:
                async with opened(config, suite, 1, given) as bench:
                    await open_test(bench, skills)  # all at once: a table opens the tests of all
                    skills, before = [], bench.spend.totals().total_calls
                    work = Auditing(bench.rollout, bench.config, bench.skill, bench.split("test"), "test", 0)
                    try:
                        await work.attempt()
                        await work.look()
                    finally:
                        sent += bench.spend.totals().total_calls - before
                        simulated = simulated or any(made.simulated for made in work.made)
                works[suite.name] = work
            except (VoidStop, DataError) as error:  # of this suite alone
                failed, problems[suite.name] = error, error.message
    except StopRun as stop:
        stop.summary = table()
        raise
    if failed and not works:
        raise failed
    return table()
