"""Tasks in YAML: lists of them, and settings of promptfoo with the prompts and tests that they name."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.case_files import read_text
from etude.cli.scaffold.data_files import read_file, yaml_value
from etude.cli.scaffold.forms.promptfoo import with_assertions
from etude.envs.files import Row, parse_rows
from etude.errors import DataError

_SKILLOPT = "in the repository, `python integrations/skillopt/import_skillopt.py CONFIG` converts a SkillOpt run"
_FILE = "file://"


def read_tests(path: Path) -> list[Row]:
    """The rows of a YAML file: those of its list, else the tests that settings of promptfoo have or name, each with
    the first prompt and what `defaultTest` adds.
    Raises DataError: there are none, or a file that is named cannot be used."""
    found = yaml_value(path)
    settings = _object(found)
    if "_base_" in settings or {"train", "env"} <= settings.keys():
        raise DataError(f"{path} holds the settings of a run, and no tasks", hint=f"give its data; {_SKILLOPT}")
    if "graders" in settings:
        text = f"{path}: its answers are graded by programs of its own, and etude does not run them"
        raise DataError(text, hint="give the folder of its tasks, or write evals.json: prompts and expectations")
    rows = list(_tests(settings.get("tests"), path))
    if not rows and any(map(_is_tasks, [found, *settings.values()])):
        return parse_rows(path, json.dumps(found), "json")
    if not rows:
        raise DataError(
            f"{path}: a YAML file is read where it has a list of tasks, or `tests`, as promptfoo writes them",
            hint="write the tasks as JSONL, one object a line",
        )
    prompt, usual = _prompt(settings.get("prompts"), path), _object(settings.get("defaultTest"))
    return [Row(row.place, _completed(row, usual, prompt, path)) for row in rows]


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _is_tasks(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _tests(value: JsonValue, path: Path) -> Iterator[Row]:
    """The tests that stand here, and those of the files that are named."""
    for number, test in enumerate(value if isinstance(value, list) else [value], 1):
        if isinstance(test, str):
            for file in _files(test, path):
                yield from _tests_of(file)
        elif isinstance(test, dict):
            yield Row(f"{path}: test {number}", test)
        elif test is not None:
            raise DataError(f"{path}: test {number} is neither an object nor a file", hint="as in file://cases.yaml")


def _tests_of(file: Path) -> Iterator[Row]:
    if file.suffix.lower() in (".yaml", ".yml"):
        held = yaml_value(file)
        if not (isinstance(held, dict) or _is_tasks(held)):
            raise DataError(f"{file}: expected a list of tests", hint="write each with vars and assert")
        yield from _tests(held, file)
    elif file.suffix.lower() in (".json", ".jsonl", ".csv"):
        yield from with_assertions(read_file(file).rows)
    else:
        raise DataError(f"{file}: tests are read from YAML, JSON and CSV files", hint="write them as one of these")


def _files(name: str, path: Path) -> list[Path]:
    """The files that a name or a pattern means, from the folder of the settings.
    Raises DataError: there are none, or they are outside of that folder."""
    pattern = name.removeprefix(_FILE)
    folder = path.parent
    inside = Path(pattern)
    if inside.is_absolute() or ".." in inside.parts:
        raise DataError(f"{path}: {name!r} is outside of its folder", hint="put the file next to the settings")
    found = sorted(file for file in folder.glob(pattern) if file.resolve().is_relative_to(folder.resolve()))
    if not found:
        raise DataError(f"{path}: {name!r} does not exist", hint="paths count from the folder of the settings")
    return found


def _prompt(prompts: JsonValue, path: Path) -> JsonValue:
    """The text of the first prompt; None where there is none."""
    first = next(iter(prompts), None) if isinstance(prompts, list) else prompts
    if isinstance(first, dict):
        first = first.get("raw", first.get("id"))
    return _content(first, path) if isinstance(first, str) else None


def _content(value: JsonValue, path: Path) -> JsonValue:
    """A value; of a text that names a file, what that holds."""
    if not isinstance(value, str) or not value.startswith(_FILE):
        return value
    file = _files(value, path)[0]
    if file.suffix.lower() not in (".txt", ".md", ""):
        raise DataError(f"{path}: {value!r} is no text", hint="give a .txt or .md file, or write the text here")
    return read_text(file)


def _completed(row: Row, usual: Mapping[str, JsonValue], prompt: JsonValue, path: Path) -> dict[str, JsonValue]:
    """A test with the prompt, and the variables and assertions that all tests have."""
    texts = {**_object(usual.get("vars")), **_object(row.columns.get("vars"))}
    asserted = [each for held in (usual, row.columns) if isinstance(each := held.get("assert"), list)]
    found: dict[str, JsonValue] = {
        "vars": {name: _content(text, path) for name, text in texts.items()},
        "assert": [assertion for each in asserted for assertion in each],
        "prompt": prompt,
    }
    return {**usual, **row.columns, **{name: value for name, value in found.items() if value}}
