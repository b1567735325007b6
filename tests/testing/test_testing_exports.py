"""What authors of plugins import."""

import subprocess
import sys

import pytest

import etude.testing


def test_all_suites_and_doubles_can_be_imported_from_one_place() -> None:
    names = etude.testing.__all__
    assert {getattr(etude.testing, name).__name__ for name in names} == set(names)
    families = {"Agent", "ChatModel", "Environment", "Executor", "Scorer", "Search", "Source", "Tracker"}
    assert {name.removesuffix("Contract") for name in names if name.endswith("Contract")} == families


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ScorerContrat'"):
        etude.testing.ScorerContrat  # noqa: B018


def test_doubles_do_not_need_pytest() -> None:
    code = "import sys; from etude.testing import ScriptedModel; assert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
