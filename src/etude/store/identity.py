"""In what a run differs from the one that its folder holds, in words."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.records import canonical
from etude.safe_yaml import load_yaml

_LONGEST_SHOWN = 60
_CONTENT: Mapping[str, tuple[str, *tuple[str, ...]]] = {
    "skill.hash": ("the initial skill has another text", "skill.files"),
    "data.train": ("the training tasks are others", "env."),
    "data.val": ("the validation tasks are others", "env."),
    "data.test": ("the test tasks are others", "env."),
    "env.fingerprint": ("the environment or its scorer is another", "env."),
    "agent.fingerprint": ("the agent is another, or has other options", "agent.", "targets."),
    "models.target": ("the target is another model", "target.", "targets."),
    "models.optimizer": ("the optimizer is another model", "optimizer."),
    "models.judge": ("the judge is another model", "judge."),
    "prompts": ("a prompt has another text", "prompts."),
}
"""What an identity holds as a digest, in words, and the sections of the settings that may say more."""


def differences(
    known: Mapping[str, JsonValue],
    claimed: Mapping[str, JsonValue],
    settings: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> list[str]:
    """A line for each difference between two identities. `settings`, those of then and of now, name what stands in
    the identities as a digest only."""
    found = dict(_changes("", dict(known), dict(claimed)))
    sections = {section for path in found if path in _CONTENT for section in _CONTENT[path][1:]}
    named = {path: text for path, text in found.items() if path not in _CONTENT}
    for path, text in _changes("", dict(settings[0]), dict(settings[1])):
        if path.startswith(tuple(sections)):
            named.setdefault(path, text)
    lines = [f"{path}: {text}" for path, text in sorted(named.items())]
    for path, (text, *saying) in _CONTENT.items():
        of_data = path.startswith("data.")  # settings may be the same, or name files whose content counts
        if path in found and (of_data or not any(name.startswith(tuple(saying)) for name in named)):
            lines.append(text)
    return lines


def _changes(path: str, old: JsonValue, new: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(old, list) and isinstance(new, list):
        old, new = ({str(number): one for number, one in enumerate(each)} for each in (old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            dotted = f"{path}.{name}" if path else name
            if name not in old:
                yield dotted, f"was not set, now {_shown(new[name])}"
            elif name not in new:
                yield dotted, f"was {_shown(old[name])}, now not set"
            else:
                yield from _changes(dotted, old[name], new[name])
    elif canonical(old) != canonical(new):
        yield path, f"was {_shown(old)}, now {_shown(new)}"


def _shown(value: JsonValue) -> str:
    text = canonical(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def known_settings(folder: Path) -> dict[str, Any]:
    """The settings that the run in a folder was made with; none where they cannot be read."""
    try:
        known = load_yaml((folder / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}
