"""Starting a part of etude in a process of its own, and how processes ended."""

import signal
import sys

_LINES, _CHARACTERS = 3, 600
"""What is shown of the end of an error: programs in C write it on two or three lines."""


def command(*words: str, module: str = "etude") -> list[str]:
    """The command line of a module of etude.

    With `-P`: otherwise Python looks for the module, and for all that it imports, in the current folder first, which
    may be a stranger's.
    """
    return [sys.executable, "-P", "-m", module, *words]


def how_ended(code: int | None, number: int | None) -> str:
    """How a process ended, by its exit code or the signal that ended it; the other one is None."""
    if code is not None:
        return f"exit code {code}"
    name = signal.Signals(number).name if number in {*signal.Signals} else f"signal {number}"
    return f"{name}: the machine may be out of memory" if name == "SIGKILL" else name


def last_lines(output: bytes) -> str:
    """The last lines that are not empty, as one line; empty when there are none."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-_LINES:])[-_CHARACTERS:]
