"""Names become classes."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

from etude.errors import ConfigError
from etude.protocols import Environment
from etude.registry import BUILT_IN, find, names
from rows import rows


@rows(("family", "name"), [(family, name) for family in BUILT_IN for name in BUILT_IN[family]])
def test_every_built_in_is_found(family, name: str) -> None:
    assert isinstance(find(family, name), type)
    assert name in names(family)


def test_a_built_in_of_the_annexes_says_what_to_install_where_only_the_core_is(monkeypatch) -> None:
    for module in [name for name in sys.modules if name.startswith("etude_annexes")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder is PathFinder])
    with pytest.raises(
        ConfigError, match="tracker 'wandb' needs the package 'etude_annexes', which is not installed"
    ) as caught:
        find("trackers", "wandb")
    assert caught.value.hint.startswith("pip install ")
    assert "[annexes]" in caught.value.hint


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        find("scorers", "exakt")
    assert str(caught.value) == (
        "unknown scorer 'exakt'\nhint: did you mean 'exact', or an import path 'package.module:Class'"
    )


@rows("path", ["no.such.module:Class", "etude.records:NoSuchClass", ":Class"])
def test_a_path_that_cannot_be_imported_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded from") as caught:
        find("agents", path)
    assert caught.value.hint == "it must be installed or in the current folder, and import without errors"


class Made:
    """An environment in all but one respect at a time."""

    def __init__(self, name: str, settings: object) -> None: ...

    @classmethod
    def from_options(cls, options: object, where: str, judge: object) -> "Made":
        raise NotImplementedError

    def tasks(self) -> None: ...

    def score(self) -> None: ...


class MadeOtherwise(Made):
    @classmethod
    def from_options(cls, options: object) -> "MadeOtherwise":
        raise NotImplementedError


class Unfinished(Environment):
    @classmethod
    def from_options(cls, options: object, where: str, judge: object) -> "Unfinished":
        raise NotImplementedError

    def tasks(self, split: object) -> list[Any]:
        return []


def make_model(name: str, settings: object) -> None: ...


def make_nothing() -> None: ...


@rows(("family", "name"), [("environments", "Made"), ("scorers", "Made"), ("models", "make_model")])
def test_what_has_all_that_its_family_needs_is_found(family, name: str) -> None:
    assert find(family, f"{__name__}:{name}").__name__ == name


@rows(
    ("family", "name", "problem"),
    [
        ("environments", "MadeOtherwise", "has no `from_options(options, *, where, judge)`"),
        ("agents", "Made", "has no `from_options(options, target, prompts, *, where)`"),
        ("executors", "Made", "has no `from_options(options, *, concurrency, where)`"),
        ("models", "Made", "has no `complete`"),
        ("models", "dict", "has no `complete`"),
        ("models", "make_nothing", "cannot be called with `(name, settings)`"),
        ("models", "BUILT_IN", "cannot be called with `(name, settings)`"),
        ("environments", "Unfinished", "has no `score`"),
        ("scorers", "made", "is not a class"),
    ],
)
def test_what_lacks_something_is_refused_and_told_what(family, name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find(family, f"{'builtins' if name == 'dict' else __name__}:{name}")
    assert caught.value.message.endswith(f" {problem}")
    assert caught.value.hint == "what it needs: docs/python.md#plugins"


made = Made("", None)


def install(folder: Path, package: str, **scorers: str) -> None:
    """What an installed package leaves in a folder of the search path."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {path}\n" for name, path in scorers.items()]
    (info / "entry_points.txt").write_text("[etude.scorers]\n" + "".join(lines))


def test_an_entry_point_that_names_no_class_is_reported_as_such(tmp_path, monkeypatch) -> None:
    install(tmp_path, "vague", vague="etude.envs.scorers.text")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        find("scorers", "vague")
    assert str(caught.value) == (
        "scorer 'vague' has the entry point 'etude.envs.scorers.text', which names no class\n"
        "hint: its package must write it as 'package.module:Class'"
    )


def test_extras_behind_an_entry_point_and_classes_within_classes_are_understood(tmp_path, monkeypatch) -> None:
    (tmp_path / "nested_for_registry.py").write_text(
        "from etude.envs.scorers.text import Exact\nclass Outer:\n    Inner = Exact\n"
    )
    install(tmp_path, "nested", nested="nested_for_registry:Outer.Inner [fast]")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find("scorers", "nested").name == "exact"
