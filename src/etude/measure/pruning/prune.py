"""Shorten a skill that stands: what goes, what stays, and the evidence for both."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Unpack

from etude.config import TrainConfig, another_trial_tells
from etude.errors import ConfigError, DataError, SkillError
from etude.events import ATTEMPTING, Notice, StageFinished, StageStarted
from etude.measure.evaluate import measuring
from etude.measure.pruning.sieve import MOST, Sieve
from etude.records import Attempt, Edit, Record, Skill, digest
from etude.records.provenance import Change, Provenance, ProvenEdit, ProvenLine
from etude.records.summary import Interval, ShipVerdict
from etude.records.tasks import Ended, counted_ends
from etude.skill import save_skill, token_count
from etude.skill.blame import texts_of
from etude.skill.blocks import blocks_of, without_blocks
from etude.skill.diff import unified_diff
from etude.skill.folder import PROVENANCE
from etude.skill.parts import laid_out
from etude.stages.evaluation import FRESH
from etude.stages.shared.contest import decide
from etude.stages.shared.noise import Outcomes
from etude.stages.shared.rollout import PlannedAttempt
from etude.store.views import read_view
from etude.workbench import Given, Workbench, takes_given

WHOLE = 5
"""Attempts at a task with the whole skill, at most, until one passes."""

Fate = Literal["gone", "needed", "code", "section", "doubtful"]


class PrunedBlock(Record):
    """A block of the skill, and what became of it."""

    text: str
    fate: Fate
    """`gone`; `needed` by a task; not tested, as it holds `code`, or as no task needs anything of its `section`;
    `doubtful`, as a task that is too noisy never passed without it."""
    why: str
    tokens: int
    passed: int
    """Attempts that passed without it."""
    tasks: int
    """Tasks that passed without it."""


class Pruned(Record):
    """What came of pruning a skill."""

    skill: str
    hash: str
    before: int
    """Tokens."""
    after: int
    blocks: tuple[PrunedBlock, ...]
    witnesses: int
    """Tasks that passed with the whole skill: the others show nothing."""
    blind: tuple[str, ...]
    """Tasks that never did."""
    lost: tuple[str, ...]
    """Tasks that were given up for `allow_loss`."""
    noisy: tuple[str, ...]
    """Tasks that were given up, as they do not say what they need."""
    files: int
    """Files of the skill: they are not tested, and stay."""
    change: Interval
    """Mean score with the pruned skill minus that with the whole one, an attempt each at every task."""
    verdict: ShipVerdict
    """`do not ship` where the pruned skill is shown to be worse: nothing goes then."""
    attempts: int
    ended: dict[Ended, int]
    """Attempts whose last reply did not end by itself."""
    calls_sent: int = 0
    """This time; 0 when the journal knew all answers."""
    simulated: bool
    file: str
    """The pruned skill."""


def most_of_prune(tasks: int, allow_loss: float = 0.0) -> int:
    """The most attempts for so many tasks: each may be given up as too noisy, and asked twice where some may go."""
    return tasks * (WHOLE + MOST * (2 if allow_loss else 1) + 1)


@takes_given
async def aprune_skill(
    config: TrainConfig, *, allow_loss: float = 0.0, code: bool = False, **given: Unpack[Given]
) -> Pruned:
    """Leave out what no training or validation task needs. The journal of the run of `config` is used and added to,
    so nothing is paid for twice; the skill itself stays as it is, the shorter one is written to `pruned/`.

    Args:
        allow_loss: share of the tasks that may be lost, from 0 to below 1: those that alone need most text.
        code: also leave out blocks that hold code, names of functions or formulas.

    Raises:
        InputError: there is no task, the skill has no block that could go, the run has pruned another skill, or
            something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    async with measuring(config, given) as bench:
        pruning = _Pruning(bench, code)
        before = read_view(Path(bench.folder.path) / "pruned/prune.json", Pruned)
        if before is not None and before.hash != bench.skill.hash:
            raise ConfigError(f"run {bench.folder.name!r} has pruned another skill", hint="give another --name")
        bench.emit(Notice(level="info", text=pruning.plan(allow_loss)))
        bench.emit(StageStarted(stage=ATTEMPTING["train"], step=0, epoch=0))
        result, skill = await pruning.run(allow_loss)
        bench.emit(StageFinished(stage=ATTEMPTING["train"], step=0, note=f"{result.before} -> {result.after} tokens"))
        base = Path(bench.folder.path)
        place = save_skill(skill, base / "pruned")
        result = result.model_copy(update={"file": str(place)})
        bench.folder.write_json(f"pruned/{skill.name}/{PROVENANCE}", pruning.provenance(skill, result))
        bench.folder.write_text("pruned/prune.diff", unified_diff(pruning.skill.text, skill.text, "before", "after"))
        bench.folder.write_json("pruned/prune.json", result.model_dump(mode="json", exclude={"calls_sent"}))
        return result.model_copy(update={"calls_sent": bench.spend.sent})


class _Pruning:
    """Attempts, and what they say."""

    def __init__(self, bench: Workbench, code: bool) -> None:
        self.bench, self.skill = bench, laid_out(bench.skill)
        self.blocks = blocks_of(self.skill.text)
        self.tested = [number for number, block in enumerate(self.blocks) if code or not block.code]
        self.tasks = {task.id: task for split in ("train", "val") for task in bench.tasks[split]}
        self.once = {name for name, task in self.tasks.items() if not another_trial_tells(bench.config, task)}
        """Tasks of which another attempt with the same text tells nothing new."""
        if not self.tested:
            why, hint = "it has no text that may be edited", "give a skill with text outside of protected regions"
            if self.blocks:
                why, hint = "all of its blocks hold code", "--code tests such blocks as well"
            raise SkillError(f"nothing of skill {self.skill.name!r} can be left out: {why}", hint=hint)
        if not self.tasks:
            raise DataError(
                "there are no training or validation tasks",
                hint="bring more tasks, or give these splits a share in `env.ratio`",
            )
        self.made: list[tuple[frozenset[int], Attempt]] = []
        self.counts: dict[str, int] = {}
        self.bar: dict[str, float] = {}
        """By task, the value from which an attempt passes: the lowest with the whole skill that is above 0."""

    def plan(self, allow_loss: float) -> str:
        """What it costs, before the first attempt."""
        tasks, blocks = len(self.tasks), len(self.tested)
        most = most_of_prune(tasks, allow_loss)
        usual = min(3 * tasks + 10 * blocks, most)
        return (
            f"{blocks} of {len(self.blocks)} blocks are tested with {tasks} tasks: some {usual:,} attempts where "
            f"half of them are needed, at most {most:,}; limits.calls ends it earlier, and it can be resumed"
        )

    async def run(self, allow_loss: float) -> tuple[Pruned, Skill]:
        """Find what is needed, then compare."""
        known, first = await self._whole()
        search = Sieve(
            self.tested, {name: outcomes for name, outcomes in known.items() if outcomes.passed}, self.once
        )
        await self._searched(search)
        lost = self._dearest(search, int(allow_loss * len(search.tasks) + 1e-9))
        if lost:
            search.freed([block for block, task in search.needed.items() if task in lost], lost)
            await self._searched(search)
        fates = self._fates(search)
        gone = frozenset(number for number, (fate, _) in fates.items() if fate == "gone")
        compared = await self._attempts([(name, gone) for name in self.tasks]) if gone else first.values()
        last = {each.task.id: each for each in compared}
        both = [name for name in self.tasks if name in first and last[name].score is not None]
        if not both:
            raise DataError("no task has a score", hint="`etude doctor` and `etude evaluate` show why")
        values = [[self._value(each[name]) for name in both] for each in (first, last)]
        verdict = decide(values[0], values[1], -allow_loss)
        if verdict.verdict == "do not ship":
            gone = frozenset[int]()
            fates |= {n: ("doubtful", "tasks do worse without all of it") for n, f in fates.items() if f[0] == "gone"}
        text = without_blocks(self.skill.text, self.blocks, gone)
        result = Pruned(
            skill=self.skill.name,
            hash=self.skill.hash,
            before=token_count(self.skill.text),
            after=token_count(text),
            blocks=tuple(self._block(number, *fates[number]) for number in range(len(self.blocks))),
            witnesses=len(search.tasks),
            blind=tuple(name for name in self.tasks if name not in search.tasks),
            lost=tuple(lost),
            noisy=tuple(search.given_up),
            files=len(self.skill.files),
            change=verdict.difference,
            verdict=verdict.verdict,
            attempts=len(self.made),
            ended=counted_ends(each.score for _, each in self.made if each.score is not None),
            simulated=any(each.simulated for _, each in self.made),
            file="",
        )
        return result, self.skill.with_text(text)

    async def _whole(self) -> tuple[dict[str, Outcomes], dict[str, Attempt]]:
        """What tasks come to with the whole skill, and the first attempt at each that has a score."""
        known, first = {name: Outcomes() for name in self.tasks}, dict[str, Attempt]()
        for turn in range(WHOLE):
            # Fractions are attempted twice, so that the lower one is what later attempts have to reach.
            fractions = [name for name, bar in self.bar.items() if bar < 1 and turn == 1]
            names = [name for name, outcomes in known.items() if not outcomes.passed or name in fractions]
            again = names if turn == 0 else [name for name in names if name not in self.once]
            for each in await self._attempts([(name, frozenset()) for name in again]):
                name = each.task.id
                if each.score is None:
                    continue
                first.setdefault(name, each)
                if (value := self._value(each)) > 0:
                    self.bar[name] = min(value, self.bar.get(name, 1.0))
                known[name] = known[name].plus(value > 0)
        return known, first

    async def _searched(self, search: Sieve) -> None:
        """Until all tasks are done."""
        told = 0
        while planned := search.next():
            for (name, out), each in zip(planned, await self._attempts(planned), strict=True):
                passed = None if each.score is None else self._passed(each)
                search.told(name, out, passed)
            if len(search.done) >= told + 5:
                told = len(search.done)
                text = f"{told} of {len(search.tasks)} tasks done: {len(search.needed)} blocks are needed"
                self.bench.emit(Notice(level="info", text=f"{text}, {len(self.made)} attempts"))

    async def _attempts(self, planned: Sequence[tuple[str, frozenset[int]]]) -> tuple[Attempt, ...]:
        """One round, each attempt with blocks left out."""
        tries: list[PlannedAttempt] = []
        for name, out in planned:
            task, count = self.tasks[name], self.counts.get(name, 0)
            self.counts[name] = count + 1
            trial = 0 if name in self.once else FRESH + count
            tries.append(PlannedAttempt(task, self._without(out), trial))
        found = await self.bench.rollout.tried("prune", 0, tries)
        self.made += [(out, each) for (_, out), each in zip(planned, found, strict=True)]
        return found

    def _without(self, out: frozenset[int]) -> Skill:
        return self.skill.with_text(without_blocks(self.skill.text, self.blocks, out))

    def _value(self, attempt: Attempt) -> float:
        assert attempt.score is not None
        return attempt.score.value(self.bench.config.gate.metric, self.bench.config.gate.mixed_weight)

    def _passed(self, attempt: Attempt) -> bool:
        return attempt.score is not None and self._value(attempt) >= self.bar.get(attempt.task.id, 1.0)

    def _dearest(self, search: Sieve, most: int) -> list[str]:
        """The tasks that alone showed most text to be needed."""
        tokens: dict[str, int] = {}
        for block, task in search.needed.items():
            tokens[task] = tokens.get(task, 0) + token_count(self.blocks[block].text)
        return sorted(tokens, key=lambda task: (-tokens[task], task))[:most]

    def _fates(self, search: Sieve) -> dict[int, tuple[Fate, str]]:
        """What becomes of each block, and why."""
        idle, reached = set(search.idle), {self.blocks[block].section for block in search.needed}
        found: dict[int, tuple[Fate, str]] = {}
        for number, block in enumerate(self.blocks):
            if number not in self.tested:
                found[number] = "code", "it holds code, a name or a formula; --code tests it"
            elif number in search.needed:
                found[number] = "needed", f"task {search.needed[number]!r} fails without it"
            elif number not in idle:
                found[number] = "doubtful", "a noisy task never passed without it"
            elif not search.tasks:
                found[number] = "doubtful", "no task passes with the whole skill"
            elif block.section not in reached:
                found[number] = "section", "no task needs anything of its section: perhaps none is about it"
            else:
                found[number] = "gone", "all tasks that pass with the skill pass without it"
        return found

    def _block(self, number: int, fate: Fate, why: str) -> PrunedBlock:
        block, without = self.blocks[number], self._passing(number)
        tasks = {each.task.id for each in without}
        tokens = token_count(block.text)
        return PrunedBlock(text=block.text, fate=fate, why=why, tokens=tokens, passed=len(without), tasks=len(tasks))

    def _passing(self, number: int) -> list[Attempt]:
        return [each for out, each in self.made if number in out and self._passed(each)]

    def provenance(self, skill: Skill, result: Pruned) -> Provenance:
        """Of the pruned skill: every line that stands was there before, and each block that went has its attempts."""
        edits: list[ProvenEdit] = []
        for number, block in enumerate(result.blocks):
            if block.fate != "gone":
                continue
            last = {each.task.id: each for each in self._passing(number)}
            edits.append(
                ProvenEdit(
                    edit=Edit(op="delete", target=block.text, reason=block.why),
                    failures={},
                    solved=tuple(sorted(last)),
                    standing="proved",
                    tested=f"{block.passed} attempts at {block.tasks} tasks passed without it",
                    attempts=block.passed,
                    facts=dict(sorted(fact for each in last.values() for fact in each.facts.items())),
                )
            )
        folder = self.bench.folder
        change = Change(place="pruned", origin="tidy", reason="no task needs it", edits=tuple(edits), facts={})
        return Provenance(
            run=folder.name,
            identity=digest(folder.journal.identity)[:16],
            hash=skill.hash,
            simulated=result.simulated,
            tokens=result.after,
            lines=tuple(ProvenLine(text=t, origin="initial", tokens=token_count(t)) for t in texts_of(skill.text)),
            changes=(change,) if edits else (),
        )
