"""Settings of a night: those of a training run, and a section `sleep` beside them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from etude.config import Section, TrainConfig, load_settings, merge, parse
from etude.errors import ConfigError, did_you_mean
from etude.sleep.transcripts.sources import SOURCES

__all__ = [
    "MOST_HOURS",
    "SECTIONS_OF_ITS_OWN",
    "SleepConfig",
    "SleepSection",
    "load_sleep_config",
    "load_sleep_section",
    "make_sleep_config",
]

NIGHT: dict[str, Any] = {
    "search": {"policy": "rewrite_first"},
    "train": {"epochs": 8, "fresh_attempts": True},
    "reflect": {"failure_only": True},
    "gate": {"racing": False, "no_regression": True},
    "test": {"enabled": False},
}
"""What is different from a training run unless it is set: few tasks, of which each counts."""

SECTIONS_OF_ITS_OWN = ("env", "run", "preset", "test", "search")
"""What a night sets itself."""


MOST_HOURS = 876_000
"""A hundred years: longer ago there is no time that a calendar could tell."""


class SleepSection(Section):
    """What a night reads, improves and leaves."""

    free: ClassVar[frozenset[str]] = frozenset(
        {
            "state",
            "home",
            "transcripts",
            "sources",
            "project",
            "scope",
            "lookback_hours",
            "max_sessions",
            "auto_adopt",
            "unsafe_no_sandbox",
        }
    )

    paths: ClassVar[frozenset[str]] = frozenset(
        {"state", "home", "project", "tasks", "skill_path", "memory_path", "transcripts"}
    )

    state: str | None = None
    """Folder of ledgers, nights and proposals; by default `etude/sleep` in the user's state folder."""
    home: str | None = None
    """Home folder to read transcripts from; the user's own by default. In one that is named, variables such as
    `CODEX_HOME` do not count."""
    transcripts: str | None = None
    """A JSONL file or a folder of such files for the source `jsonl`."""
    sources: tuple[str, ...] = ()
    """Whose transcripts are read; all programs that were used here by default."""
    project: str = "."
    """The project whose documents are improved. Where this is not set it is the current folder, wherever the settings
    lie, so that several projects can share them."""
    scope: str = Field(default="project", pattern="^(project|all)$")
    """`project` reads sessions in the project's folder or below it, `all` reads every session."""
    lookback_hours: float | None = Field(default=72.0, gt=0, le=MOST_HOURS, allow_inf_nan=False)
    """How old a session's last record may be. None for any age."""
    max_sessions: int = Field(default=40, ge=1)
    """Most sessions in a night; the others wait for the next one."""
    max_tasks: int = Field(default=40, ge=1)
    """Most mined tasks in a night, those that recur most often first."""
    tasks: str | None = None
    """A reviewed task file to use in place of transcripts."""
    val_fraction: float = Field(default=0.34, ge=0, lt=1)
    """Share of task clusters that are held out for the gate."""
    test_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Share of task clusters that are scored once at the end and decide nothing."""
    recall: int = Field(default=0, ge=0)
    """So many similar training tasks of earlier nights are attempted as well."""
    dream: int = Field(default=0, ge=0)
    """So many rewordings of each training task are attempted as well."""
    agent: str = "claude-code"
    """Whose documents are improved, by the name of a source: decides where skills and the memory file are."""
    skill: bool = True
    """Improve the skill."""
    skill_name: str = "learned"
    """Folder of the skill among the agent's skills of the project."""
    skill_path: str | None = None
    """An existing SKILL.md to improve in place of that."""
    fan_out: bool = False
    """Tasks whose session loaded one existing skill of the project improve that one, each gated on its own tasks."""
    memory: bool = True
    """Improve the memory file, under the new skill."""
    memory_path: str | None = None
    """The memory file, in place of the agent's own."""
    preferences: str = ""
    """House rules in your own words, which the optimizer is shown with every call."""
    confirm_trials: int = Field(default=3, ge=0)
    """Fresh attempts at each held-out task, under the old and the new documents, for the verdict that the proposal
    carries. 0 for none: the proposal is then never adopted without a person."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """How often at most a document that changes nothing may be proposed: the highest p of fresh attempts (exact
    permutation test, one-sided) with which a candidate is."""
    carry_nights: int = Field(default=3, ge=0)
    """A candidate that may be luck is tried again in so many later nights, and what all of them saw counts together:
    all their looks propose one that changes nothing as seldom as `alpha` says. 0 for never."""
    unsafe_no_sandbox: bool = False
    """Where no sandbox works, run the programs that judge answers (`command` of a task) without one."""
    probe: bool = True
    """Before anything is learned from mined tasks, try their criteria with an answer that only says what they name: a
    task whose judge passes it is dropped. One question to the judge for each task with a rubric."""
    rotate_nights: int = Field(default=14, ge=0)
    """After so many nights with a gate decision it is drawn anew which clusters of earlier nights are trained on and
    which are held out. Test clusters stay what they are. 0 for never."""
    block_tokens: int = Field(default=1500, ge=50)
    """Room for what is learned, in each document: a candidate with a longer block is not evaluated. Tokens are
    estimated as characters / 4."""
    retire: int = Field(default=0, ge=0)
    """In each night so many rules that earlier nights wrote, each in its turn, are left out on trial. A rule that
    nothing misses is proposed for removal."""
    proposer: Literal["auto", "rewrite", "contrast", "prune"] = "rewrite"
    """What makes candidates: `rewrite` is one rewrite first, `contrast` the same with `train.attempts: 3`, `prune`
    the same with `sleep.retire: 1`; where you set one of these two, your value stays. `auto` picks the one that
    earlier nights speak for."""
    auto_adopt: bool = False
    """Adopt a proposal at once when its verdict is `ship` and none of its rules is of a kind that a person has to
    see."""

    @property
    def named_paths(self) -> tuple[str, ...]:
        """Documents that the settings name, which may be outside of the project."""
        return tuple(path for path in (self.skill_path, self.memory_path) if path is not None)

    @field_validator("agent")
    @classmethod
    def _known(cls, value: str) -> str:
        known = [name for name in SOURCES if name != "jsonl"]
        if value not in known:
            raise ValueError(f"no agent has that name; {did_you_mean(value, known)}")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.val_fraction + self.test_fraction >= 1:
            raise ValueError("val_fraction and test_fraction together leave nothing to train on")
        if not self.skill and not self.memory and not self.fan_out:
            raise ValueError("with skill and memory off there is nothing to improve")
        if self.retire and not self.confirm_trials:
            raise ValueError("retire needs fresh attempts, and confirm_trials is 0")
        if self.proposer in ("auto", "prune") and not self.confirm_trials:
            raise ValueError(f"proposer: {self.proposer} needs fresh attempts, and confirm_trials is 0")
        return self


class SleepConfig(TrainConfig):
    """All settings of a night."""

    sleep: SleepSection = SleepSection()
    """The night."""

    def for_run(self, folder: Path, name: str, *, limits: Mapping[str, Any]) -> TrainConfig:
        """The settings of a training run within the night. Without a judge the optimizer judges by rubrics."""
        data = self.model_dump(exclude={"sleep"}, exclude_unset=True)
        if self.judge is None:
            data["judge"] = self.optimizer.model_dump(exclude_unset=True)
        more = {
            "run": {"folder": str(folder), "name": name},
            "reflect": {"preferences": self.sleep.preferences or self.reflect.preferences},
            "limits": dict(limits),
        }
        return TrainConfig.model_validate(merge(data, more))


def make_sleep_config(data: Mapping[str, Any], *, where: str = "config") -> SleepConfig:
    """Settings from nested data.

    Raises:
        ConfigError: an unknown key or a bad value; a model that is not named; a section that a night sets itself.
    """
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
    skill = data.get("skill")
    if isinstance(skill, Mapping) and "path" in skill:
        raise ConfigError(f"{where}: a night sets 'skill.path' itself", hint="set sleep.skill_path")
    return parse(SleepConfig, merge(NIGHT, data), where=where)


class _Part(Section):
    sleep: SleepSection = SleepSection()


def _part(data: Mapping[str, Any], *, where: str) -> _Part:
    return parse(_Part, {"sleep": data["sleep"]} if "sleep" in data else {}, where=where)


def load_sleep_section(path: Path | str) -> SleepSection:
    """The section `sleep` of a settings file, for what asks no model: whatever else is in it, or missing.

    Raises:
        ConfigError: an unknown key or a bad value in the section; the file is missing or no YAML mapping.
    """
    _check_there(path)
    return load_settings(_part, path, kind=_Part).sleep


def load_sleep_config(
    path: Path | str | None,
    *,
    flags: Iterable[tuple[str, str]] = (),
    environ: Mapping[str, str] | None = None,
) -> SleepConfig:
    """As `etude.config.load_config`.

    Raises:
        ConfigError: as `make_sleep_config`; the file is missing or no YAML mapping.
    """
    if path is not None:
        _check_there(path)
    return load_settings(make_sleep_config, path, flags=flags, environ=environ, kind=SleepConfig)


def _check_there(path: Path | str) -> None:
    if not os.path.lexists(path):
        raise ConfigError(f"config file {str(path)!r} does not exist", hint="give the settings of a night")
