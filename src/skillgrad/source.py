"""What a Python function is, as text: results of other code must not be taken for its own."""

import functools
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

from skillgrad.records import digest


@functools.lru_cache(maxsize=256)
def class_digest(kind: type) -> str:
    """`source_digest` of a class. Base classes and the values of its instances do not count."""
    return source_digest(kind)


def source_digest(function: Callable[..., Any]) -> str:
    """16 hex digits over the source of a function or class, or its bytecode where the source is not at hand.

    Functions that it calls and values that it refers to do not count.
    """
    target: Any = inspect.unwrap(function)
    bound = ""
    while isinstance(target, functools.partial):
        bound += repr((target.args, sorted(target.keywords.items())))
        target = target.func
    if not inspect.isroutine(target) and not inspect.isclass(target):
        target = cast(Any, type(target))
    try:
        text = textwrap.dedent(inspect.getsource(target))
    except (OSError, TypeError):
        call = inspect.getattr_static(target, "__call__", None)
        code = getattr(target, "__code__", None) or getattr(call, "__code__", None)
        text = _code_text(code) if isinstance(code, CodeType) else f"{target.__module__}.{target.__qualname__}"
    return digest([text, bound])[:16]


def _code_text(code: CodeType) -> str:
    constants = [_constant_text(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _constant_text(value: object) -> str:
    if isinstance(value, CodeType):
        return _code_text(value)
    # The order of a set changes from one process to the next.
    return repr(sorted(map(repr, cast(frozenset[object], value)))) if isinstance(value, frozenset) else repr(value)
