"""The suites of several skills, each audited with its own skill; luck is counted over all their tasks together."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from pydantic import Field

from etude.config import TrainConfig
from etude.measure.audit.suite import Auditing, TaskFault
from etude.measure.audit.unseen import unseen
from etude.measure.several import WRONG, Suite, side_by_side
from etude.records import Record
from etude.workbench import Given, Workbench, takes_given


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
    """Audit each skill on the tasks that it brings, as `aaudit_skill` does. `suites` are those of `acheck_suites`;
    errors as of `side_by_side`."""

    async def audited(bench: Workbench, suite: Suite) -> Auditing:
        work = Auditing(bench.rollout, bench.config, bench.skill, bench.split("test"), "test", 0)
        await work.attempt()
        await work.look()
        return work

    def table(works: Mapping[str, Auditing], problems: Mapping[str, str], sent: int) -> AuditTable:
        tried = {f"{name}/{task}": each for name, work in works.items() for task, each in work.tried.items()}
        certain = frozenset(f"{name}/{task}" for name, work in works.items() for task in work.certain)
        alike, rows = unseen(tried, certain, WRONG), list[AuditRow]()
        for suite in suites:
            if (work := works.get(suite.name)) is None:
                rows.append(AuditRow(skill=suite.name, problem=problems[suite.name]))
                continue
            mine = frozenset(task.id for task in work.tasks if f"{suite.name}/{task.id}" in alike)
            findings = tuple(work.findings(mine))
            rows.append(AuditRow(skill=suite.name, judged=len(work.tried), passed=work.passed, findings=findings))
        simulated = any(made.simulated for work in works.values() for made in work.made)
        return AuditTable(rows=tuple(rows), calls_sent=sent, simulated=simulated)

    return await side_by_side(config, suites, 1, given, audited, table)
