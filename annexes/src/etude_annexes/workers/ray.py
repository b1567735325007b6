"""Attempts in worker processes that Ray starts, on any machine of a cluster.

    python -m etude_annexes.workers.ray ADDRESS CPUS    holds the connection to the cluster for a run

That is a process of its own, because Ray prints to standard output and ends its process when the cluster is lost.
"""

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import IO, Any, Self

from pydantic import Field

from etude import own_process
from etude.config import Section, parse
from etude.errors import ConfigError, not_installed
from etude.protocols import Here, Recipe, Workplace
from etude.records import Record, as_text
from etude_annexes.workers.remote import Quarters, RemoteExecutor
from etude_annexes.workers.worker import work

_CONNECT_SECONDS = 60
"""Ray itself tries for many minutes."""
_END_BYTES = 4096
"""What is read of the end of an error."""
_NOWHERE = "/"
"""Where the process that connects works: Ray has all workers look for modules in its folder first, and that of the
user may be a stranger's. They know the user's path from the run."""
_PROBE_SECONDS = 5.0
_CLOSE_SECONDS = 5.0


class RayOptions(Section):
    """Options of the executor `ray`."""

    address: str = "auto"
    """`auto` for the cluster that this machine is part of, or `HOST:PORT` of its head."""
    workers: int | None = Field(default=None, ge=1)
    """Worker processes; without it as many as the machines have CPUs for when the run begins."""
    cpus: int = Field(default=1, ge=1)
    """CPUs that Ray keeps for each worker."""
    port: int = Field(default=0, ge=0, le=65535)
    """Where workers connect to the process that holds the run; any free port without it."""


class _Cluster(Record):
    """What the connected process says first."""

    host: str = ""
    """Where machines of the cluster reach this one."""
    room: int = 0
    """Workers for which there are CPUs now."""
    error: str = ""


class RayExecutor(RemoteExecutor):
    """Each worker is a Ray task that lasts as long as the run."""

    def __init__(self, options: RayOptions, concurrency: int, where: str = "executor") -> None:
        super().__init__(concurrency)
        self._options = options
        self._where = where
        self._command = own_process.command(options.address, str(options.cpus), module=__name__)
        self._link: _Link | None = None
        self._linking = asyncio.Lock()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, concurrency: int, where: str) -> Self:
        """The executor for the settings of the `executor` section. Raises ConfigError: an unknown option."""
        return cls(parse(RayOptions, dict(options), where=where), concurrency, where)

    def check(self) -> None:
        """Connect and leave again. Raises ConfigError: Ray is not installed, the port is in use, no cluster answers,
        or none of its machines has the CPUs."""
        self._check_port()
        if find_spec("ray") is None:
            raise not_installed("executor 'ray'", "ray", extra="ray")
        done = subprocess.run(self._command, input=b"", capture_output=True, cwd=_NOWHERE, check=False)
        self._workers(self._read(done.stdout, done.stderr))

    def _check_port(self) -> None:
        port = self._options.port
        try:
            with socket.create_server(("", port)):
                pass
        except OSError as error:
            raise ConfigError(
                f"{self._where}.port = {port}: workers cannot connect there: {os.strerror(error.errno or 0)}",
                hint="choose another port, or leave it out for any that is free",
            ) from None

    async def quarters(self) -> Quarters:
        cluster = (await self._linked()).cluster
        return Quarters(cluster.host, self._options.port, self._workers(cluster))

    async def work(self, invitation: str) -> None:
        await (await self._linked()).work(invitation)

    @asynccontextmanager
    async def placed(self, here: Here, recipe: Callable[[], Recipe]) -> AsyncGenerator[Workplace]:
        """The connection ends with the run."""
        try:
            async with super().placed(here, recipe) as place:
                yield place
        finally:
            link, self._link = self._link, None
            if link is not None:
                await link.aclose()

    async def _linked(self) -> "_Link":
        async with self._linking:
            if self._link is not None and not self._link.gone:
                return self._link
            said = TemporaryFile()  # noqa: SIM115 - the link closes it
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=_NOWHERE,
                start_new_session=True,  # Ctrl-C is for the run, which ends its workers in its own way
            )
            try:
                assert process.stdout is not None
                told = await process.stdout.readline()
                link = self._link = _Link(process, self._read(told, b"" if told else _end_of(said)), said)
            except BaseException:
                said.close()
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
                raise
            return link

    def _read(self, told: bytes, said: bytes) -> _Cluster:
        silent = f"it does not answer: {own_process.last_lines(said) or 'without a word'}"
        cluster = _Cluster.model_validate_json(told) if told else _Cluster(error=silent)
        if cluster.error:
            raise self._unanswered(cluster.error)
        return cluster

    def _unanswered(self, why: str) -> ConfigError:
        return ConfigError(
            f"{self._where}.address: no connection to a Ray cluster at {self._options.address!r}: {why}",
            hint="type `ray start --head` on one machine and `ray start --address HOST:PORT` on the others, "
            "and start the run on one of them; where the cluster has a token, set RAY_AUTH_MODE=token and have the "
            "same ~/.ray/auth_token here",
        )

    def _workers(self, cluster: _Cluster) -> int:
        found = self._options.workers or cluster.room
        if not found:
            cpus = self._options.cpus
            raise ConfigError(
                f"{self._where}: no machine of the Ray cluster has {cpus} CPU{'s' if cpus > 1 else ''}",
                hint=f"set {self._where}.workers if machines are started on demand",
            )
        return min(found, self.concurrency)


class _Link:
    """The process that is connected to the cluster, as the run sees it."""

    def __init__(self, process: asyncio.subprocess.Process, cluster: _Cluster, said: IO[bytes]) -> None:
        self.cluster = cluster
        self._said = said
        """What the process wrote to its standard error."""
        self.gone = False
        self._lost = "the connection to the Ray cluster is lost"
        self._process = process
        self._tasks: dict[int, asyncio.Future[str]] = {}
        self._numbers = itertools.count()
        self._reading = asyncio.create_task(self._read())

    async def work(self, invitation: str) -> None:
        """One worker. Raises RuntimeError: it ended by an error."""
        number = next(self._numbers)
        ended = self._tasks[number] = asyncio.get_running_loop().create_future()
        self._tell([number, invitation])
        if self.gone:
            ended.set_result(self._lost)
        try:
            error = await ended
        except asyncio.CancelledError:
            self._tell([number, None])
            raise
        finally:
            del self._tasks[number]
        if error:
            raise RuntimeError(error)

    async def aclose(self) -> None:
        """End the connection, and with it all workers."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _CLOSE_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reading

    def _tell(self, words: list[Any]) -> None:
        assert self._process.stdin is not None
        if not self.gone:
            self._process.stdin.write(f"{json.dumps(words)}\n".encode())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            number, error = json.loads(line)
            self._end(number, error)
        self.gone = True
        with self._said as said:
            last = own_process.last_lines(_end_of(said))
        self._lost += f": {last}" if last else ""
        for number in tuple(self._tasks):
            self._end(number, self._lost)

    def _end(self, number: int, error: str) -> None:
        if number in self._tasks and not self._tasks[number].done():
            self._tasks[number].set_result(error)


def _end_of(said: IO[bytes]) -> bytes:
    said.seek(max(0, said.seek(0, os.SEEK_END) - _END_BYTES))
    return said.read()


def main(address: str, cpus: int) -> None:
    """Say what the cluster is like; then start and end workers, as the lines of standard input say, until it ends."""
    out = os.dup(1)
    os.dup2(2, 1)  # Ray prints there
    try:
        ray = _connected(address)
        machines = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        room = sum(int(machine // cpus) for machine in machines)
        cluster = _Cluster(host=ray.util.get_node_ip_address(), room=room)
    except Exception as error:  # noqa: BLE001 - the boundary: whatever Ray raises
        os.write(out, f"{as_text(_Cluster(error=' '.join(str(error).split())))}\n".encode())
        return
    os.write(out, f"{as_text(cluster)}\n".encode())
    worker = ray.remote(name="etude", num_cpus=cpus, max_calls=1, max_retries=0, scheduling_strategy="SPREAD")(work)
    tasks: dict[int, Any] = {}
    for line in sys.stdin:
        number, invitation = json.loads(line)
        if invitation is not None:
            task = tasks[number] = worker.remote(invitation)
            task.future().add_done_callback(partial(_tell_end, out, number))
        elif number in tasks:
            ray.cancel(tasks.pop(number), force=True)
    ray.shutdown()


def _connected(address: str) -> Any:
    given = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    if given != "auto":
        host, _, port = given.rpartition(":")
        if not host or "/" in host or not port.isdigit():
            raise ValueError("the address is neither 'auto' nor HOST:PORT")
        socket.create_connection((host, int(port)), _PROBE_SECONDS).close()
    signal.alarm(_CONNECT_SECONDS)  # ends this process
    ray: Any = import_module("ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    signal.alarm(0)
    return ray


def _tell_end(out: int, number: int, done: Any) -> None:
    error = done.exception()
    lines = [] if error is None else str(error).split("\n")  # a traceback, the error itself comes last
    last = next((line.strip() for line in reversed(lines) if line.strip()), "" if error is None else "it failed")
    os.write(out, f"{json.dumps([number, last])}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
