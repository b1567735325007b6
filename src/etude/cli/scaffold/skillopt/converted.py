"""What became of the settings of a SkillOpt file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from etude.errors import ConfigError

_SECRET = re.compile(r"key$|token$|secret|password", re.IGNORECASE)


@dataclass
class Converted:
    """Our settings, and what has to be said about them."""

    settings: dict[str, Any] = field(default_factory=lambda: {"preset": "paper"})
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Settings that were not carried over, as `key = value`, and why."""
    notes: list[str] = field(default_factory=list[str])
    """What means something else here than there."""
    origins: dict[str, str] = field(default_factory=dict[str, str])
    """Our settings to theirs."""

    def put(self, ours: str, value: Any, theirs: str | None = None) -> None:
        """Set one of our settings, which comes from one of theirs."""
        section, _, key = ours.partition(".")
        self.settings.setdefault(section, {})[key] = value
        if theirs is not None:
            self.origins[ours] = theirs

    def say(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def in_their_words(self, error: ConfigError) -> ConfigError:
        """An error about our settings as one about the file they come from; ours stand in parentheses."""
        if not self.origins:
            return error
        names = "|".join(re.escape(ours) for ours in sorted(self.origins, key=len, reverse=True))
        ours = re.compile(rf"(?<![\w.])({names})(?!\w|\.\w)")
        return ConfigError(
            ours.sub(lambda found: f"{self.origins[found[1]]} ({found[1]})", error.message),
            hint=ours.sub(lambda found: self.origins[found[1]], error.hint),
        )


def named(key: str, value: Any) -> str:
    """A setting as it is listed, `key = value`. What may be a secret is not shown."""
    hidden = _SECRET.search(key) is not None or _holds_mapping(value)
    return f"{key} = {'(hidden)' if hidden else '(empty)' if value in (None, '') else str(value)[:80]}"


def written(value: Any) -> str:
    """A value as it stands in YAML, for errors."""
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else repr(value)[:80]


def _holds_mapping(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_mapping(each) for each in cast(list[Any], value))
    return isinstance(value, Mapping)
