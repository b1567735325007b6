"""No command at all touches the project of `tests/cli/test_cli_trust.py` that names everything."""

from pathlib import Path

import pytest
from test_cli_trust import NIGHTS, READING, Stranger, listener, names_everything, refusing, stranger

from etude.cli.demo import make_project
from etude.cli.main import main
from etude.cli.parsing.parser import VERBS

__all__ = ["listener", "stranger"]


@pytest.fixture
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project with a finished run."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    folder.mkdir()
    make_project(folder)
    assert main(["demo", "--folder", str(folder), "--train.epochs", "2"]) == 0
    return folder


def test_no_command_touches_a_project_that_names_everything(
    stranger: Stranger, finished: Path, listener: str
) -> None:
    names_everything(stranger, finished, listener)
    verbs = [verb.name for verb in VERBS if verb.name != "simulate"]  # that serves until it is ended
    verbs += [words for words in NIGHTS if words not in verbs]
    assert refusing(stranger, verbs) == [*READING, *NIGHTS]
