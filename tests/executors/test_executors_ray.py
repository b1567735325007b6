"""The executor for Ray, with a double of the package; tests/slow has Ray itself."""

import asyncio
import itertools
import os
import signal
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
from far_parts import SKILL, echo, rollout_with, todo

from etude.errors import ConfigError
from etude_annexes.workers.ray import RayExecutor
from rows import few

UNUSABLE = [
    ({"address": "127.0.0.1:1"}, "", "at '127.0.0.1:1': [Errno 111] Connection refused"),
    ({"address": "ray://head:10001"}, "", "neither 'auto' nor HOST:PORT"),
    ({}, "gone", "at 'auto': there is no cluster"),
    ({}, "ends", "at 'auto': it does not answer: Ray prints to standard output"),
    ({"cpus": 3}, "", "no machine of the Ray cluster has 3 CPUs"),
]


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(Path(__file__).parent / "double")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def ray(concurrency: int = 8, **options: object) -> RayExecutor:
    return RayExecutor.from_options(options, concurrency=concurrency, where="executor")


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("options", "workers"), [({"cpus": 2}, 2), ({"cpus": 3, "workers": 9}, 8)])
async def test_there_are_as_many_workers_as_cpus_unless_the_settings_say_how_many(options, workers: int) -> None:
    executor = ray(**options)
    async with rollout_with(executor, echo):
        quarters = await executor.quarters()
    assert (quarters.host, quarters.workers) == ("127.0.0.1", workers)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("options", "state", "message"), few(UNUSABLE, UNUSABLE[1], UNUSABLE[3]))
def test_a_cluster_that_cannot_be_used_is_an_error_before_the_run(options, state: str, message: str, monkeypatch):
    monkeypatch.setenv("RAY_DOUBLE", state)
    with pytest.raises(ConfigError) as error:
        ray(**options).check()
    assert message in error.value.message
    assert error.value.hint


def test_a_port_in_use_is_an_error_before_the_run() -> None:
    with socket.create_server(("", 0)) as taken, pytest.raises(ConfigError, match="Address already in use") as error:
        ray(port=taken.getsockname()[1]).check()
    assert "choose another port" in error.value.hint


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_the_package_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match="needs ray") as error:
        ray().check()
    assert "ray" in error.value.hint


@pytest.mark.usefixtures("double")
async def test_no_process_runs_code_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("etude").mkdir()
    Path("etude/__init__.py").write_text(f"open({str(tmp_path / 'attacked')!r}, 'w').close()\n")
    async with rollout_with(ray(workers=1), echo) as rollout:
        (task,) = todo("parent 1")
        await rollout.attempt(task, SKILL, 0)
    assert not Path("attacked").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("double")
async def test_when_the_connection_is_lost_it_is_made_again_and_so_are_the_attempts() -> None:
    async with rollout_with(ray(workers=1), echo) as rollout:

        async def parent(number: int) -> int:
            """The process that is connected, which has started the worker."""
            (task,) = todo(f"parent {number}")
            return int((await rollout.attempt(task, SKILL, 0)).trajectory.answer)

        numbers = itertools.count()
        first = await parent(next(numbers))
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(60):
            while await parent(next(numbers)) in (first, 1):
                pass
