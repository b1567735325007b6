"""As much of Ray as the executor uses, for tests without the package: workers are processes of this machine."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from types import SimpleNamespace
from typing import Any

_running: list[subprocess.Popen[bytes]] = []
util = SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")


class _Task:
    def __init__(self, invitation: str) -> None:
        words = [sys.executable, "-m", "etude_annexes.workers.worker"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE)
        _running.append(self.process)
        self._future: Future[None] = Future()
        Thread(target=self._wait, args=(f"{invitation}\n".encode(),), daemon=True).start()

    def future(self) -> Future[None]:
        return self._future

    def _wait(self, told: bytes) -> None:
        self.process.communicate(told)
        if self.process.returncode:
            self._future.set_exception(RuntimeError(f"at line 1\nexit code {self.process.returncode}"))
        else:
            self._future.set_result(None)


def init(*, address: str, log_to_driver: bool, logging_level: str) -> None:
    print("Ray prints to standard output")
    if os.environ.get("RAY_DOUBLE") == "gone":
        raise ConnectionError("there is no cluster")
    if os.environ.get("RAY_DOUBLE") == "ends":
        os._exit(1)


def nodes() -> list[dict[str, Any]]:
    return [{"Alive": alive, "Resources": {"CPU": 2.0}} for alive in (True, True, False)] + [
        {"Alive": True, "Resources": {}}
    ]


def remote(**options: Any) -> Callable[[Callable[[str], None]], Any]:
    return lambda function: SimpleNamespace(remote=_Task)


def cancel(task: _Task, *, force: bool) -> None:
    task.process.kill()


def shutdown() -> None:
    for process in _running:
        process.kill()
