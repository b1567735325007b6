import asyncio
from collections.abc import AsyncIterator

import pytest
from models_doubles import FakeTime, Server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server([])
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    yield server
    listener.close()
    await listener.wait_closed()


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()
