"""Tasks from a skill: the optimizer drafts requests and criteria, code leaves out what would show nothing, and nobody
is asked to do one before a person has looked."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import ValidationError

from etude.build import open_workbench
from etude.concurrency import together
from etude.config import ModelSection, TrainConfig, load_config
from etude.envs.files import Row
from etude.envs.hollow import hollow_answer, judge_passes
from etude.envs.likeness import NEAR, likeness
from etude.envs.scorers.checks import Checks
from etude.envs.scorers.checks_operators import Op, as_check
from etude.errors import BoundaryError, EtudeError, UnusableReply
from etude.models.wrappers.structured import advice
from etude.readable import counted, cut_middle
from etude.records import Skill, Task
from etude.sleep.state import Surroundings
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.mined import MinedTask, task_id
from etude.sleep.transcripts.harvest import SessionQuery, harvest
from etude.sleep.transcripts.sessions import Session, Turn
from etude.sleep.transcripts.sources import sources_named
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.own_words import OwnWords
from etude.stages.shared.render import fence
from etude.workbench import Given, Workbench

DRAFTS = "tasks.json"
RUN = "drafts"
"""The run folder that keeps the answers, so that the same command asks nothing twice."""
_BATCH = 10
"""Tasks of one reply: more are more alike, and a reply that is cut off loses them all."""
_ROUNDS = 3
"""Replies for each batch that is wanted: of the simulated optimizer's drafts of dates, whose wordings are few, half
repeat each other."""
_HEARD = 10
"""Sessions that are shown, the latest ones."""
_HEARD_TURNS, _HEARD_CHARS = 5, 1_000
"""Most of what the user typed in a session, and of each."""
UNUSABLE = "it has no criteria, or a check that cannot be used"
COPIES = "it copies the skill"
EMPTY = "an answer with nothing in it passes"
UNJUDGED = "nobody knows whether an answer with nothing in it passes: the judge gave no grade that can be used"
REPEATS = "it repeats another one"


class _CheckReply(ReplyForm):
    op: str
    arg: str
    requirement: str


class _DraftReply(ReplyForm):
    request: str
    kind: str
    checks: tuple[_CheckReply, ...]
    rubric: str


class _DraftsReply(ReplyForm):
    drafts: tuple[_DraftReply, ...]


class Drafted(NamedTuple):
    """Drafts that may show something, and why others were left out."""

    tasks: Sequence[MinedTask]
    left_out: Counter[str]

    @property
    def rows(self) -> list[Row]:
        """As the environment `dataset` reads them."""
        return [
            Row(
                f"{DRAFTS}: item {number}",
                {"id": task.id, "input": task.intent, "type": task.type, "gold": dict(task.criteria)},
            )
            for number, task in enumerate(self.tasks, 1)
        ]

    def notes(self, wanted: int) -> list[str]:
        """What a person has to know of them."""
        why = "; ".join(f"{count}: {reason}" for reason, count in self.left_out.most_common())
        left = [f"{counted(self.left_out.total(), 'draft')} left out ({why})"] if why else []
        few = [f"{len(self.tasks)} of the {wanted} tasks wanted"] if len(self.tasks) < wanted else []
        review = "read and correct it, then set 'reviewed' in it to true: no verb uses it before"
        return [*few, *left, f"no person has looked at {DRAFTS} yet: {review}"]


def most_calls(wanted: int) -> tuple[int, int]:
    """Most questions to the optimizer: those that draft, and those whether an answer with nothing in it passes."""
    rounds = _ROUNDS * -(-wanted // _BATCH)
    return rounds, rounds * _BATCH


def settings_of(optimizer: str, folder: Path) -> TrainConfig:
    """One model in all roles; environment variables may say where it is. Raises ConfigError: one of them is wrong."""
    given = {"optimizer.model": optimizer, "run.folder": str(folder / "runs"), "run.name": RUN}
    flags = [*((key, json.dumps(value)) for key, value in given.items()), ("test.enabled", "false")]
    config = load_config(None, flags=flags)
    model = ModelSection(**{name: getattr(config.optimizer, name) for name in ModelSection.model_fields})
    return config.model_copy(update={"target": model, "targets": (), "judge": model})


def heard_with(skill: Skill, around: Surroundings) -> list[str]:
    """What users typed in sessions of the current folder whose agent opened the skill, without secrets: a text for
    each, the latest first."""
    asked = SessionQuery(now=around.now(), scope=os.path.realpath(os.curdir))
    found = harvest(sources_named(()), None, asked, home=around.home, environ=around.environ).taken
    return [
        "\n".join(f"- {cut_middle(' '.join(turn.prompt.split()), _HEARD_CHARS)}" for turn in turns[:_HEARD_TURNS])
        for one in reversed(found)
        if skill.name in [name.rpartition(":")[2] for name in one.skills]  # `plugin:skill` where a plugin brings it
        and (turns := _since_opened(one, skill.name))
    ][:_HEARD]


def _since_opened(session: Session, name: str) -> Sequence[Turn]:
    """The turns from that on in which the skill was opened: those before it are about other matters. The last ones
    where the session does not say in which."""
    turns = session.turns
    opened = (
        n for n, turn in enumerate(turns) if name in " ".join([turn.prompt, *(t.arguments for t in turn.tools)])
    )
    return turns[next(opened, max(0, len(turns) - _HEARD_TURNS)) :]


async def draft_tasks(
    config: TrainConfig, skill: Skill, wanted: int, given: Given, heard: Sequence[str] = ()
) -> Drafted:
    """Ask for drafts until there are as many as wanted, a round brings none, or the rounds are over.

    Args:
        heard: what users asked of agents that had the skill, as `heard_with` has it.

    Raises:
        EtudeError: no draft could be used.
        StopRun: a call failed. Answers are cached: the same call resumes.
    """
    parts: Given = {"env": lambda judge: NightEnvironment((), judge), "skill": Skill(text="Nothing to train.")}
    words, found = OwnWords([Task(id="skill", input=skill.text)]), Drafted([], Counter())
    kept: list[MinedTask] = []

    async def known() -> tuple[str, ...]:
        return tuple(heard)

    async with open_workbench(config, {**given, **parts}, claim=False) as bench:
        # Sessions go on, perhaps this very one: what is asked again has to be asked the same.
        key = {"stage": "heard", "skill": skill.hash}
        heard = await bench.rollout.journal.once("decision", key, tuple[str, ...], known)
        for _ in range(most_calls(wanted)[0]):
            try:
                replies = await _asked(bench.optimizer(), (skill.text, heard), min(_BATCH, wanted - len(kept)), kept)
            except UnusableReply:
                if not kept:
                    raise
                break
            fresh = await _usable(bench, replies, words, kept, found.left_out)
            kept += fresh[: wanted - len(kept)]
            if not fresh or len(kept) == wanted:
                break
        if not kept:
            why = ", ".join(f"{count}: {reason}" for reason, count in found.left_out.most_common()) or "it gave none"
            hint = advice(bench.models["optimizer"]) if bench.models["optimizer"].answered_by_hand else ""
            other = "say in the skill what it is for and how it is done, or name another --optimizer"
            text = f"none of the drafts of {config.optimizer.model!r} can be used ({why})"
            raise EtudeError(text, hint=hint or other)
    return found._replace(tasks=kept)


async def _asked(
    optimizer: Optimizer, source: tuple[str, Sequence[str]], count: int, known: Iterable[MinedTask]
) -> tuple[_DraftReply, ...]:
    skill, heard = source
    requests = "\n".join(f"- {' '.join(task.intent.split())}" for task in known)
    sections = [
        f"# Tasks wanted: {count}",
        fence("skill", skill),
        fence("sessions", "\n\n".join(heard)) if heard else "",
        fence("requests", requests) if requests else "",
    ]
    return (await optimizer.ask("draft_tasks", sections, _DraftsReply)).drafts[:count]


async def _usable(
    bench: Workbench, replies: Iterable[_DraftReply], words: OwnWords, kept: Sequence[MinedTask], why: Counter[str]
) -> list[MinedTask]:
    """The drafts that may show something; `why` counts the others. The judge is asked only where the checks of a
    task let an answer with nothing in it pass."""
    fresh: list[MinedTask] = []
    unsure: list[MinedTask] = []
    for reply in replies:
        task = _task(reply)
        if task is None:
            why[UNUSABLE] += 1
        elif words.why(_texts(task), ""):
            why[COPIES] += 1
        elif any(likeness(task.intent, other.intent) >= NEAR for other in (*kept, *fresh)):
            why[REPEATS] += 1
        else:
            passes = await asyncio.to_thread(passes_empty, task)
            if passes and not task.rubric:
                why[EMPTY] += 1
                continue
            fresh.append(task)
            unsure += [task] if passes else []
    env = bench.rollout.env
    passed = await together(judge_passes(task.task, task.intent, task.rubric, env) for task in unsure)
    verdicts = zip(unsure, passed, strict=True)
    out = {task.id: UNJUDGED if hollow is None else EMPTY for task, hollow in verdicts if hollow is not False}
    why.update(out.values())
    return [task for task in fresh if task.id not in out]


def _task(reply: _DraftReply) -> MinedTask | None:
    """None where no answer could be judged by it, or it asks about tools."""
    try:
        checks = tuple(as_check(cast(Op, each.op), each.arg, each.requirement) for each in reply.checks)
        task = MinedTask(
            id=task_id("", reply.request),
            intent=reply.request.strip(),
            checks=checks,
            rubric=reply.rubric.strip(),
            type=" ".join(reply.kind.split()),
        )
    except (ValidationError, KeyError, ValueError):
        return None
    return None if any(check.op in ("tool_called", "tool_not_called") for check in checks) else task


def _texts(task: MinedTask) -> str:
    """What the optimizer wrote in words of its own; a check may need a text of the skill as it stands there."""
    return "\n".join((task.intent, task.rubric, *(check.requirement for check in task.checks)))


def passes_empty(task: MinedTask) -> bool:
    """Whether the checks let an answer pass that has nothing in it: a sign, the request, or the claim that all is
    there. So do checks that take too long to tell, and none."""
    if not task.checks:
        return True
    scorer = Checks()
    try:
        answers = (".", task.intent, hollow_answer(task.intent, task.rubric))
        return any(scorer.decide(task.checks, answer, ()).hard >= 1 for answer in answers)
    except BoundaryError:
        return True


def write_drafts(path: Path, rows: Iterable[Row]) -> None:
    """Write tasks that no person has reviewed."""
    data = {"reviewed": False, "tasks": [row.columns for row in rows]}
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
