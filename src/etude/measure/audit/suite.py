"""Can this suite see this skill? Four versions of it on the same tasks, and what is wrong with tasks and scorer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

from pydantic import Field

from etude.comparison import open_test
from etude.concurrency import together
from etude.config import TrainConfig, another_trial_tells
from etude.envs.scorers.rubric import Rubric
from etude.errors import EtudeError, SkillError, StopRun
from etude.events import ATTEMPTING, Notice, StageFinished, StageStarted
from etude.measure.audit.unseen import MOST, Tried, unseen
from etude.measure.audit.versions import VERSIONS, sentences, versions_of
from etude.measure.evaluate import kept, measuring
from etude.measure.several import WRONG, Suite, side_by_side
from etude.records import Evaluation, Record, Score, Skill, Split, Task, Trajectory, brief, role_of
from etude.records.tasks import Ended, counted_ends
from etude.run_log import counted
from etude.skill import Document
from etude.skill.blocks import is_hollow
from etude.stages.evaluation import FRESH, evaluate
from etude.stages.shared.contest import ERROR
from etude.stages.shared.nearest import common_words
from etude.stages.shared.rollout import Rollout, Whole
from etude.stages.shared.word_list import words_of
from etude.workbench import Given, Workbench, takes_given

Asked = Split | Literal["all"]
Kind = Literal["judge", "empty", "told", "passes", "fails"]
FAULTS: Mapping[Kind, tuple[str, str]] = {
    "judge": (
        "the same answer passes and fails when it is scored again",
        "write the rubric as criteria that can be decided one by one, or take a stronger judge or a steady check",
    ),
    "empty": ("an empty answer passes", "add a check of what has to be there"),
    "told": ("the task says what the skill says", "take these words out of the task"),
    "passes": (
        "no version changes it: it passes with all",
        "the model does it anyway: make it harder, or leave it out",
    ),
    "fails": (
        "no version changes it: it fails with all",
        "check its gold answer and scorer on one attempt; else the skill lacks what it needs, or the model does",
    ),
}
"""What may be wrong with a task, and the cure; a task has the first that is found."""
AGAIN = 2
"""Times that each different answer of the first attempts is scored again."""
_FEWEST, _SHARE = 4, 0.75
"""Words of a sentence of the skill that few tasks have, and the share of them in one sentence of a task that gives it
away."""
_WITHOUT = 4
"""Attempts without the skill at a task that has a sentence of it, at most, until one passes: where a target follows
what it was told in .6 of attempts, all fail in one of forty."""


class JudgedAnswer(Record):
    """An answer that was scored in a way that may come out otherwise."""

    task: Task
    answer: str
    passed: bool
    rubric: str = ""


class TaskFault(Record):
    """What is wrong with a task."""

    kind: Kind
    task: str
    asked: str  # ids are often made, and stand in no file
    what: str
    """As it was seen."""
    cure: str


class Seen(Record):
    """What a suite can see of its skill."""

    skill: str
    tasks: int = 0
    judged: int = 0
    """Of these, tasks that every version has attempted."""
    passed: dict[str, int] = Field(default_factory=dict[str, int])
    """Of these, by version, how many passed in its first attempt."""
    findings: tuple[TaskFault, ...] = ()
    undecided: tuple[str, ...] = ()
    """Tasks without a finding that came out alike in all attempts, which luck may do as well."""
    voids: int = 0
    ended: dict[Ended, int] = Field(default_factory=dict[Ended, int])
    unscored: int = 0
    """Answers that could not be scored again."""


class Audit(Seen):
    """One suite in full."""

    hash: str
    target: str
    split: Asked
    attempts: int
    """With a score, whether made now or earlier."""
    error: float = ERROR
    """Which share, at most, of the tasks that no version is said to change is expected to be changed by one."""
    test_openings: int
    """As in `SkillEvaluation`."""
    calls_sent: int
    """This time; 0 when the journal knew all answers."""
    scoring: str = Field(default="", exclude=True)
    """The fingerprint of the environment, by which labels are kept."""
    simulated: bool
    file: str = ""
    answers: tuple[JudgedAnswer, ...] = Field(default=(), exclude=True)
    """The different first answers that a judge has scored, for a person to label."""


def most_of_audit(tasks: int) -> tuple[int, int]:
    """The most attempts at so many tasks, and the most answers that are scored."""
    attempts = (len(VERSIONS) + MOST) * tasks
    return attempts, attempts + (1 + AGAIN * len(VERSIONS)) * tasks


@takes_given
async def aaudit_skill(config: TrainConfig, split: Asked = "all", **given: Unpack[Given]) -> Audit:
    """Attempt every task with the skill of the config, or the one given, without any, with its headings and with its
    opposite: once each, then up to six times more where all look alike. Score an empty answer, and each answer of the
    first attempts again.

    The run folder's journal is used and added to, so that nothing is paid for twice; the run itself is not changed.

    Raises:
        InputError: the skill is empty, the split is, or something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    async with measuring(config, given) as bench:
        if is_hollow(bench.skill.text):
            raise SkillError("the skill is empty, or has headings only", hint="give the skill that the suite is for")
        openings = await open_test(bench, [bench.skill]) if split in ("test", "all") else 0
        every = [task for some in bench.tasks.values() for task in some]
        tasks = every if split == "all" else bench.split(split)
        asked: Split = "test" if split == "all" else split
        first = 0 if split == "test" else FRESH  # those of the test are known where it was evaluated
        work = Auditing(bench.rollout, bench.config, bench.skill, tasks, asked, first)
        most = most_of_audit(len(tasks))[0]
        bench.emit(Notice(level="info", text=f"{counted(len(tasks), 'task')}: at most {most:,} attempts"))
        await work.attempt()
        await work.look()
        audit = Audit(
            **work.seen(bench.skill.name),
            hash=bench.skill.hash,
            target=", ".join(model.name for place, model in bench.models.items() if role_of(place) == "target"),
            split=split,
            attempts=sum(len(each) for made in work.made for each in made.scores.values()),
            test_openings=openings,
            calls_sent=bench.spend.sent,
            simulated=any(made.simulated for made in work.made),
            answers=tuple(work.answers),
            scoring=bench.rollout.env.fingerprint(),
        )
        return kept(bench, "audits", audit, [bench.skill], tasks, split)


class Auditing:
    """One audit under way: of a skill on tasks, which are attempted as those of a split, from this trial on."""

    def __init__(
        self, rollout: Rollout, config: TrainConfig, skill: Skill, tasks: Sequence[Task], split: Split, first: int
    ) -> None:
        self._rollout, self._config = rollout, config
        self._split: Split = split
        self._first = first
        self._versions = versions_of(skill)
        self.tasks = tasks
        self.scores: dict[str, dict[str, list[Score]]] = {task.id: {} for task in tasks}
        """By task and version."""
        self.made: list[Evaluation] = []
        self.unscored = 0
        self.answers: list[JudgedAnswer] = []
        self._seen: dict[Kind, dict[str, str]] = {"judge": {}, "empty": {}}
        """By task, what was seen."""
        self._gives_away = dict(_sentences_in(tasks, skill))
        """By task, the sentence of the skill that it has."""

    @property
    def tried(self) -> dict[str, Tried]:
        """The tasks that every version has attempted."""
        gate, found = self._config.gate, dict[str, Tried]()
        for name, scores in self.scores.items():
            if len(scores) == len(VERSIONS):
                first = [each[0].value(gate.metric, gate.mixed_weight) for each in scores.values()]
                found[name] = Tried(scores, max(first) - min(first))
        return found

    @property
    def passed(self) -> dict[str, int]:
        """By version, how many of these tasks passed in its first attempt."""
        firsts = [each.scores for each in self.tried.values()]
        return {name: sum(scores[name][0].hard >= 1 for scores in firsts) for name in VERSIONS}

    async def attempt(self) -> None:
        """All tasks with all versions, then those again on which these look alike, and without the skill those that
        have a sentence of it, until one passes."""
        emit, stage = self._rollout.emit, ATTEMPTING[self._split]
        emit(StageStarted(stage=stage, step=0, epoch=0, total=len(VERSIONS) * len(self.tasks)))
        await self._round(0, dict.fromkeys(VERSIONS, self.tasks))
        alike, left = len(self._alike()), len(self._open())
        emit(StageFinished(stage=stage, step=0, note=f"all versions look alike on {counted(alike, 'task')}"))
        if not left:
            return
        emit(StageStarted(stage=stage, step=0, epoch=0, total=MOST * left))
        for number in range(1, MOST + 1):
            asked = dict[str, list[Task]]()
            for task, version in self._open():
                asked.setdefault(version, []).append(task)
            await self._round(number, asked)
        emit(StageFinished(stage=stage, step=0, note=f"now on {len(self._alike()):,}"))

    def _alike(self) -> list[Task]:
        """Tasks on which all versions look alike, and another attempt may show otherwise."""
        tried, config = self.tried, self._config
        alike = [task for task in self.tasks if task.id in tried and tried[task.id].looks]
        return [task for task in alike if another_trial_tells(config, task)]

    def _open(self) -> list[tuple[Task, str]]:
        """Tasks to attempt again, and with which version."""
        tried, alike = self.tried, self._alike()
        told = [task for task in self.tasks if task.id in self._gives_away and task.id in tried and task not in alike]
        told = [task for task in told if not self._passes_without(task) and len(self._without(task)) < _WITHOUT]
        again = [(task, "none") for task in told if another_trial_tells(self._config, task)]
        return [*again, *((task, tried[task.id].next_version) for task in alike)]

    def _without(self, task: Task) -> list[Score]:
        """The attempts at a task without what the skill says."""
        return [one for name in ("none", "headings") for one in self.scores[task.id].get(name, ())]

    def _passes_without(self, task: Task) -> bool:
        return any(one.hard >= 1 for one in self._without(task))

    async def _round(self, number: int, asked: Mapping[str, Sequence[Task]]) -> None:
        trials, voids = range(self._first + number, self._first + number + 1), Counter[str]()
        for each in self.made:
            voids[each.skill_hash] += len(each.voids)
        parts = [(self._versions[name], some) for name, some in asked.items()]
        made = await together(
            evaluate(
                self._rollout, skill, some, self._split, trials=trials, of=Whole(len(self.tasks), voids[skill.hash])
            )
            for skill, some in parts
        )
        self.made += made
        for name, each in zip(asked, made, strict=True):
            for task, scores in each.scores.items():
                self.scores[task].setdefault(name, []).extend(scores)

    async def look(self) -> None:
        """Score an empty answer for each task and, where a score may come out otherwise, the first answers again."""
        if not self._rollout.env.repeatable:
            self._rollout.emit(Notice(level="info", text=f"scoring the first answers again, {AGAIN} times each"))
        async for _ in self._rollout.executor.stream(self._look, self.tasks):
            pass

    async def _look(self, task: Task) -> None:
        if await self._passes(task, Trajectory()):
            self._seen["empty"][task.id] = "it has full marks"
        scorer, known = getattr(self._rollout.env, "scorer", None), set[str]()
        rubric = scorer.rubric_of(task) if isinstance(scorer, Rubric) else ""
        for name in self.scores[task.id] if not self._rollout.env.repeatable else ():
            attempt = await self._rollout.attempt(task, self._versions[name], self._first)
            made = attempt.trajectory
            if attempt.outcome != "completed" or made.answer in known:
                continue
            known.add(made.answer)
            self.answers.append(JudgedAnswer(task=task, answer=made.answer, passed=attempt.solved, rubric=rubric))
            for blank in range(1, AGAIN + 1):  # with a line more it is the same answer, and another question
                again = await self._passes(task, made.model_copy(update={"answer": made.answer + "\n" * blank}))
                if again not in (None, attempt.solved):
                    self._seen["judge"][task.id] = f"an answer of version {name!r}"

    async def _passes(self, task: Task, made: Trajectory) -> bool | None:
        """None without a score."""
        try:
            return (await self._rollout.score(task, made)).hard >= 1
        except StopRun:
            raise
        except EtudeError:
            self.unscored += 1
            return None

    @property
    def certain(self) -> frozenset[str]:
        """Tasks of which another trial tells nothing new."""
        return frozenset(task.id for task in self.tasks if not another_trial_tells(self._config, task))

    def seen(self, name: str, alike: frozenset[str] | None = None) -> dict[str, Any]:
        """The fields of a `Seen`, of the suite of this name; `alike` as in `findings`."""
        tried, findings = self.tried, tuple(self.findings(alike))
        named = {each.task for each in findings}
        return {
            "skill": name,
            "tasks": len(self.tasks),
            "judged": len(tried),
            "passed": self.passed,
            "findings": findings,
            "undecided": tuple(task for task, each in tried.items() if each.looks and task not in named),
            "voids": sum(len(made.voids) for made in self.made),
            "ended": counted_ends(score for made in self.made for score in made.every_score),
            "unscored": self.unscored,
        }

    def findings(self, alike: frozenset[str] | None = None) -> Iterator[TaskFault]:
        """Kind by kind, in the order of the tasks; `alike` are those of `unseen`, by default over these tasks."""
        tried, named = self.tried, set[str]()
        told = {
            task.id: f"it says {self._gives_away[task.id]!r}"
            for task in self.tasks
            if task.id in self._gives_away and self._passes_without(task)
        }
        whats: dict[Kind, dict[str, str]] = {**self._seen, "told": told, "passes": {}, "fails": {}}
        for name in unseen(tried, self.certain) if alike is None else alike:
            if (kind := tried[name].looks) is not None:
                scores = [one for some in tried[name].scores.values() for one in some]
                passed = f"{len(scores) if kind == 'passes' else 0} of {len(scores)} attempts passed"
                ends = counted_ends(scores).items()
                whats[kind][name] = ", ".join([passed, *(f"{count} {how}" for how, count in ends)])
        for kind, whys in whats.items():
            for task in self.tasks:
                if task.id in whys and task.id not in named:
                    named.add(task.id)
                    asked = brief(task.input)
                    yield TaskFault(kind=kind, task=task.id, asked=asked, what=whys[task.id], cure=FAULTS[kind][1])


def _sentences_in(tasks: Sequence[Task], skill: Skill) -> Iterator[tuple[str, str]]:
    """Tasks that have a sentence of a skill, and this sentence."""
    common, body = common_words(tasks), Document.parse(skill.text).body
    lessons = [(text, set(words_of(text)) - common) for text in sentences(body)]
    for task in tasks:
        parts = [set(words_of(part)) for part in sentences(task.input)]
        for text, words in lessons:
            if len(words) >= _FEWEST and any(len(words & part) >= _SHARE * len(words) for part in parts):
                yield task.id, text
                break


class AuditRow(Seen):
    """One suite of a table; a skill goes by its folder."""

    problem: str = ""
    """Why it was not audited; empty where it was."""


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
            rows.append(AuditRow(**work.seen(suite.name, mine)))
        simulated = any(made.simulated for work in works.values() for made in work.made)
        return AuditTable(rows=tuple(rows), calls_sent=sent, simulated=simulated)

    return await side_by_side(config, suites, 1, given, audited, table)
