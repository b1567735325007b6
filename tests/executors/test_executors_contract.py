"""The local executor keeps the contract of executors."""

from etude.executors.local import LocalExecutor
from etude.testing.executor import ExecutorContract


class TestLocalExecutor(ExecutorContract):
    def make_executor(self, concurrency: int) -> LocalExecutor:
        return LocalExecutor(concurrency)
