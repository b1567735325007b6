"""The sources as syntax trees, read once by each worker of the tests."""

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path

import etude

SOURCE = Path(etude.__file__).parent


@functools.cache
def tree_of(file: Path) -> ast.Module:
    """Looking through half a million nodes for garbage, again and again, takes as long as reading them."""
    gc.disable()
    try:
        return ast.parse(file.read_text())
    finally:
        gc.enable()


@functools.cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


def all_nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Each node of the package with its file."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in nodes_of(file):
            yield file, node
