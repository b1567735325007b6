"""What every error has in common."""

import ast
from pathlib import Path

import pytest

from etude import errors
from etude.cli.parsing.verb import UsageError
from etude.errors import EtudeError, InputError, StopRun, did_you_mean, install_command
from rows import rows
from source_trees import all_nodes


def classes_below(*kinds: type[EtudeError]) -> set[str]:
    return {kind.__name__ for kind in kinds} | {
        name for kind in kinds for below in kind.__subclasses__() for name in classes_below(below)
    }


def test_an_error_that_a_person_sees_says_what_to_do() -> None:
    names = {name for name in classes_below(InputError, StopRun) if hasattr(errors, name)} | {UsageError.__name__}
    without: list[str] = []
    for path, call in all_nodes():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names:
            without += [] if any(word.arg == "hint" for word in call.keywords) else [f"{path}:{call.lineno}"]
    assert without == []


@rows(
    ("allowed", "hint"),
    [
        (["epochs", "seed"], "did you mean 'epochs'?"),
        (["seed", "name"], "allowed: name, seed"),
        ([], "leave it out: nothing else can be set here"),
    ],
)
def test_the_nearest_value_is_hinted_at_else_all_of_them_else_that_there_is_none(
    allowed: list[str], hint: str
) -> None:
    assert did_you_mean("epoch", allowed) == hint


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (
            '{"url": "file:///src/my%20etude", "dir_info": {"editable": true}}',
            "pip install -e '/src/my etude[serve,hf]'",
        ),
        ('{"url": "file:///src/etude", "dir_info": {}}', "pip install '/src/etude[serve,hf]'"),
        ('{"url": "file://HERE", "dir_info": {"editable": true}}', "pip install -e '.[serve,hf]'"),
        ('{"url": "https://host/etude.whl", "archive_info": {}}', "pip install 'etude[serve,hf]'"),
    ],
)
def test_extras_are_installed_from_where_etude_came_from(
    origin: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "etude-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: etude\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(origin.replace("HERE", str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert install_command("serve,hf") == command
    if "HERE" in origin:
        assert install_command("hf,ray") == "pip install -e '.[hf,ray]' -e './annexes'"
