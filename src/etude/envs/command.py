"""Tasks of a data set, with files for the agent's workspace, scored by a program of the user's."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from etude.config import parse
from etude.envs.dataset import DatasetConfig, DatasetEnvironment
from etude.envs.grading import CommandScorer, UserCommand
from etude.envs.scorers.answer_scorer import Judge
from etude.errors import ConfigError
from etude.sandbox import Limits, find_sandbox


class CommandConfig(DatasetConfig):
    """Settings of the `command` environment: those of `dataset`, with a program in place of the scorer."""

    grader: str | list[str] | None = None
    """Program that reads an attempt as JSON on standard input and prints a score. A line or a list of words, without
    a shell; files are looked for in the folder of the data, then in the current one."""
    check: str | list[str] | None = None
    """Program that looks at the workspace as the agent left it: exit code 0 is full marks."""
    boxes: Literal[1, 2] = 1
    """Sandboxes of a check. With 1 it is run in a copy of the workspace, and code of the attempt that it starts can
    forge the score. With 2 that code runs in the second one, by the Python module `etude_attempt`."""
    seconds: float = Field(default=60, gt=0)
    """Longest the program may take. Beyond it an attempt has no score, or with a `check` the score 0."""
    memory_mb: int = Field(default=2048, ge=16)
    """Most memory the program may use. Beyond it as beyond `seconds`."""
    network: bool = False
    """Let the program reach the network."""
    readable: list[str] = Field(default_factory=list)
    """Files and folders that the program may read, besides the system's and the folders of the files it names. They
    are looked for as the words of the command are."""
    unsafe_no_sandbox: bool = False
    """Run the program without a sandbox where none can be had. What it runs of an agent's code then reads and writes
    whatever you can."""


class CommandEnvironment(DatasetEnvironment):
    """As `DatasetEnvironment`, scored by a command. Raises ConfigError: a setting is wrong or missing, there is no
    such program, or there is no sandbox; DataError: a file is missing or broken, or the splits overlap."""

    name = "command"
    options_type: ClassVar[type[DatasetConfig]] = CommandConfig

    def __init__(
        self, options: Mapping[str, Any], *, where: str = "env", judge: Callable[[], Judge] | None = None
    ) -> None:
        config = parse(CommandConfig, dict(options), where=where)
        if "scorer" in config.model_fields_set:
            raise ConfigError(f"{where}: 'scorer' belongs to the environment 'dataset'", hint="remove it")
        given = [form for form in ("grader", "check") if getattr(config, form) is not None]
        if len(given) != 1:
            problem = "'grader' and 'check' exclude each other" if given else "'grader' or 'check' is missing"
            raise ConfigError(f"{where}: {problem}", hint="give the program that scores an attempt")
        if config.boxes == 2 and (config.grader is not None or config.network or config.unsafe_no_sandbox):
            problem = "needs a 'check', without 'network' and 'unsafe_no_sandbox'"
            raise ConfigError(f"{where}: boxes = 2 {problem}", hint="remove 'boxes', or what it excludes")
        form = "grader" if config.grader is not None else "check"
        written = config.grader if config.grader is not None else config.check
        assert written is not None
        folders = [*(Path(file).parent for file in (config.path, config.train) if file is not None), Path()]
        command = UserCommand.parse(written, folders, f"{where}: {form}")
        self._command = command.with_readable(config.readable, folders, where)
        limits = Limits(seconds=config.seconds, memory_mb=config.memory_mb)
        sandbox = find_sandbox(unsafe=config.unsafe_no_sandbox)
        scorer = CommandScorer(
            "judge" if config.boxes == 2 else form, self._command, limits, sandbox, network=config.network
        )
        super().__init__(options, scorer, where=where, judge=judge)

    def hidden(self) -> Mapping[Path, str]:
        """The files of the command."""
        return {path: "part of what scores attempts" for _, path in self._command.all_files()}
