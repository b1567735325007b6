"""The package as a whole: what it exports, how big it is, what importing it costs."""

import ast
import subprocess
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import etude
import etude_annexes
from etude import errors
from source_trees import SOURCE, nodes_of, tree_of

ANNEXES = Path(etude_annexes.__file__).parent
FILES = [*sorted(SOURCE.rglob("*.py")), *sorted(ANNEXES.rglob("*.py"))]


def test_everything_public_can_be_imported_and_nothing_else_is_listed() -> None:
    found = {name for name in etude.__all__ if getattr(etude, name) is not None}
    assert found == {"__version__", *etude._HOME}
    assert sorted(etude.__all__) == sorted(found)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Trainr'"):
        etude.Trainr  # noqa: B018


NOT_IMPORTED = {
    "from etude.cli.main import main; main(['--help'])": "openai pydantic rich yaml asyncio",
    "main(['train', '--help'])": "openai pydantic rich yaml asyncio",
    "import etude.cli.sleep.review, etude.cli.sleep.status": "etude.trainer",
    "import etude.trainer": "httpx2 starlette uvicorn pyarrow rich",
    "from etude.testing import ScriptedModel": "pytest",
    "import etude.cli.train": "starlette uvicorn etude.view.server etude.sleep.night",
}
"""What one process does after the other, and what is not yet imported then."""


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = "".join(
        f"{work}\nfound = {set(names.split())} & set(sys.modules)\nassert not found, found\n"
        for work, names in NOT_IMPORTED.items()
    )
    subprocess.run([sys.executable, "-c", f"import sys\n{code}"], check=True, timeout=60, stdout=subprocess.DEVNULL)


def test_files_and_functions_stay_small() -> None:
    found: list[str] = []
    for file in FILES:
        text = file.read_text()
        if text.count("\n") > (300 if file.name == "trainer.py" else 400):
            found.append(f"{file}: {text.count(chr(10))} lines")
        for node in nodes_of(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > 80:
                found.append(f"{file}: {node.name} has {length(node)} lines")
    assert found == []


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    count = Counter(file.parent for file in FILES if file.name != "__init__.py")
    assert [f"{folder}: {files}" for folder, files in count.items() if files > 22] == []


def test_a_public_class_has_a_name_of_its_own() -> None:
    classes = [node.name for file in FILES for node in tree_of(file).body if isinstance(node, ast.ClassDef)]
    assert [name for name, places in Counter(classes).items() if places > 1 and not name.startswith("_")] == []


def test_no_modules_import_each_other_in_a_circle_not_even_inside_functions() -> None:
    names = {module_name(file): file for file in FILES}
    graph = {name: imported(file, set(names)) - {name} for name, file in names.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def module_name(file: Path) -> str:
    root = SOURCE if file.is_relative_to(SOURCE) else ANNEXES
    path = file.relative_to(root.parent).with_suffix("")
    return ".".join(path.parent.parts if path.name == "__init__" else path.parts)


def imported(file: Path, names: set[str]) -> set[str]:
    """The modules of the package that a file imports, also inside functions; imports for types only do not count."""
    nodes = nodes_of(file)
    for_types = {
        id(node)
        for block in nodes
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in nodes:
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = {f"{node.module}.{name.name}" for name in node.names} & names
            found |= modules or {node.module}
    return found & names


def test_every_error_is_in_the_drawn_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(cls.__name__ in drawn for cls in classes)
