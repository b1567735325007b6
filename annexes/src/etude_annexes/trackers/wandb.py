"""Weights & Biases."""

import os
from importlib import import_module
from typing import Any, ClassVar

from etude.connect.run_folder import Ending, Point, TrackedRun
from etude.connect.tracker import Tracker


class Wandb(Tracker):
    """Reports to Weights & Biases. The skill is the artifact `skill-<id>`, a version for each accepted step.

    Args:
        project: what the runs are part of; `WANDB_PROJECT` or `etude` by default.
    """

    name: ClassVar[str] = "wandb"
    needs = ("wandb",)
    extra = "wandb"

    def __init__(self, project: str | None = None) -> None:
        self._project = project
        self._wandb: Any = None
        self._run: Any = None

    def begin(self, run: TrackedRun) -> bool:
        wandb = self._wandb = import_module("wandb")
        # It would ask for a key at the terminal, and wait.
        if wandb.setup().settings.mode == "online" and not wandb.login(prompt=False):
            raise RuntimeError("there is no API key: type `wandb login`, or set WANDB_MODE=offline")
        # What a run prints, its code and the machine are nobody's business.
        private = {"console": "off", "disable_code": True, "disable_git": True, "x_save_requirements": False}
        private |= {"x_disable_stats": True, "x_disable_machine_info": True}
        self._run = wandb.init(
            project=self._project or os.environ.get("WANDB_PROJECT", "etude"),
            name=run.name,
            id=run.id,
            resume="allow",
            reinit="create_new",
            config={**run.config, "simulated": run.simulated},
            settings=wandb.Settings(silent=True, **private),
        )
        self._run.define_metric("target_calls")
        self._run.define_metric("*", step_metric="target_calls")
        return bool(self._run.resumed)

    def point(self, point: Point) -> None:
        self._run.log({"target_calls": point.target_calls, **point.values})
        if point.skill:
            artifact = self._wandb.Artifact(f"skill-{self._run.id}", type="skill", metadata={"step": point.step})
            with artifact.new_file("SKILL.md", encoding="utf-8") as file:
                file.write(point.skill)
            self._run.log_artifact(artifact)

    def end(self, ending: Ending) -> None:
        self._run.summary.update({"verdict": ending.verdict, "state": ending.state, **ending.values})
        self._run.finish(exit_code=int(ending.state == "failed"))
