"""Trackio: runs in a local database, or where its own variables say."""

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from etude.connect.run_folder import Ending, Point, TrackedRun
from etude.connect.tracker import Tracker


class Trackio(Tracker):
    """Reports to Trackio. The skill is the artifact `skill-<id>`, a version for each accepted step.

    Args:
        project: what the runs are part of.
    """

    name: ClassVar[str] = "trackio"
    needs = ("trackio",)
    extra = "trackio"

    def __init__(self, project: str = "etude") -> None:
        self._project = project
        self._trackio: Any = None
        self._run: Any = None
        self._artifact = ""
        self._last = 0

    def begin(self, run: TrackedRun) -> bool:
        self._trackio = import_module("trackio")
        for name in ("trackio", "trackio.run", "trackio.utils"):  # standard output is for results
            vars(import_module(name))["print"] = _say
        self._artifact = f"skill-{run.id}"
        given = {"config": {**run.config, "simulated": run.simulated}, "name": f"{run.name}-{run.id}"}
        given |= {"auto_log_gpu": False, "auto_log_cpu": False, "embed": False}
        try:
            self._run = self._trackio.init(self._project, resume="must", **given)
        except ValueError:  # there is none
            self._run = self._trackio.init(self._project, **given)
            return False
        return True

    def point(self, point: Point) -> None:
        self._last = point.target_calls
        self._run.log(dict(point.values), step=point.target_calls)
        if point.skill:
            artifact = self._trackio.Artifact(self._artifact, type="skill", metadata={"step": point.step})
            with TemporaryDirectory() as folder:
                path = Path(folder, "SKILL.md")
                path.write_text(point.skill, encoding="utf-8")
                artifact.add_file(path)
                self._run.log_artifact(artifact)

    def end(self, ending: Ending) -> None:
        if ending.values:
            self._run.log(dict(ending.values), step=self._last)
        title = f"verdict: {ending.verdict}" if ending.verdict else f"run {ending.state}"
        self._run.alert(title, ending.why or None, level=self._trackio.AlertLevel.INFO, step=self._last)
        self._run.finish()


def _say(*words: object, **_: object) -> None:
    print(*words, file=sys.stderr)  # noqa: T201 - in place of what trackio prints
