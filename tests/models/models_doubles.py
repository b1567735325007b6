"""A loopback server that follows a script, and a clock that only sleeping moves."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

HANG, DROP = "hang", "drop"


@dataclass
class Heard:
    """A request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Server:
    """Answers each request with the next line of `script`; the last one is repeated."""

    script: list[bytes | str]
    url: str = ""
    heard: list[Heard] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers["content-length"]))
            self.heard.append(Heard(head[0].split()[1], headers, json.loads(body)))
            line = self.script[min(len(self.heard), len(self.script)) - 1]
            if line == HANG:
                await reader.read()  # until the client goes away
            elif isinstance(line, bytes):
                writer.write(line)
                await writer.drain()
        finally:
            writer.close()


@dataclass
class FakeTime:
    """Pass `sleep` and `clock` on. Sleeping takes no time and moves the clock."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)

    def clock(self) -> float:
        return self.now
