"""Connections of the models behind an SDK."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from etude.config import ModelSection
from etude.models.openai import OpenAIModel
from etude.records import ChatRequest, user

HELLO = ChatRequest(messages=(user("Hello"),))
COMPLETION = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}


@dataclass
class Counting:
    """A server that keeps connections open, and answers once so many requests wait."""

    answer: dict[str, Any]
    url: str = ""
    connections: int = 0
    together: int = 1
    waiting: int = 0

    def __post_init__(self) -> None:
        self.enough = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
                async with self.enough:
                    self.waiting += 1
                    self.enough.notify_all()
                    await self.enough.wait_for(lambda: self.waiting >= self.together)
                body = json.dumps(self.answer).encode()
                lines = ("HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(body)}", "", "")
                writer.write("\r\n".join(lines).encode() + body)
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass  # the client has closed the connection
        finally:
            writer.close()


@asynccontextmanager
async def counting(answer: dict[str, Any]) -> AsyncIterator[Counting]:
    server = Counting(answer)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield server
    listener.close()
    await listener.wait_closed()


async def test_a_request_that_was_cancelled_leaves_nothing_in_the_way_of_the_next():
    async with counting(COMPLETION) as server:
        settings = ModelSection(model="openai:m", base_url=f"{server.url}/v1", api_key_env="NO_SUCH_KEY")
        model = OpenAIModel("m", settings)
        server.together = 2
        cut_off = asyncio.create_task(model.complete(HELLO))
        while server.waiting < 1:
            await asyncio.sleep(0.001)
        cut_off.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cut_off
        assert (await model.complete(HELLO)).text == "Hi"
        await model.aclose()
