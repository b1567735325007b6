"""Tasks of verifiers (v1): taskset, harness and rewards are theirs."""

from typing import ClassVar

from pydantic import Field, JsonValue

from etude_annexes.foreign.environment import ForeignConfig, ForeignEnvironment


class VerifiersConfig(ForeignConfig):
    """Settings of the `verifiers` environment."""

    task: str
    """A file with a taskset, as in `tasks/sums.py`, or the name of an installed one."""
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Settings of the taskset."""
    agent: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Settings of the agent, as verifiers has them: `{harness: {id: bash}, max_turns: 20}`. The runtime is
    `{type: subprocess}` unless another is given."""

    def for_runner(self) -> dict[str, JsonValue]:
        """With the settings of the agent."""
        return {**super().for_runner(), "agent": self.agent}


class VerifiersEnvironment(ForeignEnvironment):
    """Tasks of verifiers. Raises as `ForeignEnvironment`."""

    name = "verifiers"
    options_type: ClassVar[type[ForeignConfig]] = VerifiersConfig
    package = "verifiers"
    script = "run_verifiers.py"
