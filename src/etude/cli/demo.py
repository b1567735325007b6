"""`etude demo`."""

import argparse
import json
from pathlib import Path

from etude.cli.lookup import find_run, skill_of
from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.scaffold.project_files import writing
from etude.cli.settings import read_settings
from etude.cli.terminal import output
from etude.cli.train import train
from etude.errors import ConfigError
from etude.records import Skill, Task
from etude.simulation import SEED_SKILL, make_tasks
from etude.skill import save_skill
from etude.skill.diff import unified_diff

SEED = 11
SIZES = {"train": 60, "val": 60, "test": 120}
SKILL = "everyday-tasks"

CONFIG = f"""\
# The demo: a skill for small everyday tasks, trained with simulated models.
# `etude help settings` says what each setting means; `etude help settings env` those of one section.

env:
  name: dataset
  train: data/train.jsonl   # failures on these are what the skill learns from
  val: data/val.jsonl       # the best skill is scored on these
  test: data/test.jsonl     # scored once, at the end
  scorer: exact

skill:
  path: skills/{SKILL}

# A real model is named as in `openai:gpt-5.5`; every OpenAI-compatible server works through `base_url`.
target:
  model: simulated:target
optimizer:
  model: simulated:optimizer

train:
  epochs: 4

run:
  folder: runs
  name: demo
"""


def run(args: argparse.Namespace) -> int:
    """Make the project unless it is there, train, and say what to try next."""
    folder = Path(args.folder)
    config_path = folder / DEFAULT_CONFIG
    if config_path.exists():
        output.note(f"using the project in {folder}; to start over, remove that folder or give another --folder")
    else:
        make_project(folder)
        output.note(f"made a project in {folder}")
    config = read_settings(args, config_path)
    code = train(config, args)
    if code == 0 and not args.json:
        run_folder = Path(config.run.folder) / config.run.name
        _print_changes(run_folder)
        _say_next(config_path, run_folder)
    return code


def make_project(folder: Path) -> None:
    """Write generated tasks, a weak skill and the settings into a fresh folder.
    Raises ConfigError: the folder has something else in it, or cannot be written."""
    with writing(folder):
        if any(folder.iterdir()):
            raise ConfigError(f"{str(folder)!r} is not empty and is not a demo project", hint="give another --folder")
        (folder / "data").mkdir()
        tasks = make_tasks(None, sum(SIZES.values()), SEED)
        for split, size in SIZES.items():
            some, tasks = tasks[:size], tasks[size:]
            (folder / "data" / f"{split}.jsonl").write_text("".join(map(_line, some)), encoding="utf-8")
        save_skill(Skill(name=SKILL, text=SEED_SKILL), folder / "skills")
        # Last: a project is whole once it has its settings.
        (folder / DEFAULT_CONFIG).write_text(CONFIG, encoding="utf-8")


def _line(task: Task) -> str:
    row = task.model_dump(mode="json", include={"id", "input", "gold", "type"})
    return json.dumps(row, ensure_ascii=False) + "\n"


def _print_changes(run_folder: Path) -> None:
    view = find_run(str(run_folder))
    initial, best = skill_of(view, "initial"), skill_of(view, "best")
    output.line()
    output.line("what changed in the skill:")
    output.diff(unified_diff(initial.skill.text, best.skill.text, initial.label, best.label) or "nothing")


def _say_next(config: Path, run_folder: Path) -> None:
    output.line()
    output.line("try next:")
    for command, what in (
        (f"{output.program()} show {run_folder}", "what each step did"),
        (f"{output.program()} show {run_folder} --step 1", "its edits, with reasons and evidence"),
        (
            f"{output.program()} train {config} --name again --search.policy paper",
            "train again with the published method",
        ),
        (f"{output.program()} init DATA", "a project of your own"),
    ):
        output.line(f"  {command}")
        output.line(f"      {what}")
