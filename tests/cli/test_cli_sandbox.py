"""`--unsafe-no-sandbox`, on a machine where no sandbox works."""

import json
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.sandbox import find
from trusting import trust

Captured = pytest.CaptureFixture[str]
OPTION = "--unsafe-no-sandbox"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither sandbox works here."""
    monkeypatch.setattr(find, "find_bubblewrap", lambda: "'bwrap' is not installed")
    monkeypatch.setattr(find, "find_landlock", lambda **_: "Landlock does not work (too old)")


@pytest.fixture
def project(here: Path) -> None:
    """Settings for the agent with tools, and answers that a program checks."""
    rows = [{"input": f"Say {name}.", "gold": name} for name in "abcdefghi"]
    Path("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("grader.py").write_text('import json\nprint(json.dumps({"score": 1}))\n')
    Path("b.md").write_text("- Say it.\n")
    Path("etude.yaml").write_text(
        "target: {model: simulated:target}\noptimizer: {model: simulated:optimizer}\n"
        "env: {name: command, path: tasks.jsonl, ratio: [1, 1, 1], grader: [python3, grader.py]}\n"
        "agent: {name: tools}\ntrain: {epochs: 1}\nsearch: {policy: paper}\n"
    )
    trust()


def test_nothing_runs_without_a_sandbox_unless_the_option_allows_it(
    bare: None, project: None, capsys: Captured
) -> None:
    for verb in ("plan", "train", "evaluate"):
        assert main([verb]) == 2
        error = capsys.readouterr().err
        assert "there is no sandbox on this machine that could run programs: 'bwrap' is not installed" in error
        assert "hint: install bubblewrap" in error
        assert OPTION in error
    assert not Path("runs").exists()
    for words in (["plan"], ["train"], ["evaluate"], ["doctor"], ["compare", "run:initial", "b.md"]):
        assert main([*words, OPTION]) in (0, 5)
    out = capsys.readouterr().out
    assert "agent" in out


def test_the_option_is_refused_where_nothing_would_read_it(project: None, capsys: Captured) -> None:
    assert main(["plan", OPTION, "--agent.name", "chat", "--env.name", "dataset", "--env.grader", "null"]) == 2
    error = capsys.readouterr().err
    assert "neither the agent 'chat' nor the environment 'dataset' runs anything in a sandbox" in error
    assert "hint: leave the option out" in error
