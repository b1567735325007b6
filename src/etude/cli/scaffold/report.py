"""What `init` says: what was found, the first tasks as they are asked and scored, what was written, what is next."""

import asyncio
import inspect
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.scaffold.tasks import Data
from etude.cli.terminal import output
from etude.config import Section, load_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.scorers.answer_scorer import AnswerScorer, shorten
from etude.errors import ConfigError, EtudeError
from etude.models import build_model
from etude.protocols import Scorer
from etude.records import SPLITS, Split, Task, Trajectory, canonical

SHOWN = 2
_MOST_CHARS = 800


@dataclass(frozen=True)
class TaskPreview:
    """A task, and what three answers to it score; no scores where a model judges."""

    id: str
    input: str
    gold: str
    scores: dict[str, float]
    rubric: str = ""


@dataclass(frozen=True)
class DataPreview:
    """What is said of the data before anything is written."""

    data: Data
    notes: Sequence[str]
    first: Sequence[TaskPreview]
    """The first tasks."""

    @property
    def tasks(self) -> Mapping[Split, int]:
        """How many there are in each split."""
        return {split: len(self.data.env.tasks(split)) for split in SPLITS}


def first_tasks(env: DatasetEnvironment) -> list[TaskPreview]:
    """The first tasks of the training split; of the test where nothing is trained on."""
    return [asyncio.run(_shown(env, task)) for task in (env.tasks("train") or env.tasks("test"))[:SHOWN]]


async def _shown(env: DatasetEnvironment, task: Task) -> TaskPreview:
    answers = {"A": "A", "": ""}
    scorer = cast("AnswerScorer[Section] | Scorer", env.scorer)
    if isinstance(scorer, AnswerScorer) and scorer.checks_gold:
        answers = {"gold": scorer.gold_answer(task), **answers}
    scores: dict[str, float] = {}
    for name, answer in answers.items():
        try:
            result = env.score(task, Trajectory(answer=answer))
            scores[name] = (await result if inspect.isawaitable(result) else result).hard
        except EtudeError:  # a model would have to judge
            break
    text = task.gold if isinstance(task.gold, str) else "" if task.gold is None else canonical(task.gold)
    wanted = task.data.get("rubric", task.data.get("expectations"))
    lines = [f"- {each}" for each in wanted] if isinstance(wanted, list) else [wanted or ""]
    criteria = "\n".join(shorten(str(line), 200) for line in lines)
    return TaskPreview(task.id, shorten(task.input, _MOST_CHARS), shorten(text, 200), scores, criteria)


def _as_lines(shown: Sequence[TaskPreview]) -> Iterator[str]:
    """For people."""
    for number, task in enumerate(shown, 1):
        yield ""
        yield f"task {number}  as it is asked:"
        yield from (f"  | {line}".rstrip() for line in task.input.splitlines())
        for name, text in (("gold", task.gold), ("rubric", task.rubric)):
            first, *more = text.splitlines() or [""]
            if text:
                yield f"{name:<7} {first}"
                yield from (f"        {line}" for line in more)
        names = {"gold": "the gold", "A": "'A'", "": "an empty answer"}
        scores = ", ".join(f"{names[name]} {score:g}" for name, score in task.scores.items())
        yield f"scores  {scores or 'given by a model, the judge'}"
    if shown:
        yield ""


def tell_found(found: DataPreview) -> None:
    """Say what was found, before anything is written."""
    data, made = found.data, found.data.made
    columns = [f"{name} = {column}" for name, column in made.fields.items()]
    if made.template:
        columns = [f"input = {made.template!r}", *columns]
    parts = ", ".join(f"{count} {split}" for split, count in found.tasks.items())
    sample = " (a sample of more)" if data.limit is not None else ""
    output.line(f"tasks   {sum(found.tasks.values())}: {parts}{sample}")
    output.line(f"built   {made.built}" if made.built else f"fields  {', '.join(columns)}")
    if data.unused:
        output.line(f"unused  {', '.join(data.unused)}")
    output.line(f"scorer  {made.scorer}: {made.why}")
    for text in _as_lines(found.first):
        output.line(text)
    for note in found.notes:
        output.line(f"note    {note}")


def tell_written(found: DataPreview, config: Path, skill: Path, wrote: Sequence[Path], *, as_json: bool) -> None:
    """Say what was written and what to do next; as JSON, also what was found."""
    keys = _missing_keys(config)
    commands = _next_commands(config, skill, found.data.judged, trainable=bool(found.tasks["train"]))
    if as_json:
        made = found.data.made
        output.json_result(
            {
                "config": str(config),
                "skill": str(skill),
                "tasks": found.tasks,
                "fields": dict(made.fields),
                "template": made.template,
                "built": made.built,
                "unused": list(found.data.unused),
                "scorer": made.scorer,
                "first": [asdict(task) for task in found.first],
                "notes": [*found.notes, *keys],
                "next": commands,
            }
        )
        return
    for note in keys:
        output.line(f"note    {note}")
    output.line(f"wrote   {', '.join(map(str, wrote))}")
    output.line()
    output.line("next:")
    for command in commands:
        output.line(f"  {command}")


def _missing_keys(config_path: Path) -> list[str]:
    """What the models of the new project still need."""
    config = load_config(config_path)
    notes: list[str] = []
    for section in (config.target, config.optimizer, *([config.judge] if config.judge else [])):
        try:
            build_model(section)
        except ConfigError as error:
            text = f"{section.model}: {error.message}; {error.hint}"
            if text not in notes:
                notes.append(text)
    return notes


def _next_commands(config: Path, skill: Path, judged: bool, *, trainable: bool) -> list[str]:
    """What to do next, what costs nothing first."""
    place = "" if config == Path(DEFAULT_CONFIG) else f" {shlex.quote(str(config))}"
    named = shlex.quote(str(skill))
    verbs = (f"doctor{place}", f"evaluate{place} --skill {named}", f"compare none {named}{place}")
    if trainable:
        roles = ("target", "optimizer", "judge") if judged else ("target", "optimizer")
        simulated = " ".join(f"--{role}.model simulated:{role}" for role in roles)
        verbs = (f"doctor{place}", f"train{place} --name dry-run {simulated}", f"plan{place}", f"train{place}")
    return [f"{output.program()} {verb}" for verb in verbs]
