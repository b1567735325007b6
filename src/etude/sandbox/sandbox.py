"""The seam: a sandbox turns a command line into one whose program sees only its box."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from etude.errors import ConfigError, EtudeError
from etude.sandbox.box import Box, Limits

Over = Literal["", "time limit", "memory limit", "process limit", "disk limit"]


class SandboxError(EtudeError):
    """A run in a sandbox was disturbed; nothing can be said about the program."""


@dataclass(frozen=True)
class Finished:
    """How a program ended and what it wrote."""

    code: int | None
    """Its exit code; None when a signal ended it. 127 when it could not be started in the box, as shells have it."""
    signal: int | None
    """The signal that ended it. bubblewrap tells of signals as 128 + their number, so an exit code above 128 is read
    as one there."""
    stdout: bytes
    stderr: bytes
    cut: bool
    """The middle of stdout or stderr was left out; a line in it says how much."""
    over: Over
    """Which limit ended it; empty if none did."""

    @property
    def timed_out(self) -> bool:
        """It was ended at `Limits.seconds`."""
        return self.over == "time limit"


@dataclass(frozen=True)
class Wrapped:
    """What is started for a program in its box."""

    argv: Sequence[str]
    env: Mapping[str, str]
    limits: Limits
    """For what is started, and its children."""
    after: Sequence[str] = ()
    """A command for when all that is over, however it ended and also when etude is gone: it ends what runs elsewhere.
    What it writes, in letters and digits, is told to `Sandbox.finished`."""


class Sandbox(ABC):
    """A way to keep a program in its box. Limits and the end of all processes are the work of `run`."""

    name: ClassVar[str]
    spare: ClassVar[bool] = False
    """The first process of a wrapped command is the sandbox's own: it stands outside of the box, is not asked to end
    (SIGTERM) before the program, tells of signals as 128 + their number, and at `launch.execute.STATUS`
    whether it has started the program."""
    moves: ClassVar[bool] = False
    """It can show a folder under another path, as `Box.places` asks."""
    brings: ClassVar[bool] = False
    """Programs are its own, not those of this machine."""
    filter: bytes = b""
    """What that first process finds at the descriptor `launch.execute.FILTER`: a filter of system calls."""

    def check(self, box: Box) -> None:
        """Raises ConfigError: the box asks for what this sandbox cannot do."""
        if box.places and not self.moves:
            raise ConfigError(
                f"the sandbox {self.name!r} cannot show a folder as {next(iter(box.places))!r}",
                hint="install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap)",
            )

    @abstractmethod
    def wrap(self, argv: Sequence[str], box: Box, limits: Limits, env: Mapping[str, str]) -> Wrapped:
        """What runs `argv` in the box with the environment `env`.

        Raises ConfigError when the box cannot be made.
        """

    def finished(self, found: Finished, said: str) -> Finished:
        """How the program ended, where what was started ended as `found` and `Wrapped.after` said `said`.

        Raises SandboxError: nobody knows.
        """
        return found


class Unsafe(Sandbox):
    """Runs the program as it is, with the user's rights: it reads every file the user can read and reaches every
    network. `gateway` forwards nothing here: the gateway has to listen at the port on the host itself.
    """

    name = "unsafe"

    def wrap(self, argv: Sequence[str], box: Box, limits: Limits, env: Mapping[str, str]) -> Wrapped:
        """The command as it is."""
        return Wrapped(argv, env, limits)
