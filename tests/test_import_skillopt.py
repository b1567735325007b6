"""The script of integrations/skillopt: settings, tasks and skill of a SkillOpt run become a project."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs_pages import ROOT
from etude.cli.main import main
from etude.config import load_config, make_config
from etude.errors import ConfigError
from etude.searches import policy_of
from etude.simulation import make_tasks
from etude.skill import Document
from rows import rows

sys.path.append(str(ROOT / "integrations" / "skillopt"))
import import_skillopt  # type: ignore[import-not-found]
from skillopt_files import read_settings
from skillopt_settings import SAME, Conversion, convert  # type: ignore[import-not-found]

Captured = pytest.CaptureFixture[str]
SIMULATED = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
PNG = b"\x89PNG\r\n\x1a\n"
SKILL = "# Word questions\n\n- Read the context first.\n"

BASE = """\
model:
  backend: azure_openai
  reasoning_effort: low
  azure_openai_endpoint: https://example-resource.openai.azure.com/
  azure_openai_api_version: 2024-12-01-preview
  azure_openai_api_key: secret-of-azure
  qwen_chat_base_url: http://localhost:8000/v1
train:
  num_epochs: 4
  batch_size: 40
  seed: 7
gradient: {minibatch_size: 8, merge_batch_size: 4, analyst_workers: 16}
optimizer: {learning_rate: 4, min_learning_rate: 2, lr_scheduler: cosine, use_meta_skill: true}
evaluation: {use_gate: true, gate_metric: hard}
"""
SEARCHQA = """\
_base_: ../_base_/default.yaml
train: {num_epochs: 2, batch_size: 10}
evaluation: {gate_metric: mixed, gate_mixed_weight: 0.25, sel_env_num: 15}
optimizer: {slow_update_samples: 5}
env:
  name: SearchQA
  skill_init: skills/searchqa/initial.md
  out_root: outputs/searchqa
  split_mode: split_dir
  split_dir: data/searchqa
  max_turns: 3
  workers: 8
"""


def items(count: int, seed: int) -> list[dict[str, Any]]:
    return [
        {"id": task.id, "question": task.input, "context": "[DOC] Nothing of use.", "answers": [task.gold]}
        for task in make_tasks("sorting", count, seed)
    ]


def write(path: str, data: Any) -> Path:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(data if isinstance(data, str) else json.dumps(data))
    return place


@pytest.fixture
def project(here: Path) -> str:
    """A repository as SkillOpt is run from: settings, split folders, an initial skill."""
    write("configs/_base_/default.yaml", BASE)
    write("configs/searchqa/default.yaml", SEARCHQA)
    write("skills/searchqa/initial.md", SKILL)
    tasks = items(60, 1)
    for split, part in (("train", tasks[:20]), ("valid_seen", tasks[20:40]), ("valid_unseen", tasks[40:])):
        write(f"data/searchqa/{split}/items.json", part)
    return "configs/searchqa/default.yaml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(capsys: Captured, config: str, *words: str) -> str:
    """What the script says."""
    assert import_skillopt.main([config, "--folder", "new", *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: Captured, config: str) -> str:
    assert import_skillopt.main([config, "--folder", "new"]) == 2
    assert not Path("new").exists()
    return capsys.readouterr().err


def env() -> dict[str, Any]:
    return yaml.safe_load(Path("new/etude.yaml").read_text())["env"]


def tasks() -> list[dict[str, Any]]:
    files = sorted(Path("new/data").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def refusal(converted: Conversion) -> ConfigError | None:
    try:
        policy_of(make_config(converted.settings))
    except ConfigError as error:
        return error
    return None


def test_a_searchqa_project_converts_and_trains_to_a_better_skill(project: str, capsys: Captured) -> None:
    assert "20 train, 15 val, 20 test" in imported(capsys, project)
    assert main(["doctor", "new/etude.yaml", *SIMULATED]) == 0
    capsys.readouterr()
    assert main(["train", "new/etude.yaml", *SIMULATED, "--train.epochs", "1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["accepted"] > 0
    assert summary["test_gain"]["low"] > 0
    assert "Read the context first." in Path(summary["folder"], summary["best"]["skill"]).read_text()


def test_settings_and_skill_are_carried_over_but_no_key_and_what_is_left_out_is_named(
    project: str, capsys: Captured
) -> None:
    said = imported(capsys, project)
    settings = yaml.safe_load(Path("new/etude.yaml").read_text())
    assert settings == {
        "preset": "paper",
        "env": {
            "name": "dataset",
            "train": "data/train.jsonl",
            "val": "data/val.jsonl",
            "test": "data/test.jsonl",
            "fields": {"id": "id", "gold": "answers"},
            "scorer": "f1",
            "template": "{context}\n\n{question}",
            "limit": {"val": 15},
        },
        "skill": {"path": "skill"},
        "target": {
            "model": "openai:gpt-5.5",
            "base_url": "https://example-resource.openai.azure.com/openai/v1",
            "api_key_env": "AZURE_OPENAI_API_KEY",
            "reasoning_effort": "low",
            "max_output_tokens": 16384,
        },
        "optimizer": {
            "model": "openai:gpt-5.5",
            "base_url": "https://example-resource.openai.azure.com/openai/v1",
            "api_key_env": "AZURE_OPENAI_API_KEY",
            "reasoning_effort": "low",
            "max_concurrency": 16,
        },
        "train": {"epochs": 2, "seed": 7},
        "gate": {"metric": "mixed", "mixed_weight": 0.25},
        "limits": {"concurrency": 8},
        "run": {"folder": "runs", "name": "first"},
        "search": {
            "batch_size": 10,
            "minibatch_size": 8,
            "appendix_limit": 0,
            "merge_batch_size": 4,
            "edit_budget": 4,
            "min_edit_budget": 2,
            "schedule": "cosine",
            "slow_update_samples": 5,
            "slow_update_gate": False,
            "meta_skill": True,
            "gate": True,
        },
    }
    assert load_config("new/etude.yaml").train.fresh_attempts
    left = [f"model.{name}" for name in ("azure_openai_api_version", "azure_openai_api_key", "qwen_chat_base_url")]
    named = ", ".join([*left, "env.out_root", "env.max_turns"])
    assert f"\nnot carried over: {named}\n" in said
    assert Path("new/etude.yaml").read_text().endswith(f"# Not carried over: {named}\n")
    assert not any(b"secret-of-azure" in path.read_bytes() for path in Path("new").rglob("*") if path.is_file())
    head, _, body = Path("new/skill/SKILL.md").read_text().partition("---\n\n")
    assert yaml.safe_load(head.strip("-\n")) == {"name": "skill", "description": "How to do SearchQA tasks."}
    assert body == SKILL


def test_a_run_without_a_skill_starts_without_one(project: str, capsys: Captured) -> None:
    write(project, SEARCHQA.replace("  skill_init: skills/searchqa/initial.md\n", ""))
    imported(capsys, project)
    assert not Path("new/skill").exists()
    assert "skill" not in yaml.safe_load(Path("new/etude.yaml").read_text())


def test_the_older_form_without_sections_is_refused(here: Path) -> None:
    flat = write("flat.yaml", "num_epochs: 3\nbatch_size: 20\noptimizer_model: o\n")
    with pytest.raises(ConfigError, match="have no sections"):
        convert(read_settings(flat))


def test_a_file_can_inherit_from_several_and_deeper_ones(here: Path) -> None:
    write("a.yaml", "train: {num_epochs: 1, seed: 1}\n")
    write("b.yaml", "_base_: a.yaml\ntrain: {batch_size: 2}\n")
    write("c.yaml", "train: {seed: 3}\n")
    top = write("d.yaml", "_base_: [b.yaml, c.yaml]\ntrain: {num_epochs: 9}\n")
    assert read_settings(top) == {"train": {"num_epochs": 9, "batch_size": 2, "seed": 3}}


@rows(
    ("model", "target"),
    [
        ({}, {"model": "openai:gpt-5.5", "reasoning_effort": "medium"}),
        ({"target_backend": "claude_chat", "target": "claude-opus-5"}, {"model": "anthropic:claude-opus-5"}),
        (
            {"backend": "qwen_chat", "target": "qwen", "qwen_chat_temperature": 0, "target_qwen_chat_max_tokens": 99},
            {"model": "openai:qwen", "temperature": 0, "max_output_tokens": 99},
        ),
        (
            {"target_backend": "minimax_chat", "minimax_model": "m", "minimax_enable_thinking": False},
            {"model": "openai:m", "thinking": False},
        ),
        (
            {"azure_openai_endpoint": "https://a", "azure_openai_api_key": "k"},
            {
                "model": "openai:gpt-5.5",
                "base_url": "https://a/openai/v1",
                "api_key_env": "AZURE_OPENAI_API_KEY",
                "reasoning_effort": "medium",
            },
        ),
        ({"target_backend": "codex_exec", "target": "g"}, {"model": "openai:g"}),
        ({"target_backend": "claude_code_exec", "target": "claude-s"}, {"model": "anthropic:claude-s"}),
    ],
)
def test_backends_become_providers(model: dict[str, Any], target: dict[str, Any]) -> None:
    settings = convert({"model": model}).settings
    assert settings["target"] == {"max_output_tokens": 16384} | target
    make_config(settings)


@rows(
    ("given", "section", "expected"),
    [
        ({"optimizer": {"lr_control_mode": "autonomous"}}, "search", {"schedule": "autonomous"}),
        ({"optimizer": {"lr_scheduler": "autonomous"}}, "search", {"schedule": "constant", "edit_budget": 999}),
        ({"optimizer": {"skill_update_mode": "full_rewrite_minibatch"}}, "search", {"update_mode": "full_rewrite"}),
        ({"optimizer": {"use_skill_aware_reflection": True}}, "search", {"skill_aware": True, "appendix_limit": 0}),
        (
            {"optimizer": {"longitudinal_pair_policy": "changed"}},
            "search",
            {"slow_update_pairs": "changed", "slow_update_gate": False},
        ),
        (
            {"env": {"limit": 9}, "evaluation": {"test_env_num": 5}},
            "env",
            {"limit": {"train": 9, "val": 9, "test": 5}},
        ),
    ],
)
def test_schedules_modes_and_limits_are_said_in_our_words(
    given: dict[str, Any], section: str, expected: dict[str, Any]
) -> None:
    settings = convert(given).settings
    assert expected.items() <= settings[section].items()
    make_config({key: value for key, value in settings.items() if key != "env"})


@rows("key", sorted(SAME))
def test_no_value_ends_in_a_traceback_and_errors_name_the_setting_of_the_file(key: str) -> None:
    section, _, leaf = key.partition(".")
    for value in ("word", "0", -1, 1.5, True, ["a"], {"a": 1}, float("nan")):
        converted = convert({section: {leaf: value}})
        assert converted.not_carried == []
        problem = refusal(converted)
        assert problem is None or key in converted.name_origins(problem, "c.yaml").hint


def test_one_file_and_a_ratio_convert_as_well(here: Path, capsys: Captured) -> None:
    write("all.json", {"items": items(40, 2)})
    write("c.yaml", "env: {name: mine, data_path: all.json, split_ratio: 2:1:1, split_seed: 5}\n")
    said = imported(capsys, "c.yaml")
    assert "20 train, 10 val, 10 test\nscorer  exact\n" in said
    assert "a ratio divides every kind of task here" in said
    assert (env()["path"], env()["ratio"], env()["split_seed"]) == ("data/tasks.jsonl", [2, 1, 1], 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env: {name: ALFWorld, split_dir: d}\n", "c.yaml: env.name = 'ALFWorld' is a text game of many turns"),
        ("env: {name: officeqa}\n", "env.name = 'officeqa' answers with tools over documents"),
        ("env: {name: spreadsheetbench}\n", "docs/scorers.md#spreadsheetbench"),
        ("env: {name: swebench}\n", "docs/scorers.md"),
        ("env: {name: searchqa}\n", "c.yaml: neither env.split_dir nor env.data_path is set"),
        ("env: {split_dir: nowhere}\n", "c.yaml: 'nowhere' does not exist"),
        ("env: {split_dir: nowhere}\n", "SkillOpt comes with lists of ids"),
        ("env: {split_dir: ids}\n", "the rows have ids, and neither questions nor answers"),
        ("env: {split_dir: empty}\n", "'empty' has no folder for the train split"),
        ("env: {split_dir: torn}\n", "'torn/train' has no items.json; data files: 'a.csv', 'b.csv'"),
        ("env: {split_dir: good, skill_init: gone.md}\n", "c.yaml: 'gone.md' does not exist"),
        ("env: {data_path: one.json, split_ratio: most}\n", "hint: change env.split_ratio in c.yaml\n"),
        ("env: {split_dir: good}\ntrain: {num_epochs: many}\n", "hint: change train.num_epochs in c.yaml\n"),
        ("_base_: c.yaml\n", "c.yaml inherits from itself by '_base_'"),
        ("a: [\n", "SkillOpt settings 'c.yaml' cannot be read"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_nothing_is_written(
    here: Path, capsys: Captured, text: str, message: str
) -> None:
    Path("empty").mkdir()
    write("torn/train/a.csv", "a\n")
    write("torn/train/b.csv", "a\n")
    write("one.json", items(9, 1))
    for at, split in enumerate(("train", "val", "test")):
        write(f"good/{split}/items.json", items(9, 1)[3 * at : 3 * at + 3])
        write(f"ids/{split}/items.json", [{"id": f"q{at}", "month": "202511", "no": at, "image_path": "data/q.png"}])
    write("c.yaml", text)
    assert message in refused(capsys, "c.yaml")


def test_init_names_the_script_for_such_settings(project: str, capsys: Captured) -> None:
    assert main(["init", project]) == 2
    assert "integrations/skillopt/import_skillopt.py CONFIG" in capsys.readouterr().err


# --- the layouts of that project ---------------------------------------


def config(name: str, folder: str = '""', path: str = '""') -> str:
    """The settings of a benchmark as that project keeps them."""
    mode = "ratio" if folder == '""' else "split_dir"
    more = f'split_ratio: "2:1:1", split_dir: {folder}, data_path: {path}'
    return str(write(f"configs/{name}/default.yaml", f"env: {{name: {name}, split_mode: {mode}, {more}}}\n"))


def test_pictures_count_from_the_repository_and_gold_lists_are_read(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start, split in enumerate(("train", "val", "test")):
        table = Path(f"data/docvqa/splits/{split}/{split}.csv")
        table.parent.mkdir(parents=True)
        with table.open("w", newline="") as file:
            sheet = csv.writer(file)
            sheet.writerow(["questionId", "docId", "question", "answer", "image_path", "topic"])
            for number in range(10 * start, 10 * start + 4):
                image = f"data/docvqa_images/q{number}_d1.png"
                write(image, "").write_bytes(PNG + bytes([number]))
                gold = f"['{number} May 1977', 'May {number}, 1977']"
                sheet.writerow([number, 1, f"When was letter {number} sent?", gold, image, "dates"])
    settings = Path(config("docvqa", "data/docvqa/splits")).absolute()
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert "scorer  anls\n" in imported(capsys, str(settings))
    fields = env()["fields"]
    task = json.loads(Path("new/data/train.jsonl").read_text().splitlines()[1])
    assert task[fields["gold"]] == ["1 May 1977", "May 1, 1977"]
    assert Path("new/data", task[fields["images"]]).read_bytes() == PNG + bytes([1])
    assert main(["doctor", "new/etude.yaml", *SIMULATED]) == 0


def test_a_picture_outside_of_the_repository_is_not_copied(here: Path, capsys: Captured) -> None:
    secret = write("secret.png", "")
    secret.write_bytes(PNG)
    for place in (str(secret.absolute()), "../../../../secret.png"):
        for at, split in enumerate(("train", "val", "test")):
            items = [{"question": f"q{at}{n}", "answer": f"['p{at}{n}']", "image_path": place} for n in range(4)]
            write(f"repo/data/docvqa/{split}/items.json", items)
        settings = write("repo/c.yaml", "env: {name: docvqa, split_dir: data/docvqa}\n")
        assert "secret.png" in refused(capsys, str(settings))


SLOW = "# Rules\n\n- Read.\n\n<!-- SLOW_UPDATE_START -->\n{}<!-- SLOW_UPDATE_END -->\n"


def test_protected_parts_of_a_trained_skill_become_regions(here: Path, capsys: Captured) -> None:
    for at, split in enumerate(("train", "val", "test")):
        items = [{"id": f"{at}{n}", "question": f"Who is {at}{n}?", "answers": [f"p{at}{n}", "q"]} for n in range(4)]
        write(f"data/qa/{split}/items.json", items)
    settings = config("searchqa", "data/qa")
    write(settings, Path(settings).read_text().replace("env: {", "env: {skill_init: best.md, "))
    notes = "<!-- SKILL_APPENDIX_START -->\n- Remember to read.\n<!-- SKILL_APPENDIX_END -->\n"
    write("best.md", SLOW.format("Names come last.\n") + "\n- Then answer.\n\n" + notes)
    imported(capsys, settings)
    skill = Document.parse(Path("new/skill/SKILL.md").read_text())
    assert (skill.region("slow_update"), skill.region("appendix")) == ("Names come last.", "- Remember to read.")
    assert "- Read." in skill.body
    assert "- Then answer." in skill.body
    assert "_START" not in skill.text
    assert yaml.safe_load(Path("new/etude.yaml").read_text())["skill"] == {"path": "skill"}
