"""SpreadsheetBench: real workbooks, changed by code in the sandbox or by an agent with a workspace."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from etude.config import parse
from etude.envs.sources import ReadEnvironment, Sources
from etude.envs.splits import check_splits
from etude.protocols import Agent, ChatModel, Texts
from etude.records import SPLITS, Score, Task, Trajectory, canonical
from etude.sandbox import Limits, find_sandbox
from etude_annexes.spreadsheet.agent import CodeAgent
from etude_annexes.spreadsheet.answer import Contents, compare
from etude_annexes.spreadsheet.data import INPUT, OUTPUT, GoldCells, read_instructions, with_workbooks
from etude_annexes.spreadsheet.python import Python

RULES = 1
"""Changes with the rules by which cells are compared."""


class SpreadsheetConfig(Sources):
    """Settings of the `spreadsheet` environment."""

    path: str | None = None
    """The data set that is split by `ratio`: its JSON file, or the folder of a `dataset.json`."""
    mode: Literal["single", "multi", "tools"] = "multi"
    """`single`: the model answers once, with code. `multi`: it sees what its code printed and continues until the
    workbook is there. `tools`: the agent of the settings works on the file by itself; it needs a workspace."""
    turns: int = Field(default=30, ge=1)
    """With `multi`: most replies in an attempt."""
    seconds: float = Field(default=120, gt=0)
    """Longest a piece of code may run, and reading the workbook that it leaves may take."""
    memory_mb: int = Field(default=1024, ge=64)
    """Most memory a piece of code may use; four times as much for reading its workbook."""
    python: str | None = None
    """Interpreter for the code, with openpyxl; the one that runs etude when not given. What it has installed is
    what code can import."""
    unsafe_no_sandbox: bool = False
    """Run code without a sandbox where none can be had. It then reads and writes whatever you can."""


class SpreadsheetEnvironment(ReadEnvironment):
    """Tasks of the published data set. All workbooks are read once, at construction.
    Raises ConfigError: a setting is wrong, there is no sandbox, or openpyxl is not installed; DataError: a file is
    missing or broken, or the splits overlap."""

    name = "spreadsheet"
    options_type = SpreadsheetConfig

    def __init__(self, options: Mapping[str, Any], *, where: str = "env") -> None:
        self.config = config = parse(SpreadsheetConfig, dict(options), where=where)
        sandbox = find_sandbox(unsafe=config.unsafe_no_sandbox)
        limits = Limits(
            seconds=config.seconds, memory_mb=config.memory_mb, processes=64, file_mb=64, disk_mb=256, output_kb=256
        )
        self._python = Python(config.python, limits, sandbox, where)
        files = config.files(where)
        self._answers: dict[str, GoldCells] = {}
        splits = config.read(files, read_instructions)
        self._tasks = {split: tuple(map(self._complete, splits[split])) for split in SPLITS}
        self._warnings = (*self._doubts(), *check_splits(self._tasks, names=files))

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """1 when every cell that counts holds what it should, else 0, with the first wrong cells as feedback.

        An agent that changed the input instead of saving another workbook is taken to mean that one.
        Raises BoundaryError: what reads workbooks broke."""
        answer = self._answers[task.id]
        output = next((file for name in (OUTPUT, INPUT) if (file := trajectory.files.get(name)) is not None), None)
        if output is None:
            return Score(hard=0, soft=0, feedback=f"there is no {OUTPUT}")
        found = Contents.model_validate(await self._python.read(output, answer.ranges))
        return compare(answer.ranges, answer.gold, found)

    def fingerprint(self) -> str:
        """Name and rules. The gold workbooks are counted in with the tasks, by their content."""
        return canonical([self.name, RULES])

    def agent(self, target: ChatModel, prompts: Texts) -> Agent | None:
        """The agent that writes code; none where the one of the settings works on the file."""
        if self.config.mode == "tools":
            return None
        turns = self.config.turns if self.config.mode == "multi" else 1
        return CodeAgent(target, prompts[f"spreadsheet_{self.config.mode}"], self._python, turns=turns)

    def _complete(self, task: Task) -> Task:
        complete, self._answers[task.id] = with_workbooks(task)
        return complete

    def _doubts(self) -> list[str]:
        untouched = [task for task, answer in self._answers.items() if answer.untouched]
        unstored = [
            task
            for task, answer in self._answers.items()
            if any(cells is not None and cells.formulas for cells in answer.gold.ranges)
        ]
        doubts = {
            "the input has the right answer already, so that doing nothing is right": untouched,
            "cells of the gold workbook are formulas without a stored value, and count as empty": unstored,
        }
        return [f"{what}: {', '.join(map(repr, tasks))}" for what, tasks in doubts.items() if tasks]
