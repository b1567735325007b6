"""Tests of promptfoo: its settings with the prompts and tests that they name, variables of a prompt, and assertions
about the answer. Each assertion becomes a check. Lists of tasks in YAML are read here, too."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.data_files import read_file, read_text, yaml_value
from etude.cli.scaffold.forms.made import MadeTasks, built, task
from etude.cli.scaffold.table import Table
from etude.envs.files import Row, parse_rows
from etude.errors import DataError
from etude.readable import counted
from etude.records import canonical

_CELLS = re.compile(r"__expected\d*")
"""Columns of a table whose cells are assertions."""
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
_JUDGED = ("llm-rubric", "g-eval")


def fits(table: Table) -> bool:
    """Assertions, as a list or in cells."""
    column = table.find("assert")
    return _has_cells(table.rows) or (column is not None and isinstance(table.values(column)[0], list))


def tasks(table: Table) -> MadeTasks:
    """The prompt with its variables, and the assertions as checks."""
    table.used.update(name for name in table.names if _is_used(name, in_cells=_has_cells(table.rows)))
    tests = list(zip(with_assertions(table.rows), table.rows, strict=True))
    _refuse_unknown([(item, row) for test, row in tests for item in _items(test)])
    rows: list[Row] = []
    for test, row in tests:
        for texts in _combinations(_object(test.columns.get("vars"))):
            text = _filled(test.columns.get("prompt"), texts, row)
            rows.append(task(table, row, text, _checks(_items(test), texts, row)))
    weighed = any({"weight", "threshold"} & _object(item).keys() for test, _ in tests for item in _items(test))
    notes = ["weights and thresholds of assertions are not used: each counts alike"] * weighed
    return built("prompts with assertions", rows, ("checks", "assertions are checks of the answer"), notes=notes)


def with_assertions(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows of a table of tests as tests: assertions from the columns for them, variables from the others."""
    if not _has_cells(rows):
        return rows
    return [
        Row(
            row.place,
            {
                "vars": {name: value for name, value in row.columns.items() if not name.startswith("__")},
                "assert": [
                    _assertion(str(cell)) for name, cell in row.columns.items() if cell and _CELLS.fullmatch(name)
                ],
            },
        )
        for row in rows
    ]


def _is_used(column: str, *, in_cells: bool) -> bool:
    """Whether a column goes into tasks: in a table of tests its variables and its assertions."""
    if not in_cells:
        return column in ("vars", "assert", "prompt")
    return not column.startswith("__") or bool(_CELLS.fullmatch(column))


def _has_cells(rows: Sequence[Row]) -> bool:
    return any(map(_CELLS.fullmatch, rows[0].columns)) if rows else False


def _assertion(cell: str) -> dict[str, JsonValue]:
    """An assertion as a cell has it, `contains: text`; without a kind the text is the answer."""
    match = _CELL.fullmatch(cell)
    if match is None or match[1].removeprefix("not-") not in _KINDS:
        return {"type": "equals", "value": cell.strip()}
    kind, _, value = match.groups()
    return {"type": "llm-rubric" if kind == "grade" else kind, "value": value.strip()}


def _items(test: Row) -> list[JsonValue]:
    """The assertions of a test."""
    found = test.columns.get("assert")
    return found if isinstance(found, list) else []


def _combinations(values: Mapping[str, JsonValue]) -> Iterator[dict[str, str]]:
    """The variables of each task that a test is: one for each value of a list, or combination of several lists."""
    for chosen in product(*(each if isinstance(each, list) else [each] for each in values.values())):
        texts = (value if isinstance(value, str) else canonical(value) for value in chosen)
        yield dict(zip(values, texts, strict=True))


def _filled(prompt: JsonValue, texts: Mapping[str, str], row: Row) -> str:
    text = _rendered(prompt, texts) if isinstance(prompt, str) else "\n\n".join(texts.values())
    if not text.strip() or "{{" in text:
        raise DataError(f"{row.place}: the prompt {text[:60]!r} is not filled by vars", hint="give all its variables")
    return text


def _rendered(text: str, texts: Mapping[str, str]) -> str:
    return re.sub(r"{{\s*([^{}]+?)\s*}}", lambda found: texts.get(found[1], found[0]), text)


def _refuse_unknown(asserted: Sequence[tuple[JsonValue, Row]]) -> None:
    """Raises DataError: assertions that have no equal among checks, all of them."""
    unknown = [(_kind(item), row.place) for item, row in asserted if not _is_known(_kind(item))]
    if unknown:
        kinds = sorted({repr(kind) for kind, _ in unknown})
        raise DataError(
            f"{unknown[0][1]}: no check of etude is like {'the assertion' if len(kinds) == 1 else 'the assertions'} "
            f"{', '.join(kinds)} ({counted(len(unknown), 'time')} in all tests)",
            hint="remove what is said so, or use contains, icontains, equals, starts-with, regex, their not- forms, "
            "contains-all, contains-any, llm-rubric or g-eval instead",
        )


def _kind(item: JsonValue) -> str:
    return str(_object(item).get("type")) if isinstance(item, dict) else str(item)


def _is_known(kind: str) -> bool:
    return kind in _JUDGED or bool(_check(kind, ["x"]))


def _checks(asserted: Sequence[JsonValue], texts: Mapping[str, str], row: Row) -> JsonValue:
    """What is asserted, as the scorer `checks` reads it, with these variables. Raises DataError: nothing is."""
    checks: list[JsonValue] = []
    rubrics: list[str] = []
    for item in asserted:
        arg = _object(item).get("value")
        args = [
            _rendered(each, texts) if isinstance(each, str) else each
            for each in (arg if isinstance(arg, list) else [arg])
        ]
        if _kind(item) in _JUDGED:
            rubrics += map(str, args)
        else:
            checks += _check(_kind(item), args if isinstance(arg, list) else args[0])
    if not checks and not rubrics:
        raise DataError(
            f"{row.place}: no assertion says what is right", hint="add one, as {type: contains, value: x}"
        )
    return {"checks": checks, "rubric": "\n".join(rubrics)} if rubrics else checks


def _check(kind: str, arg: JsonValue) -> list[JsonValue]:
    """The checks that an assertion is; none where it has no equal."""
    name, negated = kind.removeprefix("not-"), kind.startswith("not-")
    ignores, text = name.startswith("icontains"), re.escape(str(arg))
    parts = [str(each).strip() for each in (arg if isinstance(arg, list) else str(arg).split(","))]
    op, args = {
        "contains": ("contains", [str(arg)]),
        "contains-all": ("contains", [] if negated else parts),
        "contains-any": ("regex", ["|".join(map(re.escape, parts))]),
        "equals": ("regex", [rf"\A\s*{text}\s*\Z"]),
        "starts-with": ("regex", [rf"\A{text}"]),
        "regex": ("regex", [str(arg)]),
    }.get(name.removeprefix("i") if ignores else name, ("", []))
    more: dict[str, JsonValue] = {"ignore_case": ignores} if "contains" in name else {}
    return [{"op": "not_" * negated + op, "arg": each, **more} for each in args]


_SKILLOPT = "in the repository, `python integrations/skillopt/import_skillopt.py CONFIG` converts a SkillOpt run"
_FILE = "file://"
_READ = ("tests", "prompts", "defaultTest")
"""What is read of the settings."""


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
    others: dict[str, JsonValue] = dict.fromkeys(name for name in settings if name not in _READ)
    prompts = settings.get("prompts")
    others |= {"prompts after the first": None} if isinstance(prompts, list) and len(prompts) > 1 else {}
    # What is not used is named as columns are.
    return [Row(row.place, {**others, **_completed(row, usual, prompt, path)}) for row in rows]


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
        "assert": [_with_content(assertion, path) for each in asserted for assertion in each],
        "prompt": prompt,
    }
    return {**usual, **row.columns, **{name: value for name, value in found.items() if value}}


def _with_content(assertion: JsonValue, path: Path) -> JsonValue:
    """An assertion, with what a file holds that its value names."""
    if not isinstance(assertion, dict) or not _is_known(_kind(assertion)):
        return assertion
    return {**assertion, "value": _content(assertion.get("value"), path)}
