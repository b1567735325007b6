"""Tasks of inspect-ai: data set, solver and scorer are theirs."""

from typing import ClassVar

from pydantic import JsonValue

from etude.errors import ConfigError, DataError
from etude_annexes.foreign.environment import ForeignConfig, ForeignEnvironment
from etude_annexes.foreign.runner import RunnerReply


class InspectConfig(ForeignConfig):
    """Settings of the `inspect` environment."""

    task: str
    """A file with a task, as in `tasks/sums.py`; where it has several, with the name behind it, `tasks/sums.py@sums`;
    or a name that inspect knows, `package/task`."""
    score: str | None = None
    """Which score counts where the task has several: the name of its scorer, with `.part` behind it where that score
    has parts."""

    def for_runner(self) -> dict[str, JsonValue]:
        """With the score that counts."""
        return {**super().for_runner(), "score": self.score}


class InspectEnvironment(ForeignEnvironment):
    """Tasks of inspect-ai. Raises as `ForeignEnvironment`; also ConfigError where the task has several scores and
    none is named, or a sandbox of its own; DataError: it has no scorer."""

    name = "inspect"
    options_type: ClassVar[type[ForeignConfig]] = InspectConfig
    package = "inspect-ai openai"
    script = "run_inspect.py"

    def check(self, known: RunnerReply) -> None:
        """See that there is one score, and a place for the sandboxes of the task."""
        wanted = str(self._settings["score"] or "").partition(".")[0]
        for variant in known.variants:
            names = ", ".join(variant.scores)
            if not variant.scores:
                raise DataError("the task has no scorer", hint="give it one: attempts without a score teach nothing")
            if wanted and wanted not in variant.scores:
                raise ConfigError(f"{self._where}: score = {wanted!r}: the task has {names}", hint="name one of them")
            if not wanted and len(variant.scores) > 1:
                hint = f"set {self._where}.score to one of them"
                raise ConfigError(f"{self._where}: the task has several scorers: {names}", hint=hint)
            bring = [kind for kind in variant.sandboxes if kind != "local"]
            if bring and not self.config.own_sandbox:
                raise ConfigError(
                    f"{self._where}: the task brings the sandbox {bring[0]!r}, which does not start in etude's",
                    hint=f"set {self._where}.own_sandbox: true to run it outside, with the protection that it gives",
                )
