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


def empty_split(folder: Path) -> None:
    write(folder, "val", [])


def duplicate_ids(folder: Path) -> None:
    tasks = rows(folder, "train")
    tasks[1]["id"] = tasks[0]["id"] = "twin"
    write(folder, "train", tasks)


def same_input_in_two_splits(folder: Path) -> None:
    tasks = rows(folder, "val")
    tasks[0]["input"] = "  " + rows(folder, "train")[0]["input"].upper()
    write(folder, "val", tasks)


def missing_field(folder: Path) -> None:
    tasks = rows(folder, "train")
    del tasks[2]["gold"]
    write(folder, "train", tasks)


def broken_line(folder: Path) -> None:
    path = folder / "test.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = '{"id": '
    path.write_text("\n".join(lines))


def unknown_key(folder: Path) -> None:
    change(folder, train={"batchsize": 3})


def unknown_option_of_the_environment(folder: Path) -> None:
    change(folder, env={"scorrer": "exact"})


def missing_skill(folder: Path) -> None:
    change(folder, skill={"path": "no-such-skill"})


def invalid_front_matter(folder: Path) -> None:
    (folder / "everyday-tasks/SKILL.md").write_text("---\nname: [\n---\n# Skill\n")


def scorer_that_rejects_gold(folder: Path) -> None:
    change(folder, env={"scorer": "numeric"})


def budget_of_zero(folder: Path) -> None:
    change(folder, limits={"calls": 0})


def usd_cap_without_a_price(folder: Path) -> None:
    change(folder, limits={"usd": 5})


def unknown_provider(folder: Path) -> None:
    change(folder, target={"model": "opnai:m"})


def missing_data_file(folder: Path) -> None:
    (folder / "train.jsonl").unlink()


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (empty_split, ["val.jsonl"]),
        (duplicate_ids, ["twin", "train"]),
        (same_input_in_two_splits, ["train", "val"]),
        (missing_field, ["train.jsonl", "3", "gold"]),
        (broken_line, ["test.jsonl", "2"]),
        (unknown_key, ["train.batchsize", "did you mean 'train.batch_size'"]),
        (unknown_option_of_the_environment, ["scorrer", "did you mean 'scorer'"]),
        (missing_skill, ["no-such-skill"]),
        (invalid_front_matter, ["SKILL.md"]),
        (scorer_that_rejects_gold, ["numeric"]),
        (budget_of_zero, ["limits.calls"]),
        (usd_cap_without_a_price, ["limits.usd", "target.price"]),
        (unknown_provider, ["opnai", "did you mean 'openai'"]),
        (missing_data_file, ["train.jsonl"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
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


def test_a_run_folder_made_with_other_settings_is_refused_and_the_setting_named(tmp_path, capsys) -> None:
    config = make_project(tmp_path, "http://127.0.0.1:1/v1")
    simulated = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
    assert main(["train", str(config), *simulated]) == 0
    capsys.readouterr()
    assert main(["train", str(config), *simulated, "--train.seed", "7"]) == 2
    message = capsys.readouterr().err
    assert "train.seed" in message
    assert "--fork" in message


def test_a_fork_starts_over_the_facts_of_its_parent(tmp_path, capsys) -> None:
    config = make_project(tmp_path, "http://127.0.0.1:1/v1")
    simulated = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer", "--json"]
    assert main(["train", str(config), *simulated]) == 0
    first = json.loads(capsys.readouterr().out)
    fork = ["--name", "second", "--fork", "run", "--select.edit_budget", "5"]
    assert main(["train", str(config), *simulated, *fork]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["initial"]["test"] == first["initial"]["test"]
    assert second["cost"]["target_calls"] < first["cost"]["target_calls"]
