import functools
import importlib
import sys
from pathlib import Path

import pytest

from etude.protocols.code_digest import source_digest


def one(x: int) -> int:
    return x + 1


class Caller:
    def __call__(self, x: int) -> int:
        return x


def compiled(text: str) -> object:
    space: dict = {}
    exec(text, space)
    return space["made"]


def test_functions_without_source_are_told_apart_by_their_bytecode() -> None:
    text = "def made(x):\n    return [y + {} for y in x if y in {{'a', 'b'}}]"
    first, same, other = (compiled(text.format(n)) for n in (1, 1, 2))
    assert source_digest(first) == source_digest(same) != source_digest(other)


def test_partials_count_their_arguments() -> None:
    assert source_digest(functools.partial(one, 1)) != source_digest(functools.partial(one, 2)) != source_digest(one)


def test_objects_count_by_their_class() -> None:
    assert source_digest(Caller()) == source_digest(Caller())
    made = compiled("class Made:\n    def __call__(self): return 1\nmade = Made()")
    assert source_digest(made) != source_digest(Caller())


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> str:
    """The digest of `tasks_for_source:Mine`, with these modules in `folder` and no other of their names."""
    folder.mkdir(parents=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(folder))
        return source_digest(importlib.import_module("tasks_for_source").Mine)


MINE = "from base_for_source import Base\n\nclass Mine(Base):\n    pass\n"
BASE = "class Base:\n    def score(self):\n        return {}\n"


def test_base_classes_in_other_modules_of_the_user_count(tmp_path, monkeypatch) -> None:
    first, same, other = (
        imported(tmp_path / str(n), monkeypatch, tasks_for_source=MINE, base_for_source=BASE.format(value))
        for n, value in enumerate((1, 1, 2))
    )
    assert first == same != other
