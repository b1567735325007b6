"""Task folders of harbor as an environment: attempts work in our sandbox, and their own tests score them there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from etude.agents.shell import readable_folders, with_programs
from etude.config import parse
from etude.envs.scorers.answer_scorer import ScoredEnvironment
from etude.envs.sources import ReadEnvironment, Sources
from etude.envs.splits import check_splits
from etude.errors import ConfigError, DataError
from etude.readable import counted, some
from etude.records import Task
from etude.sandbox import Sandbox, find_sandbox
from etude_annexes.foreign.harbor.image import in_its_image
from etude_annexes.foreign.harbor.task_folder import (
    TOML,
    NeedsImage,
    TaskFolder,
    find_folders,
    read_folder,
    without_toml,
)
from etude_annexes.foreign.harbor.verifier import HarborScorer, Machine, place_of

_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHOWN = 5


class HarborConfig(Sources):
    """Settings of the `harbor` environment. `path`, or `train`, `val` and `test`, are folders of task folders."""

    reward: str = "reward"
    """Which number of reward.json is the score, where a task writes several."""
    skip_unfit: bool = False
    """Leave out the tasks that cannot be used here, with a warning, instead of refusing them all."""
    check_solutions: bool = True
    """Before anything is paid for, run the solution of each task that has one, and its tests: they must give full
    marks on this machine."""
    readable: list[str] = Field(default_factory=list)
    """Folders that the scripts of tasks may read in addition to the system's, such as runtimes that are installed
    elsewhere. Their `bin` folders are on the PATH. Agents have a setting of the same name."""
    network: bool = False
    """Let the scripts of tasks use the network of this machine."""
    docker: bool = True
    """Use Docker, where it is there, for the tasks that need an image."""


class HarborEnvironment(ReadEnvironment, ScoredEnvironment):
    """Tasks from task folders. Each is read once, at construction.

    Raises ConfigError: a setting is wrong, or there is neither bubblewrap nor Docker; DataError: a folder is missing,
    a task cannot be used here, or the splits overlap.
    """

    name = "harbor"
    options_type: ClassVar[type[HarborConfig]] = HarborConfig

    def __init__(self, options: Mapping[str, Any], *, where: str = "env", sandbox: Sandbox | None = None) -> None:
        self.config = config = parse(HarborConfig, dict(options), where=where)
        self._where = where
        self._machine = _machine(config, where, sandbox)
        self._folders: dict[str, TaskFolder] = {}
        self._unfit: list[DataError] = []
        self._incomplete: list[Path] = []
        self.scorer = HarborScorer(self._folders, self._machine, config.reward, config.check_solutions)
        files = config.files(where, "give 'path', a folder of task folders, or 'train', 'val' and 'test'")
        self._tasks = splits = config.read(files, self._read)
        if self._unfit and not (config.skip_unfit and splits["train"] and splits["val"]):
            raise self._refused()
        self._warnings = (*check_splits(splits, names=files), *self._doubts())

    def fingerprint(self) -> str:
        """That of the tests."""
        return self.scorer.fingerprint()

    def _read(self, name: str) -> tuple[Task, ...]:
        top = Path(name)
        found: list[Task] = []
        for path in find_folders(top, self._where):
            id = path.name if path == top else path.relative_to(top).as_posix()
            if id in self._folders:
                raise DataError(f"two tasks are called {id!r}", hint="give one of the folders another name")
            try:
                folder = self._begin(path, id)
            except DataError as error:
                self._unfit.append(error)
                continue
            self._folders[id] = folder
            files = dict(folder.files)
            found.append(Task(id=id, input=folder.instruction, type=folder.kind, files=files, place=place_of(folder)))
        self._incomplete += without_toml(top)
        return tuple(found)

    def _begin(self, path: Path, id: str) -> TaskFolder:
        """One task, with its image where it needs one. Raises DataError: it cannot be used here; NeedsImage: without
        Docker."""
        machine = self._machine
        folder = read_folder(path, id, network=machine.network)
        lacking = folder.lacking or ("" if machine.sandbox.moves else f"task {id!r}: {_cannot_move(machine.sandbox)}")
        if not lacking:
            return folder
        if isinstance(machine.engine, str):
            raise NeedsImage(lacking)
        return in_its_image(folder, path, machine.engine)

    def _refused(self) -> DataError:
        shown = some([error.message for error in self._unfit], _SHOWN, "\n  ")
        share = f"{len(self._unfit)} of {len(self._unfit) + len(self._folders)} tasks cannot be used here"
        docker = sum(isinstance(error, NeedsImage) for error in self._unfit)
        answer = f"; Docker could run {docker} of them, but {self._machine.engine}" if docker else ""
        if self.config.skip_unfit:
            return DataError(
                f"{self._where}: too few tasks are left to train on, as {share}:\n  {shown}",
                hint=f"correct them, or add others{answer}",
            )
        return DataError(
            f"{self._where}: {share}:\n  {shown}",
            hint=f"leave them out (env.skip_unfit: true), or correct them{answer}",
        )

    def _doubts(self) -> list[str]:
        bare = [id for id, folder in self._folders.items() if not folder.solution]
        doubts: list[str] = []
        if self._incomplete:
            names = ", ".join(repr(str(path)) for path in self._incomplete[:_SHOWN])
            doubts.append(f"{len(self._incomplete)} folders are left out, as they have no {TOML}: {names}")
        if self._unfit:
            names = "; ".join(error.message for error in self._unfit[:_SHOWN])
            doubts.append(f"left out, as they cannot be used here: {counted(len(self._unfit), 'task')}: {names}")
        if bare and self.config.check_solutions:
            doubts.append(
                f"{len(bare)} tasks have no solution/solve.sh, so that nobody knows whether their tests work here: "
                f"{', '.join(map(repr, bare[:_SHOWN]))}"
            )
        return doubts


def _machine(config: HarborConfig, where: str, sandbox: Sandbox | None) -> Machine:
    readable, sandbox = readable_folders(config.readable, where), sandbox or find_sandbox()
    machine = Machine(sandbox, readable, with_programs(readable, _PATH), config.network, config.docker)
    if not sandbox.moves and isinstance(machine.engine, str):
        raise ConfigError(
            f"{where}: {_cannot_move(sandbox)}",
            hint="install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap), or start Docker "
            f"({machine.engine})",
        )
    return machine


def _cannot_move(sandbox: Sandbox) -> str:
    return (
        f"harbor tasks find their files at paths like /app and /tests, where the sandbox {sandbox.name!r} cannot put "
        "them"
    )
