"""Train on workbooks: the target writes Python, which runs in a sandbox, and the cells of what it saves are compared.

    python examples/spreadsheets.py [FOLDER]

The workbooks are made here, in the layout of the published data set. Needs the extra `spreadsheet`.
"""

import json
import sys
import tempfile
from pathlib import Path

import openpyxl

from etude import Skill, Task, Trainer
from etude.simulation import SEED_SKILL, make_tasks


def workbook(path: Path, answer: str | None) -> None:
    """A sheet with a cell for the answer."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Answers"
    sheet.append(["question", "answer"])
    sheet.append(["see the instruction", answer])
    book.save(path)


def data_set(folder: Path, tasks: list[Task]) -> None:
    """A JSON file of instructions, and for each a folder with its workbook before and after."""
    rows: list[dict[str, str]] = []
    for task in tasks:
        place = folder / "spreadsheet" / task.id
        place.mkdir(parents=True, exist_ok=True)
        workbook(place / f"1_{task.id}_init.xlsx", None)
        workbook(place / f"1_{task.id}_golden.xlsx", str(task.gold))
        rows.append({"id": task.id, "instruction": task.input, "answer_sheet": "Answers", "answer_position": "B2"})
    (folder / "dataset.json").write_text(json.dumps(rows, indent=1))


def main(folder: str) -> None:
    """Make the data, train, and print what came out."""
    data = Path(folder) / "spreadsheets-data"
    data_set(data, make_tasks("counting", 16, seed=7))
    config = {
        "env": {"name": "spreadsheet", "path": str(data), "ratio": [2, 1, 1]},
        # Four validation tasks show no gain: the default would hand out the initial skill.
        "search": {"policy": "paper"},
        "train": {"epochs": 1},
        "limits": {"concurrency": 4},
        "run": {"folder": folder, "name": "spreadsheets"},
    }
    summary = Trainer(config, skill=Skill(name="spreadsheets", text=SEED_SKILL)).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test workbooks: {gain.mean:+.2f}")
    print(f"best skill: {summary.folder}/{summary.best.skill}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
