"""Data files, and the projects that `init` makes of them."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from etude.cli.main import main
from etude.config import load_config
from etude.envs.dataset import DatasetEnvironment
from etude.records import SPLITS, Task


def write(path: str | Path, rows: Sequence[dict[str, Any]], delimiter: str = ",") -> None:
    """In the format of the suffix."""
    path = Path(path)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else delimiter)
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def init(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["init", *words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def settings(path: str = "etude.yaml") -> dict[str, Any]:
    """What was written."""
    return yaml.safe_load(Path(path).read_text())


def made(settings: str = "etude.yaml") -> DatasetEnvironment:
    """The environment of the settings that were written."""
    env = load_config(settings).env
    return DatasetEnvironment(env.model_extra or {}, judge=lambda: pytest.fail("a model was asked"))


def tasks_of(env: DatasetEnvironment) -> list[Task]:
    return [task for split in SPLITS for task in env.tasks(split)]
