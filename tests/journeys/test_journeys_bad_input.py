"""Bad input is refused before the first call: exit code 2, and the message names file, line or key."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from http_run import make_project

from etude.cli.main import main
from etude.simulation.endpoint import Endpoint, running_endpoint


@pytest.fixture(scope="module")
def endpoint():
    with running_endpoint() as running:
        yield running


def rows(folder: Path, split: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def write(folder: Path, split: str, tasks: list[dict[str, str]]) -> None:
    (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tasks))


def change(folder: Path, **sections: object) -> None:
    path = folder / "etude.yaml"
    config = json.loads(path.read_text())
    for name, section in sections.items():
        config[name] = {**config.get(name, {}), **section} if isinstance(section, dict) else section
    path.write_text(json.dumps(config))


def missing_field(folder: Path) -> None:
    tasks = rows(folder, "train")
    del tasks[2]["gold"]
    write(folder, "train", tasks)


def same_input_in_two_splits(folder: Path) -> None:
    tasks = rows(folder, "val")
    tasks[0]["input"] = "  " + rows(folder, "train")[0]["input"].upper()
    write(folder, "val", tasks)


def invalid_front_matter(folder: Path) -> None:
    (folder / "everyday-tasks/SKILL.md").write_text("---\nname: [\n---\n# Skill\n")


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (missing_field, ["train.jsonl", "3", "gold"]),
        (same_input_in_two_splits, ["train", "val"]),
        (invalid_front_matter, ["SKILL.md"]),
        (lambda folder: change(folder, train={"epoch": 3}), ["train.epoch", "'train.epochs'"]),
        (lambda folder: change(folder, env={"scorrer": "exact"}), ["scorrer", "did you mean 'scorer'"]),
        (lambda folder: change(folder, env={"scorer": "numeric"}), ["numeric"]),
        (lambda folder: change(folder, skill={"path": "no-such-skill"}), ["no-such-skill"]),
        (lambda folder: change(folder, limits={"usd": 5}), ["limits.usd", "target.price"]),
        (lambda folder: change(folder, target={"model": "opnai:m"}), ["opnai", "did you mean 'openai'"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_refused_before_the_first_call(
    tmp_path, endpoint: Endpoint, capsys, spoil: Callable[[Path], None], named: list[str]
) -> None:
    config = make_project(tmp_path, endpoint.url)
    spoil(tmp_path)
    assert main(["train", str(config)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "hint: " in message
    for part in named:
        assert part in message
    assert endpoint.stats()["received"] == 0
    assert not (tmp_path / "runs").exists()
