"""The process next to the box that watches a program and ends it.

It is the parent of everything that runs in the box: on Linux a process whose parent dies becomes a child of its
nearest "subreaper", which is this one. So nothing gets away by forking twice or by a session of its own, and nothing
is left exactly when there are no children left.

SIGTERM asks for the end: the program gets SIGTERM and its grace, then everything is killed; a second one ends the
grace. The death of whoever started this process counts as SIGTERM.

Two processes do this, as each can be killed. The first, the keeper, passes on what it is asked and inherits all that
runs when the second, the supervisor, dies; when the keeper dies, the supervisor kills all that runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

from .execute import NOT_STARTED, become, hand, said_by, started
from .processes import Process, below, resident, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICK = 0.1 if sys.platform.startswith("linux") else 1.0
_DISK_TICK = 0.5
_SWEEP_SECONDS = 60
_AFTER_SECONDS = 40
_THREADS = 4
"""Threads that count as one process."""
_OF_SANDBOX = 2
"""Processes of a sandbox that is spared: the one outside of the box, and the first inside, which hears no SIGTERM."""
_MARGIN = 64
"""How far the kernel's limit is above ours: a program over it is to be seen and ended, and not only to fail."""
_MB = 1024 * 1024


def main(orders: dict[str, Any], argv: list[str]) -> int:
    """Runs `argv` under the limits of `orders` and writes one line of JSON to the descriptor `report`."""
    os.set_inheritable(orders["report"], False)
    ear = _Ear()
    adopted = _adopt()
    if os.getppid() != orders["parent"]:
        return 1
    orders["parent"] = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    supervisor = os.fork()
    if supervisor:
        return _keep(_Supervisor(supervisor, orders, ear), adopted)
    ear = _Ear()
    _adopt()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _first()
    report, tell = os.pipe()
    child = _start(argv, orders, tell)
    os.close(tell)
    supervisor = _Supervisor(child, orders, ear)
    over = supervisor.watch()
    left = supervisor.sweep(adopted)
    said = supervisor.after(adopted)
    status = supervisor.status
    code = number = "null"
    if status is not None and os.WIFSIGNALED(status):
        number = str(os.WTERMSIG(status))
    elif status is not None:
        code = str(os.WEXITSTATUS(status) if not orders["spare"] or started(report) else NOT_STARTED)
    report = f'{{"code": {code}, "signal": {number}, "over": "{over}", "left": {left}, "said": "{said}"}}'
    os.write(orders["report"], report.encode())
    return 0


def _keep(keeper: _Supervisor, adopted: bool) -> int:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _first()
    os.close(keeper.orders["report"])
    passed = 0
    while keeper.status is None:
        keeper.ear.wait(_SWEEP_SECONDS)
        while passed < keeper.ear.asked:
            _kill(keeper.child, signal.SIGTERM)
            passed += 1
        keeper.reap()
    keeper.sweep(adopted)
    if os.WIFSIGNALED(keeper.status) or os.WEXITSTATUS(keeper.status):
        keeper.after(adopted)
    if os.WIFSIGNALED(keeper.status):
        with contextlib.suppress(OSError):  # SIGKILL has no other handling than the default
            signal.signal(os.WTERMSIG(keeper.status), signal.SIG_DFL)
        _kill(os.getpid(), os.WTERMSIG(keeper.status))
    return os.WEXITSTATUS(keeper.status)


class _Ear:
    """Signals as something one can wait for."""

    def __init__(self) -> None:
        self.asked = 0
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask)
        signal.signal(signal.SIGCHLD, self._wake)

    def _ask(self, *_: object) -> None:
        self.asked += 1

    def _wake(self, *_: object) -> None:
        """A signal without a handler would not wake anybody."""

    def wait(self, seconds: float) -> None:
        """Until a signal came, or `seconds` passed."""
        select.select([self._read], [], [], max(0.0, seconds))
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass


class _Supervisor:
    def __init__(self, child: int, orders: dict[str, Any], ear: _Ear) -> None:
        self.status: int | None = None
        """As `waitpid` gives it; None while the program runs."""
        self.child = child
        self.orders = orders
        self.ear = ear
        self._look_at = self._disk_at = 0.0

    def watch(self) -> str:
        """Until the program ends or has to: which limit it is over, "asked", or nothing."""
        deadline = time.monotonic() + self.orders["seconds"]
        while True:
            breach = self._turn(deadline)
            if breach or self.status is not None:
                return breach
            if os.getppid() != self.orders["parent"]:
                return "asked"
            if self.ear.asked:
                return self._end_gently() or "asked"
            if time.monotonic() >= deadline:
                return self._end_gently() or "time limit"

    def _end_gently(self) -> str:
        """SIGTERM to all, then the grace. The limits hold meanwhile: which one was broken, or nothing."""
        asked = self.ear.asked
        heard = self._ask_to_end()
        deadline = time.monotonic() + self.orders["grace_seconds"]
        while time.monotonic() < deadline and self.ear.asked == asked:
            breach = self._turn(deadline)
            if breach or self.status is not None:
                return breach
            heard = heard or self._ask_to_end()
        return ""

    def _turn(self, deadline: float) -> str:
        """Waits until there may be news, and looks: which limit was broken, or nothing."""
        self.ear.wait(min(_TICK, deadline - time.monotonic()))
        self.reap()
        return "" if self.status is not None else self._breach()

    def _ask_to_end(self) -> bool:
        """SIGTERM to all but the sandbox itself. False while there is nobody else: the program is still to start."""
        processes = list(below(os.getpid()))
        for process in processes:
            if process.pid != self.child or not self.orders["spare"]:
                _kill(process.pid, signal.SIGTERM)
        return len(processes) > (_OF_SANDBOX if self.orders["spare"] else 0)

    def _breach(self) -> str:
        """Which limit the processes are over. Signals do not make it look more often."""
        began = time.monotonic()
        if began < self._look_at:
            return ""
        self._look_at = began + _TICK
        most, threads = self.orders["processes"], 0
        processes: list[Process] = []
        for process in below(os.getpid()):
            processes.append(process)
            threads += process.threads
            if len(processes) > most or threads > _THREADS * most:
                return "process limit"
        memory = self.orders["memory_mb"] * _MB
        if sum(process.rss for process in processes) > memory and resident(processes) > memory:
            return "memory limit"
        if began >= self._disk_at:
            disk = self.orders["disk_mb"] * _MB
            if size(self.orders["folders"], disk) > disk:
                return "disk limit"
            # In large folders counting takes long: not most of the time.
            self._disk_at = began + max(_DISK_TICK, 10 * (time.monotonic() - began))
        return ""

    def sweep(self, adopted: bool) -> int:
        """Kills all that is left; how many could not be. A group is killed at once, so that forking does not help."""
        deadline = time.monotonic() + _SWEEP_SECONDS
        own = os.getpgrp()
        while True:
            left = 0
            for process in below(os.getpid()):
                left += 1
                if process.group not in (0, 1, own):
                    _kill_group(process.group)
                _kill(process.pid, signal.SIGKILL)
            if not adopted:
                _kill_group(self.child)  # orphans are found by their group only
            if not self.reap() or (not adopted and not left):
                return 0
            if time.monotonic() > deadline:
                return left
            self.ear.wait(0.005)

    def after(self, adopted: bool) -> str:
        """Runs the command that comes when nothing else runs any more: what it said, letters, digits and spaces."""
        if not self.orders["after"]:
            return ""
        said = said_by(self.orders["after"], _AFTER_SECONDS)
        self.sweep(adopted)
        return "".join(letter for letter in said if letter.isalnum() or letter == " ")

    def reap(self) -> bool:
        """Takes note of children that ended. False when there is none left at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status


def _adopt() -> bool:
    """Become the parent of whatever is orphaned below. False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def _first() -> None:
    """Go before the programs where that is allowed: the kernel does not limit the processes of root, so a fork bomb
    competes with the process that is to stop it."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _kill_group(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _start(argv: list[str], orders: dict[str, Any], tell: int) -> int:
    """The program, in a session of its own and with everything as a shell would leave it."""
    tasks = _tasks()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # none is to meet our handlers in the child
    child = os.fork()
    if not child:
        os.setsid()
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, orders["file_mb"] * _MB)
        _limit(resource.RLIMIT_NOFILE, 8192)
        _limit(resource.RLIMIT_NPROC, tasks + _THREADS * orders["processes"] + _MARGIN)
        os.chdir(orders["workspace"])
        if orders["spare"]:
            hand(tell, orders["filter"])
        become(argv)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return child


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _tasks() -> int:
    """Threads of this user: the kernel's limit counts those that run already."""
    user, total = os.getuid(), 0
    if user == 0 or not os.path.isdir("/proc"):
        return 0
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == user:
                total += len(os.listdir(f"/proc/{name}/task"))
    return total
