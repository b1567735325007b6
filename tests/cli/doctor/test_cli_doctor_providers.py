"""What `doctor` says about the models of the providers, their keys and prices."""

from pathlib import Path

import pytest

from etude.cli.main import main

CONFIG = "demo/etude.yaml"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def target(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """The line about the target."""
    main(["doctor", CONFIG, *flags])
    return next(line for line in capsys.readouterr().out.splitlines() if " target " in line)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--target.model", "anthropic:m", "--target.base_url", "http://a/v1"],
            "anthropic:m at http://a/v1, key ANTHROPIC_API_KEY is not set",
        ),
        (
            ["--target.model", "openai:m", "--target.base_url", "http://a/v1", "--target.api_key_command", "env"],
            "openai:m at http://a/v1, key from api_key_command",
        ),
        (
            ["--target.model", "openai:m", "--target.base_url", "https://n.openai.azure.com/openai/v1"],
            "environment variable 'OPENAI_API_KEY' is not set",
        ),
    ],
)
def test_the_key_that_counts_is_named(
    fresh_project: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    assert target(capsys, *flags).endswith(said)
