"""The command at a terminal, with somebody who types."""

import io
import os
import pty
from collections.abc import Sequence

from forked import forked


class Terminal(io.StringIO):
    """A stream that is taken for a terminal."""

    def isatty(self) -> bool:
        return True


def at_a_terminal(words: Sequence[str], answers: Sequence[str]) -> str:
    """What is shown when these answers are typed."""
    master, slave = pty.openpty()
    with forked(words, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:  # the other side is closed
            pass
        process.wait(60)
    os.close(master)
    return shown.decode().replace("\r\n", "\n")
