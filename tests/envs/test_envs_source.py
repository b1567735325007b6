import functools
import importlib
import sys
from pathlib import Path

import pytest

from etude.protocols.code_digest import source_digest


def one(x: int) -> int:
    return x + 1


def two(x: int) -> int:
    return x + 2


class Caller:
    def __call__(self, x: int) -> int:
        return x


def compiled(text: str) -> object:
    space: dict = {}
    exec(text, space)
    return space["made"]


def test_other_source_gives_another_digest() -> None:
    assert source_digest(one) == source_digest(one) != source_digest(two)


def test_functions_without_source_are_told_apart_by_their_bytecode() -> None:
    text = "def made(x):\n    return [y + {} for y in x if y in {{'a', 'b'}}]"
    first, same, other = (compiled(text.format(n)) for n in (1, 1, 2))
    assert source_digest(first) == source_digest(same) != source_digest(other)


def test_callables_without_bytecode_are_told_apart_by_name() -> None:
    assert source_digest(len) != source_digest(sum)


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


def test_base_classes_of_base_classes_count(tmp_path, monkeypatch) -> None:
    middle = "from root_for_source import Root\n\nclass Base(Root):\n    pass\n"
    one, two = (
        imported(
            *(tmp_path / str(n), monkeypatch),
            tasks_for_source=MINE,
            base_for_source=middle,
            root_for_source=f"class Root:\n    rate = {n}\n",
        )
        for n in (1, 2)
    )
    assert one != two


def test_base_classes_of_installed_packages_do_not_count(tmp_path, monkeypatch) -> None:
    digests: set[str] = set()
    for value in (1, 2):
        installed = tmp_path / str(value) / "site-packages"
        installed.mkdir(parents=True)
        (installed / "base_for_source.py").write_text(BASE.format(value))
        monkeypatch.delitem(sys.modules, "base_for_source", raising=False)
        monkeypatch.syspath_prepend(str(installed))
        digests.add(imported(tmp_path / f"own {value}", monkeypatch, tasks_for_source=MINE))
    assert len(digests) == 1
