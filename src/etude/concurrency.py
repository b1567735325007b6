"""Coroutines at the same time, user functions in daemon threads, and one synchronous door."""

import asyncio
import contextlib
import contextvars
import functools
import math
import resource
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar, cast

from etude.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")
_OWN_FILES, _FILES_EACH = 64, 2
"""What a run has open, and each of its attempts at least."""
_ENOUGH_FILES = 65_536


def run_to_end(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine, for synchronous code: in this thread, or in one of its own where a loop is running
    already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(contextvars.copy_context().run, asyncio.run, coroutine).result()
    return asyncio.run(coroutine)


def synchronous(work: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """A function like `work`, for synchronous code; works inside a running event loop as well."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return run_to_end(work(*args, **kwargs))

    run.__doc__ = f"`{work.__name__}` for synchronous code; works inside a running event loop as well."
    run.__name__ = run.__qualname__ = work.__name__.removeprefix("a")
    return run


async def together(work: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """Run coroutines at the same time and wait for all of them; then the first error is raised. The others are not
    cancelled: what they paid for is not lost."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[R], results)


def allow_open_files(slots: int = 0) -> None:
    """Let this process open as many files and connections as the system allows it. Raises ConfigError: that is too
    few for this many attempts at the same time."""
    allowed, most = map(_number, resource.getrlimit(resource.RLIMIT_NOFILE))
    if allowed < (wanted := min(most, _ENOUGH_FILES)):
        with contextlib.suppress(ValueError, OSError):  # macOS may say that there is no limit, and has one
            resource.setrlimit(resource.RLIMIT_NOFILE, (int(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            allowed = wanted
    needed = _OWN_FILES + _FILES_EACH * slots
    if allowed < needed:
        fit = int(allowed - _OWN_FILES) // _FILES_EACH
        raise ConfigError(
            f"limits.concurrency = {slots}: this needs up to {needed:,} open files and connections, and this system "
            f"allows {allowed:,.0f}",
            hint=f"set limits.concurrency: {max(1, fit)}, or allow more (`ulimit -n`, as the administrator)",
        )


def _number(limit: int) -> float:
    return math.inf if limit == resource.RLIM_INFINITY else limit


class Threads:
    """Runs at most `most` functions at the same time.

    Threads are daemons: one whose function hangs cannot be ended, but it does not outlive the process. It keeps its
    place, so that hanging functions do not pile up.
    """

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)

    async def run(self, function: Callable[..., R], *args: Any) -> R:
        """The result of `function(*args)`. A function whose caller is cancelled continues; its result is lost."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        result: asyncio.Future[R] = loop.create_future()
        context = contextvars.copy_context()

        def tell(value: Any, error: BaseException | None) -> None:
            self._places.release()
            if result.cancelled():
                return
            if error is None:
                result.set_result(value)
            else:
                result.set_exception(error)

        def work() -> None:
            value: Any = None
            failure: BaseException | None = None
            try:
                value = context.run(function, *args)
            except StopIteration as error:
                failure = RuntimeError(f"StopIteration: {error}")  # a future cannot carry it
            except BaseException as error:  # noqa: BLE001 - handed to the task that waits
                failure = error
            try:
                loop.call_soon_threadsafe(tell, value, failure)
            except RuntimeError:
                pass  # the loop has ended, nothing waits for it

        threading.Thread(target=work, name="etude-function", daemon=True).start()
        return await result
