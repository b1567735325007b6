"""A loopback server that follows a script, answers to put into it, and a clock that only sleeping moves."""

import asyncio
import json
from collections.abc import Callable
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
    """Answers each request with the next line of `script`, or what that makes of it; the last one is repeated."""

    script: "list[bytes | str | Callable[[Heard], bytes]]"
    url: str = ""
    heard: list[Heard] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.heard.append(Heard(head[0].split()[1], headers, json.loads(body or b"{}")))
            line = self.script[min(len(self.heard), len(self.script)) - 1]
            line = line(self.heard[-1]) if callable(line) else line
            if line == HANG:
                await reader.read()  # until the client goes away
            elif isinstance(line, bytes):
                writer.write(line)
                await writer.drain()
        finally:
            writer.close()


def http(status: int, body: Any, **headers: str) -> bytes:
    """An answer; a body that is no bytes becomes JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Status", "Content-Type: application/json", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + content


def events(*data: Any) -> bytes:
    """A streamed answer: JSON data, with its type as the name of the event, or bytes as they are."""
    lines: list[bytes] = []
    for one in data:
        name = f"event: {one['type']}\n".encode() if isinstance(one, dict) and "type" in one else b""
        lines.append(name + b"data: " + (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n\n")
    return http(200, b"".join(lines))


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
