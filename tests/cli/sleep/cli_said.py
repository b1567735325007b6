"""What verbs of `etude sleep` say."""

import json
from typing import Any

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def said(capsys: Captured, *words: str, code: int = 0) -> list[str]:
    """The lines of a verb's result."""
    capsys.readouterr()
    assert main(["sleep", *words]) == code
    return capsys.readouterr().out.splitlines()


def data(capsys: Captured, *words: str, code: int = 0) -> Any:
    """The result of a verb as JSON; nothing else is on stdout."""
    return json.loads("\n".join(said(capsys, *words, "--json", code=code)))
