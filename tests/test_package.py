"""The package as a whole: what it exports, how big it is, what importing it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import etude
from etude import errors

SOURCE = Path(etude.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def test_everything_public_can_be_imported_and_nothing_else_is_listed() -> None:
    found = {name for name in etude.__all__ if getattr(etude, name) is not None}
    assert found == {"__version__", *etude._HOME}
    assert sorted(etude.__all__) == sorted(found)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Trainr'"):
        etude.Trainr  # noqa: B018


def test_importing_loads_no_model_sdk_and_touches_nothing() -> None:
    code = (
        "import sys, etude, etude.trainer\n"
        "heavy = {'openai', 'httpx2', 'starlette', 'uvicorn', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_files_and_functions_stay_small(file: Path) -> None:
    text = file.read_text()
    lines = text.count("\n")
    assert lines <= (300 if file.name == "trainer.py" else 400)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= 80, f"{node.name} has {length} lines"


def test_every_error_is_in_the_drawn_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(cls.__name__ in drawn for cls in classes)
