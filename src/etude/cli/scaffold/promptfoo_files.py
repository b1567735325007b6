"""Tasks in YAML: lists of them, and settings of promptfoo with the prompts and tests that they name."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.cli.scaffold.case_files import read_text
from etude.cli.scaffold.data_files import read_file
from etude.envs.files import Row, parse_rows, plain
from etude.errors import DataError
from etude.safe_yaml import read_yaml

_SKILLOPT = "in the repository, `python integrations/skillopt/import_skillopt.py CONFIG` converts a SkillOpt run"
EXPECTED = "__expected"
"""The column of a table whose cells are assertions; further ones are numbered."""
_FILE = "file://"
_CELL = re.compile(r"\s*((?:not-)?[a-z]+(?:-[a-z]+)*)(?:\(([\d.]+)\))?:\s*(.*)", re.DOTALL)
_KINDS = frozenset(
    """
    answer-relevance assert-set bleu classifier contains contains-all contains-any contains-json contains-sql
    contains-xml cost equals eval factuality finish-reason fn g-eval grade guardrails icontains icontains-all
    icontains-any is-json is-refusal is-sql is-xml javascript latency levenshtein llm-rubric moderation perplexity
    pi python regex rouge-n select-best similar starts-with webhook
    """.split()  # noqa: SIM905 - a list of so many lines is harder to read
)
"""Words before a colon that name an assertion; with any other, as in `note: call`, the whole cell is the answer."""
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")


def read_tests(path: Path) -> list[Row]:
    """The rows of a YAML file: those of its list, else the tests that settings of promptfoo have or name, each with
    the first prompt and what `defaultTest` adds.
    Raises DataError: there are none, or a file that is named cannot be used."""
    found = _yaml(path)
    settings = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if "_base_" in settings or {"train", "env"} <= settings.keys():
        raise DataError(f"{path} holds the settings of a run, and no tasks", hint=f"give its data; {_SKILLOPT}")
    if "graders" in settings:
        text = f"{path}: its answers are graded by programs of its own, and etude does not run them"
        raise DataError(text, hint="give the folder of its tasks, or write evals.json: prompts and expectations")
    rows = list(_tests(settings.get("tests"), path))
    if not rows and (isinstance(found, list) or any(map(_is_tasks, settings.values()))):
        return parse_rows(path, json.dumps(plain(found, str(path))), "json")
    if not rows:
        raise DataError(
            f"{path}: a YAML file is read where it has a list of tasks, or `tests`, as promptfoo writes them",
            hint="write the tasks as JSONL, one object a line",
        )
    prompt, default = _prompt(settings.get("prompts"), path), settings.get("defaultTest")
    usual = _plain(default, path) if isinstance(default, dict) else {}
    return [Row(row.place, _completed(row, usual, prompt, path)) for row in rows]


def _is_tasks(value: Any) -> bool:
    rows = cast(list[Any], value) if isinstance(value, list) else []
    return bool(rows) and all(isinstance(each, dict) for each in rows)


def with_assertions(rows: list[Row]) -> list[Row]:
    """Rows of a table of tests as tests: assertions from the columns for them, variables from the others."""
    named = [name for name in rows[0].columns if re.fullmatch(rf"{EXPECTED}\d*", name)] if rows else []
    if not named:
        return rows
    return [
        Row(
            row.place,
            {
                "vars": {name: value for name, value in row.columns.items() if not name.startswith("__")},
                "assert": [_assertion(str(cell)) for name in named if (cell := row.columns[name]) not in (None, "")],
            },
        )
        for row in rows
    ]


def _assertion(cell: str) -> dict[str, JsonValue]:
    """An assertion as a cell has it, `contains: text`; without a kind the text is the answer."""
    match = _CELL.fullmatch(cell)
    if match is None or match[1].removeprefix("not-") not in _KINDS:
        return {"type": "equals", "value": cell.strip()}
    kind, threshold, value = match.groups()
    kind = "llm-rubric" if kind == "grade" else kind
    made: dict[str, JsonValue] = {"type": kind, "value": value.strip()}
    if kind.removeprefix("not-") in _LISTS:
        made["value"] = [part.strip() for part in value.split(",")]
    return made | ({} if threshold is None else {"threshold": float(threshold)})


def _tests(value: Any, path: Path) -> Iterator[Row]:
    """The tests that stand here, and those of the files that are named."""
    for number, test in enumerate(cast(list[Any], value) if isinstance(value, list) else [value], 1):
        if isinstance(test, str):
            for file in _files(test, path):
                yield from _tests_of(file)
        elif isinstance(test, dict):
            yield Row(f"{path}: test {number}", _plain(test, path))
        elif test is not None:
            raise DataError(f"{path}: test {number} is neither an object nor a file", hint="as in file://cases.yaml")


def _tests_of(file: Path) -> Iterator[Row]:
    if file.suffix.lower() in (".yaml", ".yml"):
        held = _yaml(file)
        tests = cast(list[Any], held) if isinstance(held, list) else [held]
        if not all(isinstance(test, dict) for test in tests):
            raise DataError(f"{file}: expected a list of tests", hint="write each with vars and assert")
        yield from _tests(tests, file)
    elif file.suffix.lower() in (".json", ".jsonl", ".csv"):
        yield from with_assertions(list(read_file(file).rows))
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


def _prompt(prompts: Any, path: Path) -> JsonValue:
    """The text of the first prompt; None where there is none."""
    several = cast(list[Any], prompts) if isinstance(prompts, list) else [prompts]
    first: Any = next(iter(several), None)
    if isinstance(first, dict):
        held = cast(dict[str, Any], first)
        first = held.get("raw", held.get("id"))
    return _content(first, path) if isinstance(first, str) else None


def _content(value: str, path: Path) -> str:
    """A text, or that of the file that it names."""
    if not value.startswith(_FILE):
        return value
    file = _files(value, path)[0]
    if file.suffix.lower() not in (".txt", ".md", ""):
        raise DataError(f"{path}: {value!r} is no text", hint="give a .txt or .md file, or write the text here")
    return read_text(file)


def _completed(row: Row, usual: Mapping[str, JsonValue], prompt: JsonValue, path: Path) -> dict[str, JsonValue]:
    """A test with the prompt, and the variables and assertions that all tests have."""
    shared, own = (each if isinstance(each, dict) else {} for each in (usual.get("vars"), row.columns.get("vars")))
    texts = {**shared, **own}
    asserted = [each for held in (usual, row.columns) if isinstance(each := held.get("assert"), list)]
    found: dict[str, JsonValue] = {
        "vars": {name: _content(text, path) if isinstance(text, str) else text for name, text in texts.items()},
        "assert": [assertion for each in asserted for assertion in each],
        "prompt": prompt,
    }
    return {**usual, **row.columns, **{name: value for name, value in found.items() if value}}


def _yaml(path: Path) -> object:
    try:
        return read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path} cannot be read: {error}"[:300], hint="give a file of tasks") from None


def _plain(value: Any, path: Path) -> dict[str, JsonValue]:
    """A mapping of YAML as JSON."""
    return cast(dict[str, JsonValue], plain(value, str(path)))
