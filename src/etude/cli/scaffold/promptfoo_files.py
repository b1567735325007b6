"""The YAML files of promptfoo."""

from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.envs.files import Row, plain
from etude.errors import DataError
from etude.safe_yaml import read_yaml

SKILLOPT = "in the repository, `python integrations/skillopt/import_skillopt.py CONFIG` converts a SkillOpt run"


def read_promptfoo(path: Path) -> list[Row]:
    """The tests of a promptfoo file, each with the first prompt. Raises DataError: the file has none."""
    try:
        found: object = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path} cannot be read: {error}"[:300], hint="give a file of tasks") from None
    settings = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if "_base_" in settings or {"train", "env"} <= settings.keys():
        raise DataError(f"{path} holds the settings of a run, and no tasks", hint=f"give its data; {SKILLOPT}")
    tests: Any = settings.get("tests")
    if not isinstance(tests, list) or not tests or not all(isinstance(test, dict) for test in cast(list[Any], tests)):
        raise DataError(
            f"{path}: a YAML file is read where it has `tests`, as promptfoo writes them",
            hint="write the tasks as JSONL, one object a line",
        )
    prompts: Any = settings.get("prompts") or [None]
    prompt: JsonValue = cast(list[Any], prompts)[0] if isinstance(prompts, list) else prompts
    return [
        Row(f"{path}: test {number}", {**_plain(test, path), **({"prompt": prompt} if prompt else {})})
        for number, test in enumerate(cast(list[dict[str, Any]], tests), 1)
    ]


def _plain(value: dict[str, Any], path: Path) -> dict[str, JsonValue]:
    """A mapping of YAML as JSON."""
    return cast(dict[str, JsonValue], plain(value, str(path)))
