"""What environments of other makers have in common: their tasks by a runner, scores that come with the attempt."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue

from etude.concurrency import run_to_end
from etude.config import parse
from etude.envs.rows import with_ids
from etude.envs.sources import ReadEnvironment, Shares
from etude.envs.splits import check_splits
from etude.envs.target import returned_score
from etude.errors import BoundaryError, ConfigError, DataError, EtudeError
from etude.programs.installed import interpreter
from etude.protocols import Agent, ChatModel, Texts
from etude.records import SPLITS, Score, Split, Task, Trajectory, canonical, digest
from etude.sandbox import find_sandbox
from etude.sandbox.sandbox import Unsafe
from etude_annexes.foreign.agent import ForeignAgent, Terms
from etude_annexes.foreign.runner import Runner, RunnerReply, RunnerSetup

LOAD_SECONDS = 1800.0
"""Longest that a package may take to load its tasks: large data sets come over the network at first."""


class ForeignConfig(Shares):
    """Settings that all of them have."""

    task: str
    """The tasks: a Python file, or a name under which the package finds them."""
    python: str | None = None
    """Interpreter that has the package; the one that runs etude when not given."""
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Arguments of the task."""
    split_args: dict[Split, dict[str, JsonValue]] = Field(default_factory=dict[Split, dict[str, JsonValue]])
    """Where the task has splits of its own: further arguments for each of ours, as in
    `{train: {split: train}, val: {split: dev}}`. Without it, one set of tasks is split by `ratio`."""
    skill: Literal["system", "folder"] = "system"
    """`system` puts the skill before the conversation. `folder` mounts it as a folder that the agent may read, where
    the agent is made for that; the attempt records whether it did."""
    full_marks: float = Field(default=1, gt=0)
    """The score of a task that is fully solved: scores are divided by it. Those below 0 count as 0."""
    network: bool = False
    """Let the tasks and what agents run in them reach the network, as to load a data set."""
    readable: list[str] = Field(default_factory=list)
    """Files and folders that the tasks may read, besides the system's, the package and the folder of the task."""
    memory_mb: int = Field(default=4096, ge=256)
    """Most memory for the package and all attempts under way. Beyond it, it is ended and started again."""
    own_sandbox: bool = False
    """The task brings a sandbox, such as Docker: run the package outside of etude's, with your rights. Whatever
    agents run has only the protection that the task gives."""
    unsafe_no_sandbox: bool = False
    """Run the package without a sandbox where none can be had. Agents then read and write whatever you can."""

    @property
    def file(self) -> Path | None:
        """The file of the task, None where it is a name. What follows an `@` is a name in the file."""
        path, _, _ = self.task.partition("@")
        return Path(os.path.abspath(os.path.expanduser(path))) if path.endswith(".py") else None

    def for_runner(self) -> dict[str, JsonValue]:
        """What a runner has to know besides `variants`."""
        name = self.task if self.file is None else f"{self.file}{''.join(self.task.partition('@')[1:])}"
        return {"task": name, "folder": self.skill == "folder"}


class ForeignEnvironment(ReadEnvironment):
    """Tasks that another maker's package has, attempts and scores. All tasks are asked for at construction, in a
    process that is gone afterwards.

    Raises ConfigError: a setting is wrong, the package or a sandbox is missing; DataError: the tasks cannot be
    loaded, or the splits overlap.
    """

    options_type: ClassVar[type[ForeignConfig]] = ForeignConfig
    package: ClassVar[str]
    """What has to be installed, as pip knows it."""
    script: ClassVar[str]
    """The runner."""

    def __init__(self, options: Mapping[str, Any], *, where: str = "env") -> None:
        self.config = config = parse(self.options_type, dict(options), where=where)
        self._where = where
        self._variants = _variants(config, where)
        self._program = interpreter(config.python, where)
        if config.file is not None and not config.file.is_file():
            raise ConfigError(f"{where}: task = {config.task!r}: there is no such file", hint="correct the path")
        self._files = _neighbours(config.file)
        variants: list[JsonValue] = [dict(arguments) for arguments, _ in self._variants]
        self._settings = config.for_runner() | {"variants": variants}
        self._command = RunnerSetup(
            program=self._program,
            script=self.script,
            settings=self._settings,
            readable=[*([config.file.parent] if config.file else []), *_readable(config.readable, where)],
            network=config.network,
            memory_mb=config.memory_mb,
            sandbox=Unsafe() if config.own_sandbox else find_sandbox(unsafe=config.unsafe_no_sandbox),
            outside=config.own_sandbox,
        )
        known = run_to_end(_described(self._command))
        self._check(known)
        self.version = known.version
        self._tasks = self._split(known)
        self._warnings = check_splits(self._tasks)

    @property
    def repeatable(self) -> bool:
        """The score came with the attempt."""
        return True

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The score that came with the attempt. Raises BoundaryError: the attempt is of another agent."""
        found = returned_score(trajectory)
        if found is None:
            problem = ValueError(f"the attempt at {task.id!r} was not made by its own agent and has no score")
            raise BoundaryError(f"environment {self.name!r}", problem)
        return found

    def fingerprint(self) -> str:
        """Name, version of the package, the settings and the code next to the task. Its samples are counted in with
        the tasks."""
        return canonical(
            [
                self.name,
                self.version,
                {**self._settings, "task": self.config.task},
                self._files,
                self.config.full_marks,
            ]
        )

    def agent(self, target: ChatModel, prompts: Texts) -> Agent:
        """The agent of the task."""
        terms = Terms(self.name, self.fingerprint(), self.config.skill == "folder", self.config.full_marks)
        return ForeignAgent(target, prompts["program"], Runner(self._command), terms)

    def check(self, known: RunnerReply) -> None:
        """Look at what the package says of the tasks. Raises InputError: attempts cannot be made or scored."""

    def _check(self, known: RunnerReply) -> None:
        if known.missing:
            venv = f".venv-{self.name}"
            raise ConfigError(
                f"{self._where}: {str(self._program)!r} cannot import what the environment {self.name!r} needs: "
                f"{known.missing}",
                hint=f"python3 -m venv {venv} && {venv}/bin/pip install {self.package}, and set "
                f"{self._where}.python: {venv}/bin/python",
            )
        if known.error:
            raise DataError(
                f"{self._where}: the tasks cannot be loaded: {known.error}",
                hint=f"correct {self._where}.task and its arguments; one that loads its data from the network needs "
                f"{self._where}.network: true",
            )
        self.check(known)

    def _split(self, known: RunnerReply) -> dict[Split, tuple[Task, ...]]:
        made: dict[Split, tuple[Task, ...]] = dict.fromkeys(SPLITS, ())
        for number, (_, splits) in enumerate(self._variants):
            tasks = with_ids(
                [
                    Task(
                        id=f"{splits[0]}-{each.id}" if each.id and len(splits) == 1 else each.id,
                        input=each.input,
                        gold=each.gold,
                        data={"variant": number, "task": each.key},
                    )
                    for each in known.variants[number].tasks
                ]
            )
            if len(splits) == 1:
                made[splits[0]] = tasks
            else:
                made = self.config.divided(tasks)
        return self.config.limited(made)


async def _described(command: RunnerSetup) -> RunnerReply:
    runner = Runner(command)
    try:
        return await asyncio.wait_for(runner.ask({"do": "describe"}), LOAD_SECONDS)
    except TimeoutError:
        raise DataError(
            f"the tasks cannot be loaded: {command.script} has not told them within {LOAD_SECONDS:,.0f} seconds",
            hint="run the task with its own package first: it may load data from a network that does not answer, or "
            "wait for a key to be pressed",
        ) from None
    except ConfigError:
        raise
    except EtudeError as error:
        raise DataError(
            f"the tasks cannot be loaded: {error.message}", hint="run the task with its own package first"
        ) from None
    finally:
        await runner.aclose()


def _variants(config: ForeignConfig, where: str) -> list[tuple[dict[str, JsonValue], tuple[Split, ...]]]:
    """Each set of arguments, and the splits whose tasks it gives."""
    if not config.split_args:
        return [(config.args, SPLITS)]
    for split in ("train", "val"):
        if split not in config.split_args:
            raise ConfigError(
                f"{where}: split_args has no {split!r}",
                hint="as in `split_args: {train: {split: train}, val: {split: dev}}`, or split one set with `ratio`",
            )
    if config.model_fields_set & {"ratio", "split_seed"}:
        raise ConfigError(f"{where}: a ratio divides one set of tasks, not 'split_args'", hint="remove 'ratio'")
    return [(config.args | config.split_args[split], (split,)) for split in SPLITS if split in config.split_args]


def _readable(names: Sequence[str], where: str) -> list[Path]:
    found = [Path(os.path.abspath(os.path.expanduser(name))) for name in names]
    for name, path in zip(names, found, strict=True):
        if not path.exists():
            raise ConfigError(f"{where}: readable: {name!r} does not exist", hint="leave it out, or correct it")
    return found


def _neighbours(task: Path | None) -> list[list[str]]:
    """The Python files in the folder of a task, which it may import, with digests of their content."""
    files = sorted(task.parent.glob("*.py")) if task is not None else []
    return [[file.name, digest(file.read_text(encoding="utf-8", errors="replace"))[:16]] for file in files]
