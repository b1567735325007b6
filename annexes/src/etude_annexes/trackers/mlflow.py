"""MLflow: the server or the database that `MLFLOW_TRACKING_URI` names."""

import os
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from etude.connect.run_folder import Ending, Point, TrackedRun
from etude.connect.tracker import Tracker

_STATES = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
_LONGEST = 500
"""Characters of a parameter."""
_MOST = 100
"""Parameters in one request."""


class MLflow(Tracker):
    """Reports to MLflow. The skill of an accepted step is the file `skills/<step>/SKILL.md` among the artifacts.

    Args:
        experiment: what the runs are part of; `MLFLOW_EXPERIMENT_NAME` or `etude` by default.
        tracking_uri: where they are kept; `MLFLOW_TRACKING_URI` or MLflow's own place by default.
    """

    name: ClassVar[str] = "mlflow"
    needs = ("mlflow",)
    extra = "mlflow"

    def __init__(self, experiment: str | None = None, tracking_uri: str | None = None) -> None:
        self._experiment, self._uri = experiment, tracking_uri
        self._client: Any = None
        self._run = ""

    def begin(self, run: TrackedRun) -> bool:
        client = self._client = import_module("mlflow").MlflowClient(self._uri)
        name = self._experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME", "etude")
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
        found = client.search_runs([experiment], f"tags.`etude.run` = '{run.id}'", max_results=1)
        if found:
            self._run = found[0].info.run_id
            client.update_run(self._run, status="RUNNING")
            return True
        tags = {"etude.run": run.id, "etude.simulated": str(run.simulated)}
        self._run = client.create_run(experiment, tags=tags, run_name=run.name).info.run_id
        param = import_module("mlflow.entities").Param
        params = [param(name, str(value)[:_LONGEST]) for name, value in run.flat.items()]
        for start in range(0, len(params), _MOST):
            client.log_batch(self._run, params=params[start : start + _MOST])
        return False

    def point(self, point: Point) -> None:
        self._log(point.values, point.target_calls)
        if point.skill:
            self._client.log_text(self._run, point.skill, f"skills/{point.step:04d}/SKILL.md")

    def end(self, ending: Ending) -> None:
        self._log(ending.values, int(ending.values.get("final/target_calls", 0)))
        self._client.set_tag(self._run, "verdict", ending.verdict)
        self._client.set_terminated(self._run, _STATES[ending.state])

    def _log(self, values: Mapping[str, float], step: int) -> None:
        metric, now = import_module("mlflow.entities").Metric, time.time_ns() // 1_000_000
        self._client.log_batch(self._run, [metric(name, value, now, step) for name, value in values.items()])
