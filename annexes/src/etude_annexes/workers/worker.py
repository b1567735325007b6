"""A worker process: it connects to the process that holds the run, builds agent and environment once, and makes
attempts and scores them until the connection ends.

    python -m etude_annexes.workers.worker    reads an invitation, as JSON, from standard input
"""

import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from importlib import import_module

from pydantic import Field

from etude.concurrency import Threads, give_up
from etude.protocols import Agent, Environment, Here
from etude.records import Record, Skill, Task, Trajectory, as_text
from etude.sandbox.process import seconds_used
from etude_annexes.workers.peer import Peer, write_frame

CONNECT_SECONDS = 30.0


class Invitation(Record):
    """Where a worker connects to, and by what it is known there."""

    host: str
    port: int
    token: str = Field(repr=False)


class Start(Record):
    """What a worker has to know before it builds anything."""

    builder: str
    order: str
    folder: str
    """Where the process that holds the run works. Paths of the settings are meant from there."""
    path: tuple[str, ...]
    """Where that process finds modules."""
    secret_variables: tuple[str, ...]
    threads: int
    """Most scoring functions at the same time."""


def work(invitation: str) -> None:
    """Work until the run has no more use for it.

    Args:
        invitation: an `Invitation` as JSON.

    Raises:
        OSError: nobody answers at the address.
    """
    asyncio.run(connected(Invitation.model_validate_json(invitation)))


async def connected(invitation: Invitation) -> None:
    """`work` in this event loop."""
    way = asyncio.open_connection(invitation.host, invitation.port)
    reader, writer = await asyncio.wait_for(way, CONNECT_SECONDS)
    # An end of which nothing is heard any more is noticed.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    write_frame(writer, invitation.token)
    bench = _Bench()
    peer = bench.peer = Peer(reader, writer, bench.answer)
    await peer.run()
    await give_up(*(task for _, task in peer.answering.values()))
    await bench.aclose()


class _Bench:
    """What attempts are made with in this process."""

    peer: Peer

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._here: Here | None = None

    async def answer(self, name: str, texts: Sequence[str]) -> list[str]:
        """Answer a call of the process that holds the run."""
        if name == "start":
            return self._start(Start.model_validate_json(texts[0]))
        here = self._here
        assert here is not None
        if name == "score":
            score = await here.score(Task.model_validate_json(texts[0]), Trajectory.model_validate_json(texts[1]))
            return [as_text(score)]
        task, skill = Task.model_validate_json(texts[0]), Skill.model_validate_json(texts[1])
        spent = seconds_used()
        try:
            async with here.room():
                return [as_text(await here.attempt(task, skill, int(texts[2])))]
        finally:
            self.peer.note(str(sum(spent)))

    def _start(self, start: Start) -> list[str]:
        for name in start.secret_variables:
            os.environ.pop(name, None)
        if os.path.isdir(start.folder):
            os.chdir(start.folder)
        sys.path += [folder for folder in start.path if folder not in sys.path]
        module, _, function = start.builder.partition(":")
        made: tuple[Agent, Environment] = getattr(import_module(module), function)(start.order, self._ask)
        self._agent = made[0]
        self._here = Here(*made, Threads(start.threads))
        return [one.fingerprint() for one in made]

    async def _ask(self, name: str, text: str) -> str:
        return (await self.peer.call(name, text))[0]

    async def aclose(self) -> None:
        """Stop what was started for attempts."""
        if self._agent is not None:
            await self._agent.aclose()


if __name__ == "__main__":
    work(sys.stdin.readline())
