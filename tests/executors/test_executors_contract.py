"""The local executor keeps the contract of executors."""

from skillgrad.executors.local import LocalExecutor
from skillgrad.testing.executor import ExecutorContract


class TestLocalExecutor(ExecutorContract):
    def make_executor(self, concurrency: int) -> LocalExecutor:
        return LocalExecutor(concurrency)
