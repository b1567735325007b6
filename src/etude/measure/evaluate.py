"""Score a skill on a split, outside of training, over the facts of a run folder."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar, Unpack

from pydantic import Field

from etude.build import open_workbench
from etude.comparison import open_test
from etude.config import Settings, TrainConfig, config_of
from etude.display import seen
from etude.errors import ConfigError
from etude.events import ATTEMPTING, StageFinished, StageStarted
from etude.records import Attempt, Evaluation, Metric, Record, Skill, Split, Task, brief, digest, role_of
from etude.records.summary import Interval
from etude.records.tasks import Ended, counted_ends
from etude.stages.evaluation import evaluate, score_of
from etude.stages.shared.rollout import attempt_id
from etude.workbench import Given, Workbench, takes_given

R = TypeVar("R", bound=Record)


class SkillEvaluation(Record):
    """How a skill did on a split."""

    skill: str
    hash: str
    target: str
    """The model that attempted the tasks."""
    split: Split
    metric: Metric
    trials: int
    score: Interval
    tasks: dict[str, float]
    """Mean over trials, by task id."""
    voids: int
    ended: dict[Ended, int] = Field(default_factory=dict[Ended, int])
    """Attempts, of those with a score, whose last reply was cut off, refused or empty."""
    calls_sent: int
    """Model requests sent this time, retries included: 0 when the journal knew all answers. Not in the file."""
    test_openings: int
    """Which opening of the run's test split this is: 1 for the first; 0 on another split, and for no skill."""
    simulated: bool
    file: str = ""
    """Where this record was written; empty in the file itself."""

    def __repr__(self) -> str:
        return f"<SkillEvaluation {brief(self.skill)} on {self.split}: {self.score.shown}, n={self.score.n}>"


def need_trials(trials: int) -> None:
    """Raises ConfigError: nothing would be attempted."""
    if trials < 1:
        raise ConfigError(f"trials = {trials!r} is out of range", hint="give 1 or more")


def measuring(config: TrainConfig, given: Given, trials: int = 1) -> AbstractAsyncContextManager[Workbench]:
    """A workbench for attempts outside of training. It warns of repeated attempts by the settings, and splits other
    than the test need no test tasks."""
    test = config.test.model_copy(update={"trials": trials, "enabled": False})
    return open_workbench(config.model_copy(update={"test": test}), given, claim=False)


def kept(bench: Workbench, place: str, found: R, skills: Sequence[Skill], tasks: Sequence[Task], *asked: object) -> R:
    """What was found of skills on tasks, written to a file of the run. Its name follows from all that was `asked`: no
    result takes the place of another, and the same one asked for again is the same file."""
    made_by = [bench.rollout.agent.fingerprint(), bench.rollout.env.fingerprint(), bench.config.gate.model_dump()]
    what = digest([*made_by, [task.model_dump(mode="json") for task in tasks], *asked])[:8]
    content = found.model_dump(mode="json", exclude={"calls_sent"})
    path = bench.folder.write_json(f"{place}/{'-'.join([*(skill.hash for skill in skills), what])}.json", content)
    return found.model_copy(update={"file": str(path)})


@takes_given
async def aevaluate_skill(
    config: Settings,
    split: Split = "test",
    trials: int = 1,
    *,
    attempts: list[Attempt] | None = None,
    **given: Unpack[Given],
) -> SkillEvaluation:
    """Attempt every task of a split `trials` times with the skill of the config, or the one given.

    The run folder's journal is used and added to, so that nothing is paid for twice; the run itself is not changed.

    Args:
        attempts: where given, those with a score are added to it, trial by trial.

    Raises:
        InputError: the split is empty, or something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    need_trials(trials)
    config = config_of(config)
    async with measuring(config, given, trials) as bench:
        tasks = bench.split(split)
        openings = await open_test(bench, [bench.skill]) if split == "test" else 0
        stage = ATTEMPTING[split]
        bench.emit(StageStarted(stage=stage, step=0, epoch=0, total=len(tasks) * trials))
        result = await evaluate(bench.rollout, bench.skill, tasks, split, trials=trials)
        if attempts is not None:
            attempts += await _scored(bench, result, tasks, trials)
        gate = config.gate
        values = result.values(gate.metric, gate.mixed_weight)
        score = score_of(result, tasks, config.gate)
        bench.emit(StageFinished(stage=stage, step=0, note=f"mean {score.mean:.3f}"))
        evaluation = SkillEvaluation(
            skill=bench.skill.name,
            hash=bench.skill.hash,
            target=", ".join(model.name for place, model in bench.models.items() if role_of(place) == "target"),
            split=split,
            metric=gate.metric,
            trials=trials,
            score=score,
            tasks=values,
            voids=len(result.voids),
            ended=counted_ends(result.every_score),
            calls_sent=bench.spend.sent,
            test_openings=openings,
            simulated=result.simulated,
        )
        return kept(bench, "evaluations", evaluation, [bench.skill], tasks, split, trials)


async def _scored(bench: Workbench, result: Evaluation, tasks: Sequence[Task], trials: int) -> list[Attempt]:
    """The attempts of an evaluation that have a score, from the journal. What waits for a model is not measured where
    its answers were cached."""
    found: list[Attempt] = []
    for trial in range(trials):
        for task in tasks:
            if attempt_id(task.id, bench.skill, trial) not in result.voids:
                found.append(await bench.rollout.attempt(task, bench.skill, trial))
    if bench.rollout.agent.journals_calls:
        untimed = [each.trajectory.model_copy(update={"seconds": None}) for each in found]
        return [each.model_copy(update={"trajectory": made}) for each, made in zip(found, untimed, strict=True)]
    return found


evaluate_skill = seen(aevaluate_skill)
