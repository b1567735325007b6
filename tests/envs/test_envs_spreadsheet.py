"""Tasks with workbooks: changed by a model's code in the sandbox, or by an agent with a workspace."""

import asyncio
import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from envs_workbooks import ADD, DataSet, block, book, file, sums

from etude.errors import ConfigError, DataError
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel
from etude.records import File, Reply, Score, Skill, Task, Trajectory
from etude.testing.agent import AgentContract
from etude.testing.doubles import Script, ScriptedModel
from etude.testing.environment import EnvironmentContract
from etude_annexes.spreadsheet.environment import SpreadsheetEnvironment
from rows import few

SKILL = Skill(text="Rule 12: look at the last row.")


def environment(data: DataSet, **options: Any) -> SpreadsheetEnvironment:
    return SpreadsheetEnvironment({**data.options, **options})


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    return sums(tmp_path / "data")


class TestSpreadsheet(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _data(self, data: DataSet) -> None:
        self.data = data

    def make_environment(self) -> SpreadsheetEnvironment:
        return environment(self.data)

    def trajectories(self, task: Task) -> list[Trajectory]:
        number = int(task.id.split("-")[0]) - 1
        right = {"Data": [[number, 11 * number + 1]]}
        return [Trajectory(files={"output.xlsx": file(right)}), Trajectory()]


@pytest.mark.slow
class TestCodeAgent(AgentContract):
    @pytest.fixture(autouse=True)
    def _data(self, data: DataSet) -> None:
        self.env = environment(data)

    def make_agent(self, target: ChatModel) -> Agent:
        agent = self.env.agent(target, Prompts())
        assert agent is not None
        return agent

    def reply(self, answer: str) -> str:
        return block(f"open('output.xlsx', 'w').close()\nprint({answer!r})")


def test_another_gold_workbook_makes_another_task_and_is_not_in_it(data: DataSet) -> None:
    before = {task.id: task for split in ("train", "val") for task in environment(data).tasks(split)}
    gold = data.folder / "spreadsheet/1-1/1_1-1_golden.xlsx"
    gold.write_bytes(book({"Data": [[0, 5]]}))
    after = {task.id: task for split in ("train", "val") for task in environment(data).tasks(split)}
    assert before["2-1"] == after["2-1"]
    assert before["1-1"].gold != after["1-1"].gold
    assert len(before["1-1"].model_dump_json()) < 12_000


async def attempt(
    env: SpreadsheetEnvironment, script: Script, task: Task | None = None
) -> tuple[Trajectory, Score, ScriptedModel]:
    task = task if task is not None else env.tasks("train")[0]
    model = ScriptedModel(script)
    agent = env.agent(model, Prompts())
    assert agent is not None
    trajectory = await agent.attempt(task, SKILL, 0)
    return trajectory, await env.score(task, trajectory), model


async def test_nothing_of_the_gold_workbook_is_reported_while_the_agent_works(data: DataSet) -> None:
    wrong = ADD.replace("+", "-")
    trajectory, score, model = await attempt(environment(data), [block(wrong)])
    assert score.hard == 0
    assert score.feedback.startswith("1 cell of the answer is wrong: Data!B1: expected ")
    assert "expected" not in model.requests[-1].model_dump_json() + trajectory.model_dump_json()


async def test_code_that_the_model_only_thought_of_is_not_run(data: DataSet) -> None:
    thought = f"<think>Perhaps\n{block('1 / 0')}\nNo.</think>\n{block(ADD)}"
    _, score, model = await attempt(environment(data), [thought])
    assert (score.hard, len(model.requests)) == (1, 1)


async def test_a_third_reply_is_not_asked_for_where_two_were_cut_off(data: DataSet) -> None:
    cut = Reply(text="```python\nimport openpyxl\n", finish="length")
    trajectory, _, model = await attempt(environment(data, turns=5), lambda request: cut)
    assert len(model.requests) == 2
    assert trajectory.failure.endswith("at the token limit (target.max_output_tokens = 4096), 2 times")
    assert trajectory.ended == "cut off"


async def test_code_that_never_ends_is_stopped_and_told(data: DataSet) -> None:
    _, score, model = await attempt(environment(data, seconds=2), [block("import time\ntime.sleep(600)"), block(ADD)])
    assert score.hard == 1
    assert model.requests[1].messages[-1].text.startswith("The code was stopped after 2 seconds.")


async def test_attempts_are_facts_and_know_what_they_depend_on(data: DataSet) -> None:
    model = ScriptedModel([])
    agents = [
        environment(data, **options).agent(model, Prompts())
        for options in ({}, {}, {"turns": 5}, {"mode": "single"}, {"seconds": 9}, {"memory_mb": 100})
    ]
    prints = [agent.fingerprint() for agent in agents if agent is not None]
    assert not any(agent.journals_calls for agent in agents if agent is not None)
    assert prints[0] == prints[1]
    assert len(set(prints)) == 5
    said = environment(data).agent(model, Prompts({"spreadsheet_multi": "Another text."}))
    assert said is not None
    assert said.fingerprint() not in prints


def test_with_tools_the_agent_of_the_settings_works_on_the_file(data: DataSet) -> None:
    assert environment(data, mode="tools").agent(ScriptedModel([]), Prompts()) is None


def test_what_is_doubtful_about_the_data_is_reported_with_ids(tmp_path: Path) -> None:
    data = sums(tmp_path)
    data.add({"S": [[7]]}, {"S": [[7]]}, "A1", id="done")
    data.add({"S": [[7]]}, {"S": [["=3+4"]]}, "A1", id="formula")
    assert environment(data).warnings == (
        "the input has the right answer already, so that doing nothing is right: 'done'",
        "cells of the gold workbook are formulas without a stored value, and count as empty: 'formula'",
    )


def broken(data: DataSet, what: str) -> None:
    place = data.folder / "spreadsheet" / "1-1"
    row = data.rows[0]
    if what == "no input":
        (place / "1_1-1_init.xlsx").unlink()
    elif what == "no gold":
        (place / "1_1-1_golden.xlsx").unlink()
    elif what == "no workbook":
        (place / "1_1-1_golden.xlsx").write_text("text")
    elif what == "no sheet":
        row["answer_position"] = "'Elsewhere'!A1"
    elif what == "no position":
        row["answer_position"] = ""
    elif what == "no cells":
        row["answer_position"] = "the first row"
    else:
        del row["instruction"]
    data.write()


@pytest.mark.parametrize(
    ("what", "message", "hint"),
    [
        ("no input", "task '1-1': there is no '*init.xlsx' in '", "unpack all of the data set"),
        ("no gold", "task '1-1': there is no '*golden.xlsx' in '", "unpack all of the data set"),
        ("no workbook", "cannot be read: ValueError: it is no .xlsx file", "get the file again"),
        (
            "no sheet",
            "task '1-1': answer_position names the sheet 'Elsewhere', which the gold workbook does not have",
            "its sheets: 'Data'",
        ),
        ("no position", "dataset.json: item 1: no value in column 'answer_position'", "name the cells"),
        ("no cells", "task '1-1': answer_position: 'the first row' names no cells", "as in 'Sheet1'!A1:B2"),
        ("no instruction", "dataset.json: item 1: no value in column 'instruction' for input", "fields.input"),
    ],
)
def test_data_that_cannot_be_used_is_named(data: DataSet, what: str, message: str, hint: str) -> None:
    broken(data, what)
    with pytest.raises(DataError) as error:
        environment(data)
    assert message in error.value.message
    assert hint in error.value.hint


@pytest.mark.parametrize("place", ["../elsewhere", "{}/elsewhere", "spreadsheet/link"])
def test_a_workbook_outside_of_the_data_set_never_reaches_an_agent(data: DataSet, place: str) -> None:
    folder = data.folder / "spreadsheet" / "1-1"
    outside = data.folder.parent / "elsewhere"
    folder.rename(outside)
    (data.folder / "spreadsheet" / "link").symlink_to(outside)
    data.rows[0]["spreadsheet_path"] = place.format(data.folder.parent)
    data.write()
    with pytest.raises(DataError, match=r"task '1-1': files: .* is outside of the folder of the data, "):
        environment(data)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"path": None}, "env: 'path' is missing", "give 'path', or 'train', 'val' and 'test'"),
        ({"mode": "react"}, "env: mode = 'react': must be 'single', 'multi' or 'tools'", "change 'mode'"),
        ({"turns": 0}, "env: turns = 0: must be at least 1", "change 'turns'"),
        ({"scorer": "exact"}, "env: unknown key 'scorer'", "allowed: "),
        ({"python": "no-python"}, "env: python = 'no-python' is not a program", "give the path of an interpreter"),
        ({"python": "false"}, "env: python = 'false' cannot be used for workbooks: exit code 1", "install openpyxl"),
    ],
)
def test_settings_that_cannot_be_used_are_named(data: DataSet, options: dict, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        environment(data, **options)
    assert error.value.message == message
    assert hint in error.value.hint


HOSTILE = {
    "gold": "import glob; print([p for p in {folder!r} if __import__('os').path.exists(p)])",
    "secret": "import os; print([k for k in os.environ if 'SECRET' in k])",
    "network": "import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 3)\nexcept OSError: print([])",
    "link": "import os; os.symlink({gold!r}, 'output.xlsx'); print([])",
}


@pytest.mark.parametrize("name", few(sorted(HOSTILE), "gold", "link"))
async def test_hostile_code_gets_nowhere(data: DataSet, monkeypatch, name: str) -> None:
    monkeypatch.setenv("MY_SECRET", "xyz")
    env = environment(data, mode="single")
    gold = data.folder / "spreadsheet/1-1/1_1-1_golden.xlsx"
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        folder = [str(data.folder), str(gold), os.path.expanduser("~/.ssh"), str(Path(__file__).parent)]
        code = HOSTILE[name].format(folder=folder, gold=str(gold), port=port)
        trajectory, score, _ = await attempt(env, [block(code)])
    assert trajectory.answer == "[]"
    assert trajectory.failure.startswith("there is no output.xlsx")
    assert score.hard == 0


@pytest.mark.slow
async def test_a_fork_bomb_and_a_full_disk_end_with_the_attempt(data: DataSet) -> None:
    bombs = [
        "import os\nwhile True: os.fork()",
        "n = 0\nwhile True:\n    n += 1\n    open(f'{n}.bin', 'wb').write(b'x' * 30_000_000)",
        "open('output.xlsx', 'wb').write(b'x' * 500_000_000)",
    ]
    for bomb in bombs:
        trajectory, score, _ = await attempt(environment(data, mode="single", seconds=20), [block(bomb)])
        assert score.hard == 0
        assert trajectory.failure or "cannot be read" in score.feedback


def spanned() -> bytes:
    """A workbook with a cell that spans the whole sheet: its reader makes each cell below it."""
    saved = io.BytesIO()
    whole = zipfile.ZipFile(io.BytesIO(book({"Data": [[1]]})))
    with zipfile.ZipFile(saved, "w") as made:
        for name in whole.namelist():
            merged = b"</sheetData><mergeCells><mergeCell ref='A1:XFD1048576'/></mergeCells>"
            made.writestr(name, whole.read(name).replace(b"</sheetData>", merged))
    return saved.getvalue()


def heavy() -> bytes:
    return book({"Data": [["\xe9" * 32_000] * 26] * 40})


@pytest.mark.parametrize("made", few([spanned, heavy], spanned))
@pytest.mark.slow
async def test_a_workbook_that_is_never_read_to_its_end_is_a_failed_attempt_with_the_reason(
    tmp_path: Path, made
) -> None:
    data = DataSet(tmp_path)
    for number in range(3):
        data.add({"Data": [[number]]}, {"Data": [[number + 1]]}, "Data!A1:Z9000")
    env = environment(data, mode="single", seconds=8, memory_mb=200)
    score = await env.score(env.tasks("train")[0], Trajectory(files={"output.xlsx": File(data=made())}))
    assert score.hard == 0
    assert re.search("ended for its (time|memory) limit|hold too much text", score.feedback), score.feedback


def test_code_cannot_have_its_next_piece_written_to_another_place(data: DataSet, tmp_path: Path) -> None:
    """It would be written by us, outside of the sandbox: a link is all it takes."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    plant = f"""\
import os
from pathlib import Path
folders = [os.environ["TMPDIR"], os.path.dirname(__file__), "."]
for folder in folders:
    for number in (1, 2):
        try:
            (Path(folder) / f"code_{{number}}.py").unlink(missing_ok=True)
            (Path(folder) / f"code_{{number}}.py").symlink_to({str(mine)!r})
        except OSError as error:
            print(type(error).__name__)
raise SystemExit(1)
"""
    env = environment(data, mode="multi", turns=2)
    agent = env.agent(ScriptedModel([block(plant), block("print('second')")]), Prompts())
    assert agent is not None
    trajectory = asyncio.run(agent.attempt(env.tasks("train")[0], SKILL, 0))
    assert mine.read_text() == "mine"
    assert trajectory.answer == "second"
