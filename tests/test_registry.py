"""Names become classes."""

import pytest

from skillgrad.errors import ConfigError
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
