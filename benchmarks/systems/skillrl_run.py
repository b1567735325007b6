"""Runs skillrl on a job, with its published defaults, its own client and an environment of the kind it documents."""

import importlib.metadata
from pathlib import Path
from typing import Any

import contract
from skillrl import SkillOptConfig, SkillOptTrainer
from skillrl.envs import SkillEnv
from skillrl.llm.openai_client import OpenAIChatClient
from skillrl.types import RolloutResult


class Tasks(SkillEnv):
    """One question, one answer, the skill as system prompt."""

    name = "tasks"

    def __init__(self, job: contract.Job) -> None:
        self.splits = {"train": job.train, "val": job.val}
        self.trainer: SkillOptTrainer | None = None
        self.watch: contract.Watch | None = None

    def get_items(self, split: str) -> list[dict[str, Any]]:
        """The tasks of a split."""
        return [{"id": task.id, "input": task.input, "gold": task.gold} for task in self.splits[split]]

    def rollout_one(self, *, item: dict[str, Any], skill: str, target_client: Any) -> RolloutResult:
        """Ask once. Nothing is asked between a decision of the trainer and the next rollout, so that here is where
        a new best skill is seen in time."""
        if self.watch is not None and self.trainer is not None:
            self.watch.see(self.trainer.best_skill)
        text, _ = target_client.chat(system=skill, user=item["input"], stage="rollout")
        answer = contract.answer_of(text)
        right = contract.is_right(answer, item["gold"])
        return RolloutResult(
            id=item["id"],
            hard=int(right),
            soft=float(right),
            n_turns=1,
            fail_reason="" if right else f"answered {answer!r}, expected {item['gold']!r}",
            predicted_answer=answer,
            question=item["input"],
            reference_text=item["gold"],
            conversation=[{"role": "user", "content": item["input"]}, {"role": "assistant", "content": text}],
        )


def main() -> None:
    """Train."""
    job = contract.read_job()
    config = SkillOptConfig(
        num_epochs=job.epochs,
        batch_size=job.batch_size,
        workers=job.workers,
        seed=job.seed,
        eval_test=False,
        out_root=str(Path(job.folder) / "run"),
    )
    env = Tasks(job)
    optimizer, target = (
        OpenAIChatClient(model, api_key="none", base_url=job.url) for model in (job.optimizer, job.target)
    )
    trainer = SkillOptTrainer(
        config=config, env=env, optimizer_client=optimizer, target_client=target, initial_skill=job.skill
    )
    env.trainer = trainer
    env.watch = watch = contract.Watch(job)
    summary = contract.quietly(trainer.train)
    watch.finish(importlib.metadata.version("skillrl"), trainer.best_skill, summary["best_selection_score"])


if __name__ == "__main__":
    main()
