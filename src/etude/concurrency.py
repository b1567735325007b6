"""Coroutines at the same time, user functions in daemon threads, and one synchronous door."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import logging
import math
import resource
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, cast

from etude.errors import ConfigError, DataError

P = ParamSpec("P")
R = TypeVar("R")
_OWN_FILES, _FILES_EACH = 64, 2
"""What a run has open, and each of its attempts at least."""
_ENOUGH_FILES = 65_536
MOST_SECONDS = 4 * 3600.0
"""Longest wait for what comes before a run. Images of a large set of tasks take hours to build; each step on the way
has a shorter limit of its own where that is known."""
_LOOK_SECONDS = 0.1
_END_SECONDS = 5.0
"""How long what was given up may take to end."""
_LOG = logging.getLogger(__name__)


def run_to_end(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine, for synchronous code: in this thread, or in one of its own where a loop is running
    already (a notebook). It is cancelled when a person interrupts the wait, or whoever waits for `in_thread` is."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_followed(coroutine))
    work = _Work(lambda: asyncio.run(_followed(coroutine)))
    try:
        return work.result.result()
    except BaseException:  # a failure of its own, after which nothing is left to end, or Ctrl-C
        if work.give_up():
            concurrent.futures.wait([work.result], timeout=_END_SECONDS)
        raise


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """The result of `function(*args)` in a thread of its own, so that the loop goes on and hears of signals.

    When cancelled, so is what the function runs to its end; the rest of it cannot be ended, and is left to itself: it
    does not outlive the process.
    """
    work = _Work(functools.partial(function, *args))
    result = asyncio.wrap_future(work.result)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        if work.give_up():
            await asyncio.wait({result}, timeout=_END_SECONDS)
        raise
    finally:
        if not result.cancel() and not result.cancelled():
            result.exception()  # nobody hears of one that came after the end


async def waited_for(
    work: Coroutine[Any, Any, R],
    what: str,
    check: Callable[[], None] = lambda: None,
    *,
    seconds: float = MOST_SECONDS,
    say: float = 15.0,
) -> R:
    """The result of what comes before a run, of which nobody else tells anything: a line says every `say` seconds
    what is waited for. `check` is called all the time, and may raise to end the wait. Raises DataError: it takes
    longer than `seconds`."""
    loop = asyncio.get_running_loop()
    began, said, task = loop.time(), 0.0, asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_SECONDS))[0]:
            check()
            waited = loop.time() - began
            if waited >= seconds:
                raise DataError(
                    f"{what}: not done after {seconds:,.0f} seconds",
                    hint="see what it waits for: the network, a lock, an endless loop",
                )
            if waited - said >= say:
                said = waited
                _LOG.warning("waiting for %s: %.0f seconds so far, at most %.0f", what, waited, seconds)
        return task.result()
    finally:
        await give_up(task)


async def give_up(*tasks: asyncio.Future[Any]) -> None:
    """Cancel them and wait until they have ended. What they raise has been said, or came too late."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Work(Generic[R]):
    """A function in a daemon thread: one that hangs does not keep the process."""

    def __init__(self, function: Callable[[], R]) -> None:
        self.result: concurrent.futures.Future[R] = concurrent.futures.Future()
        self.result.set_running_or_notify_cancel()
        self._cancels: list[Callable[[], object]] = []
        self._given_up = False
        context = contextvars.copy_context()
        context.run(_WORK.set, self)
        threading.Thread(target=context.run, args=(self._run, function), name="etude-work", daemon=True).start()

    def _run(self, function: Callable[[], R]) -> None:
        try:
            self.result.set_result(function())
        except StopIteration as error:
            self.result.set_exception(RuntimeError(f"StopIteration: {error}"))  # a future cannot carry it
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self.result.set_exception(error)

    @contextlib.contextmanager
    def followed(self, cancel: Callable[[], object]) -> Generator[None]:
        """Have `cancel` called when the function is given up, which may have been before."""
        self._cancels.append(cancel)
        if self._given_up:
            cancel()
        try:
            yield
        finally:
            self._cancels.remove(cancel)

    def give_up(self) -> bool:
        """Cancel the coroutines that the function runs to their end; whether there are any."""
        self._given_up = True
        under_way = tuple(self._cancels)
        for cancel in under_way:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                cancel()
        return bool(under_way)


_WORK: contextvars.ContextVar["_Work[Any] | None"] = contextvars.ContextVar("work", default=None)
"""What this code runs in, where that is a thread of its own."""


async def _followed(coroutine: Coroutine[Any, Any, R]) -> R:
    loop, task, work = asyncio.get_running_loop(), asyncio.current_task(), _WORK.get()
    if work is None or task is None:
        return await coroutine
    with work.followed(lambda: loop.call_soon_threadsafe(task.cancel)):
        return await coroutine


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

        def free(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, nothing waits for it
                loop.call_soon_threadsafe(self._places.release)

        work = _Work(functools.partial(function, *args))
        work.result.add_done_callback(free)
        result = asyncio.wrap_future(work.result)
        result.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may hear of it
        return await asyncio.shield(result)
