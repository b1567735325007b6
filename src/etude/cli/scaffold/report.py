"""What `init` says: what was found, the first tasks as they are asked and scored, what was written, what is next."""

import asyncio
import inspect
import shlex
from collections.abc import Iterator, Sequence
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
from etude.records import Task, Trajectory, canonical

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


def _first_tasks(env: DatasetEnvironment) -> list[TaskPreview]:
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
    return TaskPreview(task.id, shorten(task.text, _MOST_CHARS), shorten(text, 200), scores, criteria)


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


def tell_found(data: Data) -> None:
    """Say what was found, before anything is written."""
    made = data.made
    columns = [f"{name} = {column}" for name, column in made.fields.items()]
    if made.template:
        columns = [f"input = {made.template!r}", *columns]
    parts = ", ".join(f"{count} {split}" for split, count in data.tasks.items())
    sample = " (a sample of more)" if data.limit is not None else ""
    output.line(f"tasks   {sum(data.tasks.values())}: {parts}{sample}")
    output.line(f"built   {made.built}" if made.built else f"fields  {', '.join(columns)}")
    if data.unused:
        output.line(f"unused  {', '.join(data.unused)}")
    output.line(f"scorer  {made.scorer}: {made.why}")
    output.lines(_as_lines(_first_tasks(data.env)))
    output.lines(f"note    {note}" for note in data.notes)


def tell_written(data: Data, config: Path, skill: Path, wrote: Sequence[Path], *, as_json: bool) -> None:
    """Say what was written and what to do next; as JSON, also what was found."""
    keys, commands = _missing_keys(config), _next_commands(config, skill, data)
    if as_json:
        made = data.made
        output.json_result(
            {
                "config": str(config),
                "skill": str(skill),
                "tasks": data.tasks,
                "fields": dict(made.fields),
                "template": made.template,
                "built": made.built,
                "unused": list(data.unused),
                "scorer": made.scorer,
                "first": [asdict(task) for task in _first_tasks(data.env)],
                "notes": [*data.notes, *keys],
                "next": commands,
            }
        )
        return
    output.lines(f"note    {note}" for note in keys)
    output.line(f"wrote   {', '.join(map(str, wrote))}")
    output.lines(["", "next:", *(f"  {command}" for command in commands)])


def _missing_keys(config_path: Path) -> list[str]:
    """What the models of the new project still need."""
    config, notes = load_config(config_path), list[str]()
    for section in config.models.values():
        try:
            build_model(section)
        except ConfigError as error:
            notes.append(f"{section.model}: {error.message}; {error.hint}")
    return list(dict.fromkeys(notes))


def _next_commands(config: Path, skill: Path, data: Data) -> list[str]:
    """What to do next, what costs nothing first."""
    place = "" if config == Path(DEFAULT_CONFIG) else f" {shlex.quote(str(config))}"
    named = shlex.quote(str(skill))
    verbs = (f"doctor{place}", f"evaluate{place} --skill {named}", f"compare none {named}{place}")
    if data.tasks["train"]:
        roles = ("target", "optimizer", "judge") if data.judged else ("target", "optimizer")
        simulated = " ".join(f"--{role}.model simulated:{role}" for role in roles)
        verbs = (f"doctor{place}", f"train{place} --name dry-run {simulated}", f"plan{place}", f"train{place}")
    return [f"{output.program()} {verb}" for verb in verbs]
