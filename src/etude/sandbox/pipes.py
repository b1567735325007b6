"""What a running program writes, and a talk with it."""

import asyncio
from collections.abc import Callable


class Output:
    """Keeps the beginning and the end of what is added, at most `most` bytes. The cut is marked where it is."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """More output."""
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def cut(self) -> bool:
        """Something was left out."""
        return self._total > 2 * self._half

    def text(self) -> bytes:
        """What was kept; between the parts a line that says how many bytes are missing."""
        if not self.cut:
            return bytes(self._head + self._tail)
        missing = self._total - 2 * self._half
        return b"%b\n[%d bytes left out]\n%b" % (self._head, missing, self._tail[-self._half :])


class Lines:
    """A talk with a program while it runs: lines to its standard input, and from its standard output. What is said
    before it runs waits for it."""

    def __init__(self, hear: Callable[[bytes], None], longest: int = 64 * 1024 * 1024) -> None:
        """`hear` is called with each line, without its end. A line of more than `longest` bytes loses its
        beginning."""
        self._hear = hear
        self._longest = longest
        self._heard = bytearray()
        self._said = b""
        self._pipe: asyncio.WriteTransport | None = None

    def say(self, line: bytes) -> None:
        """Send a line, without its end. A program that has gone hears nothing, which is not an error."""
        if self._pipe is None:
            self._said += line + b"\n"
        elif not self._pipe.is_closing():
            self._pipe.write(line + b"\n")

    def connect(self, pipe: asyncio.WriteTransport) -> None:
        """Say it to the standard input of a program from here on."""
        self._pipe = pipe
        pipe.write(self._said)

    def heard(self, data: bytes) -> None:
        """More of what the program has written."""
        self._heard += data
        *lines, rest = self._heard.split(b"\n") if b"\n" in data else [self._heard]
        self._heard = rest if len(rest) <= self._longest else bytearray()
        for line in lines:
            self._hear(bytes(line))
