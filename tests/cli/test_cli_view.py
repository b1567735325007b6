import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from etude.cli.main import main
from forked import forked

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def test_the_page_is_served_until_it_is_interrupted_by_the_link_that_is_kept(small_project: Path) -> None:
    words = ["view", RUN, "--no-open", "--json", "--port", "0"]
    environ = {**os.environ, "XDG_STATE_HOME": str(Path("state").absolute())}
    kept = Path("state/etude/view-token")
    kept.parent.mkdir(parents=True)
    kept.write_text("t" * 32)
    with forked(words, environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = "".join(iter(server.stdout.readline, "}\n")) + "}"
            url = json.loads(told)["url"]
            assert url.endswith(f"/{'t' * 32}/")
            with urllib.request.urlopen(f"{url}data/runs", timeout=30) as answer:
                assert [run["name"] for run in json.load(answer)] == ["demo"]
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 0
        finally:
            server.kill()  # leaving the block waits for it


def test_the_page_is_written_as_one_file(small_project: Path, capsys: Captured) -> None:
    assert main(["view", RUN, "--export", "report.html", "--exclude", "gold", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written == {"file": "report.html", "bytes": Path("report.html").stat().st_size}
    assert Path("report.html").read_text().startswith("<!doctype html>")
    assert main(["view", "demo/runs", "--export", "all.html"]) == 0


def test_what_cannot_be_shown_is_an_error(small_project: Path, capsys: Captured) -> None:
    for words, told in (
        (["nowhere"], "there is no run in"),
        (["--export", "a.html"], "there is no run to write"),
        ([RUN, "--exclude", "gold"], "--exclude is about a file"),
        ([RUN, "--export", "no/folder.html"], "cannot be written"),
        ([RUN, "--port", "70000"], "is not a port"),
    ):
        assert main(["view", *words]) == 2
        assert told in capsys.readouterr().err


def test_training_opens_the_page_of_its_run(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("state").absolute()))
    small = ["--train.epochs", "1", "--test.enabled", "false", "--env.limit={train: 6, val: 4, test: 4}"]
    assert main(["train", "demo/etude.yaml", "--name", "one", *small, "--view"]) == 0
    (link,) = opened
    token = Path("state/etude/view-token")
    assert link.endswith(f"/{token.read_text()}/#/runs/one")
    assert token.stat().st_mode & 0o77 == 0
    assert f"the run in a browser: {link}" in capsys.readouterr().err
