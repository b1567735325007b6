"""An agent that does as the task says, an environment, and workers as plain processes: for tests of executors whose
attempts are made in other processes. Their modules are imported there as well."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from etude.concurrency import Threads
from etude.config import LimitsSection
from etude.errors import BudgetStop, DataError
from etude.prompts import Prompts
from etude.protocols import Agent, Ask, ChatModel, Environment, Executor, Here, Journal, Recipe
from etude.records import ChatRequest, Score, Skill, Split, Task, Trajectory, user
from etude.sandbox.process import spend
from etude.stages.shared.rollout import Rollout
from etude_annexes.workers import worker
from etude_annexes.workers.remote import Quarters, RemoteExecutor
from memory_doubles import MemoryJournal

SKILL = Skill(text="Be brief.")


def todo(*inputs: str) -> list[Task]:
    return [Task(id=f"t{number}", input=text, gold="") for number, text in enumerate(inputs)]


def burn(loops: int) -> None:
    """Keep a CPU busy."""
    for _ in range(loops):
        pass


class ProcessExecutor(RemoteExecutor):
    """Workers are processes of this machine. Remembers the running ones."""

    def __init__(self, concurrency: int = 4, workers: int = 2) -> None:
        super().__init__(concurrency)
        self.workers = workers
        self.running: list[asyncio.subprocess.Process] = []
        self.tasks: list[asyncio.Task[None]] = []

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, concurrency: int, where: str) -> Self:
        return cls(concurrency, **options)

    async def quarters(self) -> Quarters:
        return Quarters("127.0.0.1", 0, self.workers)

    async def work(self, invitation: str) -> None:
        module = ("-m", "etude_annexes.workers.worker")
        process = await asyncio.create_subprocess_exec(sys.executable, *module, stdin=asyncio.subprocess.PIPE)
        self.running.append(process)
        try:
            await process.communicate(f"{invitation}\n".encode())
        finally:
            self.running.remove(process)
            if process.returncode is None:
                process.kill()
                await process.wait()

    def kill(self) -> None:
        """End all workers."""
        for process in self.running:
            process.kill()


class TaskExecutor(ProcessExecutor):
    """Workers are tasks of this event loop, which start at once. What belongs to a process is this one's."""

    async def work(self, invitation: str) -> None:
        working = asyncio.create_task(worker.connected(worker.Invitation.model_validate_json(invitation)))
        self.tasks.append(working)
        try:
            await working
        finally:
            self.tasks.remove(working)
            working.cancel()

    def kill(self) -> None:
        for working in self.tasks:
            working.cancel()


class Obedient(Agent):
    """Does what the task says: `ask TEXT`, `raise`, `pid` and so on."""

    name = "obedient"

    def __init__(self, ask: Callable[[str], Any]) -> None:
        self._ask = ask

    @classmethod
    def from_options(cls, options: Mapping[str, Any], target: ChatModel, prompts: Prompts, *, where: str) -> Self:
        del options, prompts, where

        async def ask(text: str) -> str:
            return (await target.complete(ChatRequest(messages=(user(text),)))).text

        return cls(ask)

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        word, _, rest = task.input.partition(" ")
        return Trajectory(answer=await getattr(self, f"do_{word}")(rest) or "")

    async def do_ask(self, text: str) -> str:
        return await self._ask(text)

    async def do_hurry(self, text: str) -> str:
        """Asks, and gives up."""
        try:
            return await asyncio.wait_for(self._ask(text), 0.2)
        except TimeoutError:
            return "given up"

    async def do_answer(self, text: str) -> str:
        return text

    async def do_raise(self, text: str) -> None:
        raise {"value": ValueError("bad"), "key": KeyError("k"), "data": DataError("no", hint="x")}[text]

    async def do_cancel(self, text: str) -> None:
        raise asyncio.CancelledError(text)

    async def do_late(self, text: str) -> None:
        raise TimeoutError(text)

    async def do_pid(self, text: str) -> str:
        return str(os.getpid())

    async def do_parent(self, text: str) -> str:
        return str(os.getppid())

    async def do_burn(self, text: str) -> None:
        burn(int(text.split()[0]))

    async def do_block(self, file: str) -> None:
        """Keeps the event loop."""
        Path(file).touch()
        time.sleep(600)

    async def do_variable(self, text: str) -> str:
        return os.environ.get(text, "nothing")

    async def do_folder(self, text: str) -> str:
        return str(Path.cwd())

    async def do_exit(self, text: str) -> None:
        os._exit(1)

    async def do_hold(self, file: str) -> None:
        """Until cancelled, which it writes down."""
        Path(file).write_text("held")
        try:
            await asyncio.Event().wait()
        finally:
            Path(file).write_text("ended")

    async def do_box(self, text: str) -> None:
        spend(float(text))
        await asyncio.Event().wait()


class Simple(Environment):
    """Any answer is right whose first letter is the gold one."""

    name = "simple"

    def tasks(self, split: Split) -> Sequence[Task]:
        return [Task(id=split, input=f"answer {split}", gold=split)]

    def score(self, task: Task, trajectory: Trajectory) -> Score | float:
        if task.data.get("score") == "raise":
            raise ZeroDivisionError("no")
        if task.data.get("score") == "pid":
            return Score(hard=1, soft=1, feedback=str(os.getpid()))
        return float(str(task.data.get("score", 1)))


def build(order: str, ask: Ask) -> tuple[Agent, Environment]:
    if order == "broken":
        raise DataError("tasks.jsonl is not there")

    async def through(text: str) -> str:
        return await ask("target", text)

    return Obedient(through), Simple()


@asynccontextmanager
async def rollout_with(
    executor: Executor, answer: Ask, order: str = "", journal: Journal | None = None, **more: Any
) -> AsyncGenerator[Rollout]:
    """A rollout whose agent asks `answer`. `told` gets what the user is told."""
    told, limits = more.pop("told", []), more.pop("limits", {})

    async def ask(text: str) -> str:
        return await answer("target", text)

    agent, env = Obedient(ask), Simple()

    def recipe() -> Recipe:
        made = Recipe(
            builder="far_parts:build",
            order=order,
            answer=answer,
            fingerprints=(agent.fingerprint(), env.fingerprint()),
            secret_variables=("ETUDE_TEST_KEY",),
            notice=told.append,
        )
        return replace(made, **more)

    try:
        async with executor.placed(Here(agent, env, Threads(4)), recipe) as place:
            settings = LimitsSection(**limits)
            yield Rollout(agent, env, executor, journal or MemoryJournal(), settings, lambda event: None, place=place)
    finally:
        await executor.cancel()


async def echo(name: str, text: str) -> str:
    """Answers with the question; `stop` ends the run."""
    if text == "stop":
        raise BudgetStop("limits.calls = 3 is reached", hint="raise it", limit="calls")
    if text == "odd":
        raise LookupError("odd")
    return f"{name}: {text}"
