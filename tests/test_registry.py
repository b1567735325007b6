"""Names become classes."""

from typing import Any

import pytest

from skillgrad.errors import ConfigError
from skillgrad.protocols import Environment
from skillgrad.registry import BUILT_IN, find, names


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in BUILT_IN for name in BUILT_IN[family]])
def test_every_built_in_is_found(family, name: str) -> None:
    assert isinstance(find(family, name), type)
    assert name in names(family)


def test_an_import_path_is_a_name() -> None:
    assert find("executors", "skillgrad.executors.local:LocalExecutor").__name__ == "LocalExecutor"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        find("scorers", "exakt")
    assert str(caught.value) == (
        "unknown scorer 'exakt'\nhint: did you mean 'exact'?; or give an import path 'package.module:Class'"
    )


@pytest.mark.parametrize("path", ["no.such.module:Class", "skillgrad.records:NoSuchClass"])
def test_a_path_that_cannot_be_imported_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded from"):
        find("agents", path)


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


@pytest.mark.parametrize(
    ("family", "name"), [("environments", "Made"), ("scorers", "Made"), ("models", "make_model")]
)
def test_what_has_all_that_its_family_needs_is_found(family, name: str) -> None:
    assert find(family, f"{__name__}:{name}").__name__ == name


@pytest.mark.parametrize(
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
        ("scorers", "made", "is no class"),
    ],
)
def test_what_lacks_something_is_refused_and_told_what(family, name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find(family, f"{'builtins' if name == 'dict' else __name__}:{name}")
    assert caught.value.message.endswith(f" {problem}")
    assert caught.value.hint == "what it needs: docs/guides/plugins.md"


made = Made("", None)


def test_a_module_that_fails_when_it_is_imported_is_named_with_its_error(tmp_path, monkeypatch) -> None:
    (tmp_path / "crash_for_registry.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        find("models", "crash_for_registry:Model")
    assert caught.value.message == (
        "model 'crash_for_registry:Model' cannot be loaded from 'crash_for_registry:Model': "
        "ZeroDivisionError: division by zero"
    )
