"""The ends of pipes that belong to a running program, read and fed by the event loop. Nothing here waits."""

import asyncio
import os
from collections.abc import Callable
from typing import IO

_CHUNK = 65536


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


class Intake:
    """Collects what comes through a pipe, which belongs to this object."""

    def __init__(self, pipe: IO[bytes], most: int, hear: Callable[[bytes], None] | None = None) -> None:
        self.output = Output(most)
        self._hear = hear or self.output.add
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self.done = self._loop.create_future()
        """Done when there is no more to come."""
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._hear(data)
        else:
            self.close()

    def close(self) -> None:
        """Reads no more. May be called again."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
            self.done.set_result(None)


class Feed:
    """Writes `data` into a pipe and closes it, or with `keep` waits for more. A program that does not read it, or not
    all, is not an error."""

    def __init__(self, pipe: IO[bytes], data: bytes, *, keep: bool = False) -> None:
        self._pipe = pipe
        self._rest = bytearray(data)
        self._keep = keep
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_writer(pipe.fileno(), self._write)

    def add(self, data: bytes) -> None:
        """More to write. After `close`, it is dropped."""
        if not self._pipe.closed:
            self._rest += data
            self._loop.add_writer(self._pipe.fileno(), self._write)

    def _write(self) -> None:
        try:
            del self._rest[: os.write(self._pipe.fileno(), self._rest[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if self._rest:
            return
        if self._keep:
            self._loop.remove_writer(self._pipe.fileno())
        else:
            self.close()

    def close(self) -> None:
        """Writes no more. May be called again."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()


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
        self._feed: Feed | None = None

    def say(self, line: bytes) -> None:
        """Send a line, without its end. A program that has gone hears nothing, which is not an error."""
        if self._feed is None:
            self._said += line + b"\n"
        else:
            self._feed.add(line + b"\n")

    def connect(self, pipe: IO[bytes]) -> Feed:
        """What writes into the standard input of the program."""
        self._feed = Feed(pipe, self._said, keep=True)
        return self._feed

    def heard(self, data: bytes) -> None:
        """More of what the program has written."""
        self._heard += data
        *lines, rest = self._heard.split(b"\n") if b"\n" in data else [self._heard]
        self._heard = rest if len(rest) <= self._longest else bytearray()
        for line in lines:
            self._hear(bytes(line))
