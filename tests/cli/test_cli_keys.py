"""Keys and settings: what is a word of both is refused, what is a key only is kept out of what is written."""

import json
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import load_config

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"


@pytest.mark.parametrize(
    ("key", "place", "more"),
    [
        ("localhost", "target.base_url", []),
        ("optimizer", "optimizer", []),
        ("12345678", "limits.tokens", ["--limits.tokens", "912345678"]),
        ("everyday", "skill.path", []),
    ],
)
def test_a_key_that_is_a_word_of_the_settings_is_refused_before_it_spoils_them(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, key: str, place: str, more: list[str]
) -> None:
    monkeypatch.setenv("LOCAL_SERVER", key)
    flags = ["--target.model", "openai:x", "--target.api_key_env", "LOCAL_SERVER", *more]
    flags += ["--target.base_url", "http://localhost:9/v1"]
    assert main(["train", CONFIG, *flags]) == 2
    error = (
        f"the key in environment variable 'LOCAL_SERVER' is part of {place}, so it cannot be kept out of what is "
        "stored"
    )
    hint = (
        "a server that asks for no key takes any: leave it out, or give it fewer than 8 characters or another value"
    )
    assert capsys.readouterr().err.splitlines()[-2:] == [f"error: {error}", f"hint: {hint}"]
    assert not Path("demo/runs").exists()
    assert main(["doctor", CONFIG, "--json", *flags]) == 1
    found = json.loads(capsys.readouterr().out)["checks"]
    assert {"name": "keys", "status": "wrong", "text": error, "fix": hint} in found


def test_what_looks_like_a_key_is_taken_out_of_the_settings_it_was_put_into(
    fresh_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_SERVER", "local-4711-server")
    flags = ["--judge.model", "openai:x", "--judge.api_key_env", "LOCAL_SERVER", "--judge.base_url", "http://x:9/v1"]
    flags += ["--judge.headers", "{x-own: local-4711-server}", "--env.limit={train: 6, val: 4, test: 4}"]
    assert main(["train", CONFIG, *flags, "--train.epochs", "1"]) == 0
    written = Path("demo/runs/demo/config.yaml")
    assert "local-4711-server" not in written.read_text()
    judge = load_config(written).judge
    assert judge is not None
    assert judge.headers == {"x-own": "[redacted:LOCAL_SERVER]"}
