"""Settings of a night: those of a training run, and a section `sleep`."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from etude.config import Section, TrainConfig, load_settings, merge, parse
from etude.config.loading import is_path
from etude.errors import ConfigError, did_you_mean
from etude.programs.project_paths import PLACES
from etude.registry import names

NIGHT: dict[str, Any] = {
    "search": {"policy": "rewrite_first", "failure_only": True, "racing": False, "no_regression": True},
    "train": {"epochs": 8, "fresh_attempts": True},
    "test": {"enabled": False},
}
"""What is different from a training run unless it is set: few tasks, of which each counts."""

SECTIONS_OF_ITS_OWN = ("env", "run", "preset", "test")
"""What a night sets itself."""

EACH = "each"
LEARNED = "learned"
"""The skill that nights write unless the settings name another one."""

MOST_HOURS = 876_000
"""A hundred years: longer ago there is no time that a calendar could tell."""


class SleepSection(Section):
    """What a night reads, improves and leaves."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"sources", "project", "other_paths", "scripts", "lookback_hours", "auto_adopt"}
    )
    paths: ClassVar[frozenset[str]] = frozenset({"project", "tasks"})
    names_or_paths: ClassVar[frozenset[str]] = frozenset({"skill", "memory", "sources"})

    project: str = "."
    """The project whose documents are improved: sessions in its folder or below it are read. By default the current
    folder, wherever the settings lie, so that several projects can share them."""
    other_paths: tuple[str, ...] = ()
    """Where the project was before, or is on another system: `/home/me/oldname`, `C:\\Users\\me\\shop`. Worktrees of
    its repository are found without."""
    scripts: bool = False
    """Learn from what scripts told agents (`claude -p`, `codex exec`, `opencode run`) as if a person had typed it."""
    agent: str = "claude-code"
    """Whose documents are improved, by its name or that of a source: decides where skills and the memory file are."""
    skill: bool | str = True
    """The skill to improve: `true` for the one called `learned`, a name for that skill of the project, a path for
    that SKILL.md. `each` improves every skill of the project on the tasks whose sessions loaded it, and `learned` on
    the others. `false` for none."""
    memory: bool | str = True
    """The memory file to improve, after the skill: `true` for the agent's own, a path for that file, `false` for
    none."""
    sources: tuple[str, ...] = ()
    """Whose transcripts are read, by name; a path is a JSONL file of converted transcripts, or a folder of such
    files. By default all programs that were used here."""
    lookback_hours: float | None = Field(default=72.0, gt=0, le=MOST_HOURS, allow_inf_nan=False)
    """How old a session's last record may be. None for any age."""
    max_tasks: int = Field(default=40, ge=1)
    """Most sessions that a night reads, and most tasks that it works on, those that recur most often first. The other
    sessions wait for the next night."""
    tasks: str | None = None
    """A reviewed task file to use in place of transcripts."""
    val_fraction: float = Field(default=0.34, ge=0, lt=1)
    """Share of task clusters that are held out for the gate; of four or more at least two."""
    dream: int = Field(default=0, ge=0)
    """For each training task, attempt this many rewordings of it and this many similar tasks of earlier nights as
    well."""
    confirm_trials: int = Field(default=3, ge=0)
    """Fresh attempts at each held-out task, under the old and the new documents, for the verdict that the proposal
    carries. 0 for none: its rules are then never adopted without a person."""
    auto_adopt: bool = False
    """Adopt at once each new rule that needs no person. Every other one waits."""

    @property
    def skill_name(self) -> str:
        """Name of the skill that takes what no other one does."""
        if not isinstance(self.skill, str) or self.skill == EACH:
            return LEARNED
        return Path(self.skill).parent.name or LEARNED if is_path(self.skill) else self.skill

    @property
    def skill_path(self) -> str | None:
        """The SKILL.md that the settings name."""
        return self.skill if isinstance(self.skill, str) and is_path(self.skill) else None

    @property
    def memory_path(self) -> str | None:
        """The memory file that the settings name."""
        return self.memory if isinstance(self.memory, str) else None

    @property
    def named_paths(self) -> tuple[str, ...]:
        """Documents that the settings name, which may be outside of the project."""
        return tuple(path for path in (self.skill_path, self.memory_path) if path is not None)

    @field_validator("agent")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in (known := sorted({*names("sources"), *PLACES})):
            raise ValueError(f"no agent has that name; {did_you_mean(value, known)}")
        return value

    @field_validator("other_paths")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(map(os.path.expanduser, value))
        if relative := next((one for one in found if not (os.path.isabs(one) or PureWindowsPath(one).drive)), None):
            raise ValueError(f"{relative!r} is not an absolute path; sessions name their folders by these")
        return found

    @field_validator("skill", "memory")
    @classmethod
    def _no_empty_name(cls, value: bool | str) -> bool | str:
        if isinstance(value, str) and not value.strip():
            raise ValueError("an empty name; use false for none")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.skill and not self.memory:
            raise ValueError("with skill and memory off there is nothing to improve")
        return self


class SleepConfig(TrainConfig):
    """All settings of a night."""

    sleep: SleepSection = SleepSection()
    """The night."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if self.targets:
            raise ConfigError("a night has one target", hint="set `target` in place of `targets`")
        return self

    @property
    def delivers(self) -> bool:
        """Attempts are made by a program that has the documents where agents have them, not in its prompt."""
        return (self.agent.model_extra or {}).get("delivery") == "install"

    def for_run(self, folder: Path, name: str) -> TrainConfig:
        """The settings of a training run within the night. Without a judge the optimizer judges by rubrics."""
        data = self.model_dump(exclude={"sleep"}, exclude_unset=True)
        if self.judge is None:
            data["judge"] = self.optimizer.model_dump(exclude_unset=True)
        return TrainConfig.model_validate(merge(data, {"run": {"folder": str(folder), "name": name}}))


def make_sleep_config(data: Mapping[str, Any], *, where: str = "config") -> SleepConfig:
    """Settings from nested data.

    Raises:
        ConfigError: an unknown key or a bad value; a model that is not named; what a night sets itself.
    """
    from etude.searches import policy_of  # only here: what asks no model is to be quick

    for role in ("target", "optimizer"):
        section = data.get(role)
        if not isinstance(section, Mapping) or "model" not in section:
            raise ConfigError(
                f"{where}: no model is named for the {role}",
                hint=f"set {role}.model, as in 'agent:codex' for a subscription or 'openai:gpt-5.5' for an API key",
            )
    for name in SECTIONS_OF_ITS_OWN:
        if name in data:
            hint = {"env": "tasks come from transcripts, or from sleep.tasks"}
            raise ConfigError(f"{where}: a night sets {name!r} itself", hint=hint.get(name, f"leave {name!r} out"))
    for name, key, hint in (("skill", "path", "set sleep.skill"), ("search", "policy", "leave it out")):
        section = data.get(name)
        if isinstance(section, Mapping) and key in section:
            raise ConfigError(f"{where}: a night sets '{name}.{key}' itself", hint=hint)
    config = parse(SleepConfig, merge(NIGHT, data), where=where)
    policy_of(config)  # its options are right
    return config


class _Part(Section):
    sleep: SleepSection = SleepSection()


def _part(data: Mapping[str, Any], *, where: str) -> _Part:
    return parse(_Part, {"sleep": data["sleep"]} if "sleep" in data else {}, where=where)


def load_sleep_section(path: Path | str) -> SleepSection:
    """The section `sleep` of a settings file, for what asks no model: whatever else is in it, or missing.

    Raises:
        ConfigError: an unknown key or a bad value in the section; the file is missing or not a YAML mapping.
    """
    _check_there(path)
    return load_settings(_part, path, kind=_Part).sleep


def load_sleep_config(
    path: Path | str | None, *, flags: Iterable[tuple[str, str]] = (), environ: Mapping[str, str] | None = None
) -> SleepConfig:
    """As `etude.config.load_config`.

    Raises:
        ConfigError: as `make_sleep_config`; the file is missing or not a YAML mapping.
    """
    if path is not None:
        _check_there(path)
    return load_settings(make_sleep_config, path, flags=flags, environ=environ, kind=SleepConfig)


def _check_there(path: Path | str) -> None:
    if not os.path.lexists(path):
        raise ConfigError(f"config file {str(path)!r} does not exist", hint="give the settings of a night")
