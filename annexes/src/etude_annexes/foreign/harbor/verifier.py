"""Running the scripts of a task folder in the sandbox: its solution and its tests."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from etude.envs.grading import files_afterwards, tail
from etude.errors import BoundaryError, DataError
from etude.protocols import Scorer
from etude.records import File, Place, Score, Task, Trajectory, canonical, digest
from etude.sandbox import Box, Finished, NotKept, Sandbox, Workspace, run
from etude.sandbox.docker import Engine, find_engine, in_image
from etude_annexes.foreign.harbor.task_folder import SOLVE, TEST, Allowance, TaskFolder

_MOST_REWARD_BYTES = 1_000_000


@dataclass(frozen=True)
class Machine:
    """What scripts run in."""

    sandbox: Sandbox
    readable: Sequence[Path]
    path: str
    """Their PATH in the sandbox."""
    network: bool
    docker: bool = True
    """Whether Docker may be used."""

    @cached_property
    def engine(self) -> Engine | str:
        """That of Docker, or why there is none."""
        return find_engine() if self.docker else "env.docker is false"

    async def run(
        self, script: str, allowed: Allowance, workspace: Workspace, folder: TaskFolder, more: Mapping[str, Path]
    ) -> Finished:
        """Run a script over the workspace, which is found at the task's own path; so are the folders of `more`."""
        sandbox, readable, path = self.sandbox, self.readable, {"PATH": self.path}
        if folder.image:  # with its own programs
            sandbox, readable, path = in_image(folder.image, self.engine), (), {}
        box = Box(
            workspace.work,
            (workspace.home, workspace.tmp, *more.values()),
            readable,
            "host" if self.network else "none",
            places={folder.workdir: workspace.work, **more},
        )
        enter = ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', folder.workdir]
        return await run(
            [*enter, script],
            box=box,
            limits=allowed.limits,
            sandbox=sandbox,
            env={**workspace.env, **folder.env, **allowed.env, **path},
        )


class HarborScorer(Scorer):
    """Runs tests/test.sh over the workspace as an attempt left it, and reads the reward that it writes.

    An attempt after which there is no reward has the score 0 where the same tests do their work for the task's own
    solution, or without one for the untouched workspace; otherwise they are broken, and the attempt is void.
    """

    name = "harbor"

    def __init__(
        self, folders: Mapping[str, TaskFolder], machine: Machine, reward: str, check_solutions: bool
    ) -> None:
        self._folders, self._machine, self._reward = folders, machine, reward
        self.tries_solutions = check_solutions

    def fingerprint(self) -> str:
        """The tests of all tasks, the reward that counts, and whether there is a network."""
        tests = {
            id: [
                digest({path: [file.data.hex(), file.executable] for path, file in one.tests.items()}),
                one.testing.env,
            ]
            for id, one in sorted(self._folders.items())
        }
        return canonical([self.name, digest(cast("dict[str, Any]", tests)), self._reward, self._machine.network])

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The reward. Raises BoundaryError: there is none, not even without the attempt."""
        folder = self._folders[task.id]
        try:
            return await self._score(task, trajectory)
        except BoundaryError as error:
            try:
                await (self._solve(task) if folder.solution else self._score(task, Trajectory()))
            except (BoundaryError, DataError):
                raise error from None
            return Score(hard=0, soft=0, feedback=f"the tests {error.cause}")

    async def check_solution(self, task: Task) -> None:
        """Solve the task as its author does, and score that, unless the settings say not to. Raises DataError: it has
        not full marks."""
        if self.tries_solutions and self._folders[task.id].solution:
            await self._solve(task)

    async def _solve(self, task: Task) -> None:
        folder = self._folders[task.id]
        with Workspace() as workspace:
            workspace.fill(task.files)
            place = {"/solution": _put(workspace.folder / "solution", folder.solution), "/logs": _logs(workspace)}
            done = await self._machine.run(f"/solution/{SOLVE}", folder.solving, workspace, folder, place)
            try:
                left = Trajectory(files=workspace.changes())
            except NotKept as error:
                raise self._unsolved(task, error.message) from None
        try:
            score = await self._score(task, left)
        except BoundaryError as error:
            raise self._unsolved(task, f"the tests {error.cause}") from None
        if score.hard < 1:
            raise self._unsolved(task, f"it scores {score.hard:g}: {tail(done) or score.feedback}")

    def _unsolved(self, task: Task, problem: str) -> DataError:
        folder = self._folders[task.id]
        why = (
            f"only files in {folder.workdir!r} are kept for the tests, nothing else can be written"
            if folder.image
            else "something of its image is missing on this machine"
        )
        return DataError(
            f"task {task.id!r}: its own solution does not solve it here: {problem}",
            hint=f"{why}, or the task is broken: leave it out, or set check_solutions: false",
        )

    async def _score(self, task: Task, trajectory: Trajectory) -> Score:
        folder = self._folders[task.id]
        with Workspace() as workspace:
            workspace.fill(files_afterwards(task, trajectory))
            logs = _logs(workspace)
            place = {"/tests": _put(workspace.folder / "tests", folder.tests), "/logs": logs}
            done = await self._machine.run(f"/tests/{TEST}", folder.testing, workspace, folder, place)
            if done.over:
                raise self._broken(f"were ended for their {done.over}")
            reward = self._read(logs / "verifier", done)
        return Score(hard=reward, soft=reward, feedback="correct" if reward == 1 else tail(done))

    def _read(self, folder: Path, done: Finished) -> float:
        """The reward, from reward.json or else reward.txt, as harbor reads them."""
        for name in ("reward.json", "reward.txt"):
            path = folder / name
            if path.is_symlink() or not path.is_file():
                continue
            if path.stat().st_size > _MOST_REWARD_BYTES:
                raise self._broken(f"wrote too much into {name}")
            text = path.read_bytes().decode("utf-8", "replace")
            try:
                value: Any = json.loads(text) if name.endswith(".json") else float(text)
            except ValueError:
                raise self._broken(f"wrote {text.strip()[:80]!r} into {name}, which is no reward") from None
            return self._number(value, name)
        code = f"exit code {done.code}" if done.code is not None else f"signal {done.signal}"
        raise self._broken(f"wrote no reward, and ended with {code}: {tail(done) or 'without a word'}")

    def _number(self, value: Any, name: str) -> float:
        if isinstance(value, dict):
            rewards = cast("dict[str, Any]", value)
            key = self._reward if self._reward in rewards or len(rewards) != 1 else next(iter(rewards))
            if key not in rewards:
                raise self._broken(f"wrote the rewards {sorted(rewards)} and none is {key!r} (env.reward)")
            value = rewards[key]
        if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise self._broken(f"wrote the reward {value!r:.80} into {name}; allowed: a number from 0 to 1")
        return float(value)

    def _broken(self, problem: str) -> BoundaryError:
        return BoundaryError(f"tests/{TEST}", ChildProcessError(problem))


def _logs(workspace: Workspace) -> Path:
    for name in ("verifier", "agent", "artifacts"):
        (workspace.folder / "logs" / name).mkdir(parents=True)
    return workspace.folder / "logs"


def _put(folder: Path, files: Mapping[str, File]) -> Path:
    """Write the files of a task, with scripts that can be started."""
    for path, file in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
        target.chmod(0o755 if file.executable or path.endswith(".sh") else 0o644)
    return folder


def place_of(folder: TaskFolder) -> Place:
    """Where agents find the workspace."""
    return Place(path=folder.workdir, env=dict(folder.env), image=folder.image)
