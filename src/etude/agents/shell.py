"""The shell of an agent: each command runs in the sandbox, in the workspace, and says how it ended."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etude.agents.file_tools import Result, ToolMisuse
from etude.errors import ConfigError, DataError
from etude.records import Task
from etude.sandbox import Box, Finished, Limits, Sandbox, run

MAX_COMMAND_BYTES = 100_000
"""The system takes 131,071 for one argument."""


def readable_folders(names: Sequence[str], where: str = "agent") -> tuple[Path, ...]:
    """The folders of the setting `readable`. Raises ConfigError: one does not exist."""
    folders = tuple(Path(os.path.abspath(os.path.expanduser(name))) for name in names)
    for name, folder in zip(names, folders, strict=True):
        if not folder.is_dir():
            raise ConfigError(f"{where}.readable: {name!r} is not a folder", hint="leave it out, or correct it")
    return folders


def check_place(task: Task, sandbox: Sandbox) -> None:
    """Raises DataError: the sandbox cannot put the workspace where the task wants it."""
    if task.place is not None and not sandbox.moves:
        raise DataError(
            f"task {task.id!r} wants its workspace at {task.place.path!r}, where the sandbox {sandbox.name!r} cannot "
            "put it",
            hint="install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap)",
        )


def variables_of(task: Task) -> dict[str, str]:
    """The environment variables that a task wants for programs of an attempt."""
    return {} if task.place is None else task.place.env


def with_programs(folders: Sequence[Path], path: str) -> str:
    """PATH with the `bin` of each folder in front."""
    return os.pathsep.join([*(str(folder / "bin") for folder in folders), path])


@dataclass(frozen=True)
class Shell:
    """Runs commands for one attempt. Nothing but files is left of a command when the next one starts."""

    sandbox: Sandbox
    box: Box
    limits: Limits
    env: Mapping[str, str]
    names: Mapping[str, str]
    """Folder of this machine to what stands for it in outputs: what a model reads must not depend on where an attempt
    happens to run."""

    async def run(self, command: str) -> Result:
        """What a command wrote, and how it ended. Raises ToolMisuse: the command is too long."""
        size = len(command.encode())
        if size > MAX_COMMAND_BYTES:
            raise ToolMisuse(f"the command has {size:,} bytes, at most {MAX_COMMAND_BYTES:,} are allowed; use a file")
        finished = await run(
            ["bash", "-c", command], box=self.box, limits=self.limits, sandbox=self.sandbox, env=self.env
        )
        code = finished.code
        if code is None:
            code = 128 + (0 if finished.signal is None else finished.signal)  # as shells count
        return Result(self._shown(finished), self._remarks(finished, code), code)

    def _shown(self, finished: Finished) -> str:
        out = finished.stdout.decode(errors="replace")
        err = finished.stderr.decode(errors="replace")
        text = f"{out.rstrip()}\n[standard error]\n{err}" if out.strip() and err.strip() else out + err
        for folder in sorted(self.names, key=len, reverse=True):
            text = re.sub(re.escape(folder) + r"(?![\w.-])", self.names[folder].replace("\\", "\\\\"), text)
        return text.strip("\n")

    def _remarks(self, finished: Finished, code: int) -> tuple[str, ...]:
        limits = self.limits
        most = {
            "time limit": f"{limits.seconds:g} seconds",
            "memory limit": f"{limits.memory_mb:,} MB",
            "process limit": f"{limits.processes:,} processes",
            "disk limit": f"{limits.disk_mb:,} MB",
        }
        if finished.over:
            return (f"[ended at the {finished.over}: a command may use {most[finished.over]}]",)
        return (f"[exit code {code}]",) if code != 0 else ()
