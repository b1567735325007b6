"""Synchronous user functions run in threads that never keep the process from ending."""

import asyncio
import logging
import subprocess
import sys
import threading

import pytest

from etude.concurrency import Threads, in_thread, run_to_end, waited_for
from etude.errors import DataError, Interrupted


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt("broken")])
async def test_what_a_function_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error), match="broken"):
        await Threads(1).run(fail)


async def test_a_function_whose_caller_was_cancelled_keeps_its_place_until_it_ends() -> None:
    release = threading.Event()
    threads = Threads(1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await threads.run(release.wait, 30)
    waiting = asyncio.create_task(threads.run(str))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    release.set()
    assert await waiting == ""


def test_a_function_that_hangs_does_not_keep_the_process_from_ending() -> None:
    code = (
        "import asyncio, time\n"
        "from etude.concurrency import Threads\n"
        "async def main():\n"
        "    try:\n"
        "        async with asyncio.timeout(0.05):\n"
        "            await Threads(1).run(time.sleep, 600)\n"
        "    except TimeoutError:\n"
        "        print('ended')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n"


def test_too_few_open_files_for_the_slots_are_an_error_before_anything_is_sent() -> None:
    limit = (
        "import resource as r; from etude.concurrency import allow_open_files as allow; r.setrlimit(r.RLIMIT_NOFILE,"
    )
    code = f"{limit} (100, 1000)); allow(468); print(r.getrlimit(r.RLIMIT_NOFILE)); allow(469)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "(1000, 1000)\n"
    error, hint = done.stderr.splitlines()[-2:]
    assert error.endswith(
        "limits.concurrency = 469: this needs up to 1,002 open files and connections, and this system allows 1,000"
    )
    assert hint == "hint: set limits.concurrency: 468, or allow more (`ulimit -n`, as the administrator)"


async def test_what_a_cancelled_function_runs_to_its_end_is_cancelled() -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    waiting = asyncio.create_task(in_thread(run_to_end, work()))
    await asyncio.to_thread(began.wait, 30)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_a_function_that_hangs_is_left_behind_at_once() -> None:
    release = threading.Event()
    waiting = asyncio.create_task(in_thread(release.wait, 30))
    await asyncio.sleep(0.01)
    waiting.cancel()
    done, _ = await asyncio.wait({waiting}, timeout=2)
    assert done
    release.set()


async def test_a_wait_ends_with_its_result_or_with_whatever_asks_it_to() -> None:
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise Interrupted("interrupted")

    assert await waited_for(in_thread(divmod, 7, 2), "a sum") == (3, 1)
    release = threading.Event()
    with pytest.raises(Interrupted):
        await waited_for(in_thread(release.wait, 30), "nothing", check)
    release.set()


async def test_a_wait_has_a_limit_and_says_what_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataError) as caught, caplog.at_level(logging.WARNING):
        await waited_for(asyncio.sleep(60), "the tasks of environment 'slow'", seconds=0.5, say=0.1)
    assert caught.value.message == "the tasks of environment 'slow': not done after 0 seconds"
    assert caught.value.hint
    assert "waiting for the tasks of environment 'slow': 0 seconds so far, at most 0" in caplog.text
