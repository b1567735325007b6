"""Runs SkillOpt on a job, with its published defaults, over its backend for Qwen servers, which speaks plain Chat
Completions. An adapter and a loader are what it asks of a new environment."""

import importlib.metadata
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import contract
from skillopt.datasets.base import SplitDataLoader
from skillopt.engine.trainer import ReflACTTrainer
from skillopt.envs.base import EnvAdapter
from skillopt.model import chat_target

DEFAULTS = {
    "accumulation": 1,
    "minibatch_size": 8,
    "merge_batch_size": 8,
    "failure_only": False,
    "edit_budget": 4,
    "min_edit_budget": 2,
    "lr_scheduler": "cosine",
    "lr_control_mode": "fixed",
    "skill_update_mode": "patch",
    "use_slow_update": True,
    "slow_update_samples": 20,
    "slow_update_gate_with_selection": False,
    "longitudinal_pair_policy": "mixed",
    "use_meta_skill": True,
    "use_skill_aware_reflection": False,
    "use_gate": True,
    "gate_metric": "hard",
    "sel_env_num": 0,
    "test_env_num": 0,
    "train_size": 0,
}
"""The published configuration, by the names that the trainer reads."""


class Loader(SplitDataLoader):
    """Reads the three folders of a split, as it does by itself."""


class Tasks(EnvAdapter):
    """One question, one answer, the skill as system prompt."""

    def __init__(self, job: contract.Job, root: Path) -> None:
        self.workers = self.analyst_workers = job.workers
        self.failure_only = False
        self.minibatch_size = 8
        self.edit_budget = 4
        self.loader = Loader(split_dir=str(_written(job, root / "tasks")), split_mode="split_dir", seed=job.seed)
        self.best = root / "run" / "best_skill.md"
        self.watch: contract.Watch | None = None

    def setup(self, cfg: dict[str, Any]) -> None:
        """Called by the trainer."""
        super().setup(cfg)
        self.loader.setup(cfg)

    def get_dataloader(self) -> Loader:
        """The loader."""
        return self.loader

    def build_env_from_batch(self, batch: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """A batch is a list of tasks."""
        return list(batch.payload or [])

    def build_train_env(self, batch_size: int, seed: int, **kwargs: Any) -> list[dict[str, Any]]:
        """A batch of training tasks."""
        return self.build_env_from_batch(self.loader.build_train_batch(batch_size=batch_size, seed=seed))

    def build_eval_env(self, env_num: int, split: str, seed: int, **kwargs: Any) -> list[dict[str, Any]]:
        """The tasks of a split."""
        return self.build_env_from_batch(self.loader.build_eval_batch(env_num=env_num, split=split, seed=seed))

    def get_task_types(self) -> list[str]:
        """All tasks are of one type."""
        return ["task"]

    def rollout(
        self, env_manager: list[dict[str, Any]], skill_content: str, out_dir: str, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Ask each question once. Nothing is asked between a decision of the trainer and the next rollout, so that
        here is where a new best skill is seen in time."""
        if self.watch is not None and self.best.exists():
            self.watch.see(self.best.read_text())
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(lambda item: _attempt(item, skill_content, Path(out_dir)), env_manager))


def _attempt(item: dict[str, Any], skill: str, folder: Path) -> dict[str, Any]:
    text, _ = chat_target(system=skill, user=item["question"], stage="rollout")
    answer = contract.answer_of(text)
    right = contract.is_right(answer, item["gold"])
    shown = [{"role": "user", "content": item["question"]}, {"role": "assistant", "content": text}]
    place = folder / "predictions" / item["id"]
    place.mkdir(parents=True, exist_ok=True)
    (place / "conversation.json").write_text(json.dumps(shown))
    return {
        "id": item["id"],
        "hard": int(right),
        "soft": float(right),
        "n_turns": 1,
        "predicted_answer": answer,
        "task_description": item["question"],
        "task_type": "task",
        "reference_text": item["gold"],
        "fail_reason": "" if right else f"answered {answer!r}, expected {item['gold']!r}",
    }


def _written(job: contract.Job, folder: Path) -> Path:
    """The tasks as files; the test split is empty, since it is not the system's to see."""
    for split, tasks in (("train", job.train), ("val", job.val), ("test", ())):
        (folder / split).mkdir(parents=True)
        rows = [{"id": task.id, "question": task.input, "gold": task.gold} for task in tasks]
        (folder / split / "items.json").write_text(json.dumps(rows))
    return folder


def main() -> None:
    """Train."""
    job = contract.read_job()
    root = Path(job.folder)
    (root / "skill.md").write_text(job.skill)
    config: dict[str, Any] = {
        **DEFAULTS,
        "env": "tasks",
        "model_backend": "qwen_chat",
        "optimizer_backend": "qwen_chat",
        "target_backend": "qwen_chat",
        "optimizer_model": job.optimizer,
        "target_model": job.target,
        "qwen_chat_base_url": job.url,
        "skill_init": str(root / "skill.md"),
        "out_root": str(root / "run"),
        "num_epochs": job.epochs,
        "batch_size": job.batch_size,
        "analyst_workers": job.workers,
        "seed": job.seed,
        "eval_test": False,
    }
    adapter = Tasks(job, root)
    adapter.watch = watch = contract.Watch(job)
    contract.quietly(ReflACTTrainer(config, adapter).train)
    state = json.loads((root / "run" / "runtime_state.json").read_text())
    skill = adapter.best.read_text() if adapter.best.exists() else job.skill
    watch.finish(importlib.metadata.version("skillopt"), skill, state["best_score"])


if __name__ == "__main__":
    main()
