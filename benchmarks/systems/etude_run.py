"""Runs etude on a job. `--set search.policy=evidence` of the benchmark arrives here as a setting."""

import asyncio
from pathlib import Path

import contract
import httpx2  # noqa: F401  (loaded at the first call otherwise, which is no work of the run)

import etude
from etude import ListEnvironment, Skill, Trainer, make_config
from etude.config import merge
from etude.events import Decided, Event
from etude.models import build_model
from etude.protocols import ChatModel, Wrapper
from etude.records import ChatRequest, Reply


class Shared(Wrapper):
    """A model that shares the requests in flight with another one: etude limits each role by itself, the others
    have one pool for both."""

    def __init__(self, model: ChatModel, slots: asyncio.Semaphore) -> None:
        super().__init__(model)
        self._slots = slots

    async def complete(self, request: ChatRequest) -> Reply:
        async with self._slots:
            return await self._model.complete(request)


class Follow:
    """Tells the watch when a candidate was accepted."""

    def __init__(self, watch: contract.Watch, folder: Path) -> None:
        self._watch = watch
        self._skills = folder / "skills"

    def emit(self, event: Event) -> None:
        """Take an event; the skill is written before it is told of."""
        if isinstance(event, Decided) and event.action == "accepted":
            self._watch.see((self._skills / f"{event.step:04d}.md").read_text())


def main() -> None:
    """Train."""
    job = contract.read_job()
    server = {"base_url": job.url, "api_key_env": "NO_KEY_NEEDED", "max_concurrency": job.workers}
    settings = {
        "train": {"epochs": job.epochs, "seed": job.seed},
        "target": {"model": f"openai:{job.target}", **server},
        "optimizer": {"model": f"openai:{job.optimizer}", **server},
        "limits": {"concurrency": job.workers},
        "test": {"enabled": False},
        "run": {"folder": job.folder, "name": "run"},
    }
    env = ListEnvironment(
        [(task.input, task.gold) for task in job.train], [(task.input, task.gold) for task in job.val], scorer="exact"
    )
    run = Path(job.folder) / "run"
    settings = merge(settings, contract.read_settings(job.settings))
    config = make_config(settings)
    if config.search.policy in ("paper", "rewrite_first"):  # the others have no batches
        config = make_config(merge({"search": {"batch_size": job.batch_size}}, settings))
    watch = contract.Watch(job)
    skill = Skill(name="skill", text=job.skill)
    slots = asyncio.Semaphore(job.workers)
    target, optimizer = (Shared(build_model(role), slots) for role in (config.target, config.optimizer))
    summary = Trainer(
        config, env=env, skill=skill, target=target, optimizer=optimizer, sinks=[Follow(watch, run)]
    ).train()
    best, val = (run / summary.best.skill).read_text(), summary.best.val
    watch.finish(etude.__version__, best, None if val is None else val.mean)


if __name__ == "__main__":
    main()
