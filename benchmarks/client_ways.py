"""The ways of asking that `client.py` measures, each in the process that is measured."""

import asyncio
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

SKILL_CHARS = 8_000
"""Length of the skill in every prompt."""


class Used(NamedTuple):
    """What a stretch of work took in this process."""

    cpu: float
    """Seconds, user and system."""
    wall: float


@contextmanager
def measured() -> Generator[list[Used]]:
    """Fills the list with one `Used` when the block ends."""
    found: list[Used] = []
    cpu, wall = time.process_time(), time.perf_counter()
    yield found
    found.append(Used(time.process_time() - cpu, time.perf_counter() - wall))


def peak_mb() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def long_skill() -> str:
    """The seed skill with reference material behind it, as skills in use have."""
    from etude.simulation import SEED_SKILL

    line = "- Reference material that an agent carries along: names, places and figures of a catalogue, entry {}.\n"
    lines = (line.format(number) for number in range(SKILL_CHARS))
    text = SEED_SKILL.rstrip() + "\n\n## Catalogue\n\n"
    while len(text) < SKILL_CHARS:
        text += next(lines)
    return text


def settings(folder: str, concurrency: int, url: str | None) -> dict[str, Any]:
    """Settings of a run; without an endpoint the simulated target is in this process."""
    where = {"model": "simulated:target"} if url is None else {"model": "openai:target", "base_url": url}
    return {
        "target": {**where, "max_concurrency": concurrency, "api_key_env": "NO_SUCH_KEY"},
        "limits": {"concurrency": concurrency},
        "run": {"folder": folder, "name": "run"},
        "test": {"enabled": False},
    }


async def through_etude(folder: str, concurrency: int, attempts: int, url: str | None) -> dict[str, float]:
    """The whole path of an attempt: rollout, journal, retries, limit, budget, provider, score, events."""
    from etude.build import open_workbench
    from etude.config import make_config
    from etude.envs import ListEnvironment
    from etude.records import Skill
    from etude.simulation import make_tasks
    from etude.workbench import Given

    warm = min(attempts // 2, 600)
    tasks = make_tasks(None, 1_000, seed=5)
    env = ListEnvironment(tasks[:900], tasks[900:], scorer="exact")
    skill = Skill(name="long", text=long_skill())
    backlog = Backlog()
    given = Given(env=env, skill=skill, sinks=[backlog])
    async with open_workbench(make_config(settings(folder, concurrency, url)), given) as bench:

        async def some(first: int, count: int) -> None:
            """Attempts number `first` to `first + count`: every task in turn, then in another trial."""
            from etude.stages.shared.rollout import PlannedAttempt

            tries = [
                PlannedAttempt(tasks[number % len(tasks)], skill, number // len(tasks))
                for number in range(first, first + count)
            ]
            async for _, attempt in bench.rollout.stream(tries, "train"):
                assert attempt.score is not None, attempt.reason

        await some(0, warm)
        before = peak_mb()
        with measured() as used:
            await some(warm, attempts)
        facts = bench.folder.journal.counts()["reply"]
        assert facts == warm + attempts, f"{facts} facts of {warm + attempts} attempts"
    return figures(used[0], attempts) | {"before_mb": before, "backlog": backlog.most}


class Backlog:
    """How many answers at most were paid for and not yet scored: they wait for the journal or for their turn."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    def emit(self, event: Any) -> None:
        """Count an event."""
        self._now += {"call_finished": 1, "attempt_finished": -1}.get(event.kind, 0)
        self.most = max(self.most, self._now)


async def through_openai(folder: str, concurrency: int, attempts: int, url: str | None) -> dict[str, float]:
    """The bare SDK, as anybody would call it."""
    import openai

    del folder
    async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:

        async def send(body: dict[str, Any]) -> str:
            reply = await client.chat.completions.create(**body)
            return reply.choices[0].message.content or ""

        return await bare(send, concurrency, attempts)


async def through_httpx2(folder: str, concurrency: int, attempts: int, url: str | None) -> dict[str, float]:
    """The bare HTTP client with JSON out and in."""
    import httpx2

    del folder
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def send(body: dict[str, Any]) -> str:
            while True:
                try:
                    reply = await client.post(f"{url}/chat/completions", json=body)
                except httpx2.TransportError:  # the server had just closed the idle connection
                    continue
                return reply.json()["choices"][0]["message"]["content"]

        return await bare(send, concurrency, attempts)


async def bare(send: Callable[[dict[str, Any]], Awaitable[str]], concurrency: int, attempts: int) -> dict[str, float]:
    """The same requests from as many workers, with nothing around them."""
    from etude.simulation import make_tasks

    warm = min(attempts // 2, 600)
    tasks, skill = make_tasks(None, 1_000, seed=5), long_skill()

    async def some(first: int, count: int) -> None:
        numbers = iter(range(first, first + count))

        async def worker() -> None:
            for number in numbers:
                task = tasks[number % len(tasks)]
                messages = [{"role": "system", "content": skill}, {"role": "user", "content": task.input}]
                seed = number // len(tasks)
                assert await send({"model": "target", "messages": messages, "max_tokens": 4096, "seed": seed})

        await asyncio.gather(*(worker() for _ in range(concurrency)))

    await some(0, warm)
    with measured() as used:
        await some(warm, attempts)
    return figures(used[0], attempts)


async def the_journal(folder: str, concurrency: int, attempts: int, url: str | None) -> dict[str, float]:
    """Facts of the size of a reply from as many askers as there are attempts side by side, as fast as they can."""
    from etude.records import Reply, Usage
    from etude.store import SqliteJournal

    del url
    journal = SqliteJournal(Path(folder) / "journal.db")
    numbers, waiting, most = iter(range(attempts)), 0, 0

    async def work() -> Reply:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        return Reply(text="word " * 360, usage=Usage(input_tokens=2_000, output_tokens=400))

    async def asker() -> None:
        nonlocal waiting
        for number in numbers:
            await journal.once("reply", {"model": "m", "request": number}, Reply, work)
            waiting -= 1
            await asyncio.sleep(0)

    with measured() as used:
        await asyncio.gather(*(asker() for _ in range(concurrency)))
    journal.close()
    return figures(used[0], attempts) | {"backlog": most}


def figures(used: Used, count: int) -> dict[str, float]:
    """What was measured, for each attempt and for each second."""
    return {
        "cpu_ms": 1000 * used.cpu / count,
        "per_second": count / used.wall,
        "peak_mb": peak_mb(),
        "wall": used.wall,
    }


WAYS: dict[str, Callable[[str, int, int, str | None], Coroutine[Any, Any, dict[str, float]]]] = {
    "etude": through_etude,
    "openai": through_openai,
    "httpx2": through_httpx2,
    "journal": the_journal,
}
