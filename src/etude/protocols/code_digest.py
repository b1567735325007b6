"""What a Python function is, as text: results of other code must not be taken for its own."""

import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, cast

from etude.records import digest

_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of packages: what is in them changes with a version, not between two runs."""


@functools.lru_cache(maxsize=256)
def class_digest(kind: type) -> str:
    """`source_digest` of a class. The values of its instances do not count."""
    return source_digest(kind)


def source_digest(function: Callable[..., Any]) -> str:
    """16 hex digits over the source of a function or class, or its bytecode where the source is not at hand.

    Base classes count, except those of etude, of the standard library and of installed packages. Functions that
    are called and values that are referred to do not count.
    """
    target: Any = inspect.unwrap(function)
    bound = ""
    while isinstance(target, functools.partial):
        bound += repr((target.args, sorted(target.keywords.items())))
        target = target.func
    if not inspect.isroutine(target) and not inspect.isclass(target):
        target = cast(Any, type(target))
    bases = [base for base in target.__mro__[1:] if _is_own(base)] if inspect.isclass(target) else []
    return digest([_text(target), bound, *map(_text, bases)])[:16]


def _is_own(kind: type) -> bool:
    """Whether a class comes from the user's own modules."""
    top = kind.__module__.partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return False
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or _INSTALLED.isdisjoint(Path(file).parts)


def _text(target: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(target))
    except (OSError, TypeError):
        call = inspect.getattr_static(target, "__call__", None)
        code = getattr(target, "__code__", None) or getattr(call, "__code__", None)
        return _code_text(code) if isinstance(code, CodeType) else f"{target.__module__}.{target.__qualname__}"


def _code_text(code: CodeType) -> str:
    constants = [_constant_text(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _constant_text(value: object) -> str:
    if isinstance(value, CodeType):
        return _code_text(value)
    # The order of a set changes from one process to the next.
    return repr(sorted(map(repr, cast(frozenset[object], value)))) if isinstance(value, frozenset) else repr(value)
