"""Task folders as the package `harbor` itself understands them, and a training on them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from small_run import agrees

from etude import Skill, Trainer
from etude.cli.main import main
from etude.records import File, Trajectory
from etude.simulation import SEED_SKILL, make_tasks
from etude_annexes.foreign.harbor.environment import HarborEnvironment
from harbor_folders import needs_bubblewrap, write_task

TOOLS = Path(__file__).parents[2] / ".tools" / "harbor" / "bin"
READ = """import json, sys
from pathlib import Path
from harbor.models.task.config import TaskConfig
from harbor.models.task.paths import TaskPaths
for folder in sys.argv[1:]:
    paths = TaskPaths(folder)
    config = TaskConfig.model_validate_toml(paths.config_path.read_text())
    assert paths.discovered_test_path and paths.discovered_solve_path and paths.instruction_path.is_file()
    print(json.dumps([config.verifier.timeout_sec, config.agent.timeout_sec, config.metadata["category"]]))
"""


def folders(top: Path) -> list[Path]:
    return [write_task(top / f"t{n}", f"What is number {n}?", f"it is {n}", kind="sums") for n in range(2)]


@pytest.mark.skipif(not (TOOLS / "python").is_file(), reason="harbor is not in .tools: it needs Python 3.12")
def test_the_folders_that_tests_write_are_what_the_published_schema_says(tmp_path: Path) -> None:
    read = [str(TOOLS / "python"), "-c", READ, *map(str, folders(tmp_path))]
    said = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    assert [json.loads(line) for line in said.splitlines()] == [[60, 60, "sums"]] * 2


@needs_bubblewrap
async def test_its_own_program_gives_the_rewards_that_we_give(tmp_path: Path) -> None:
    program = TOOLS / "harbor"
    if not program.is_file() or subprocess.run([program, "--help"], check=False, capture_output=True).returncode != 0:
        pytest.skip("the program harbor cannot be installed here with all that it depends on")
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], check=False, capture_output=True).returncode != 0:
        pytest.skip("the program harbor runs tasks in Docker, which is not running here")
    folders(tmp_path / "tasks")
    words = ["run", "--path", str(tmp_path / "tasks"), "--agent", "oracle", "--jobs-dir", str(tmp_path / "jobs")]
    subprocess.run([program, *words], check=True, capture_output=True)
    theirs = [float(path.read_text()) for path in sorted(tmp_path.rglob("reward.txt"))]
    env = HarborEnvironment({"path": str(tmp_path / "tasks"), "ratio": [1, 1, 0]})
    ours = [
        (await env.score(task, Trajectory(files={"answer.txt": File(data=f"it is {task.id[1:]}\n".encode())}))).hard
        for task in (*env.tasks("train"), *env.tasks("val"))
    ]
    assert theirs == ours == [1, 1]


@needs_bubblewrap
def test_the_agent_with_tools_learns_from_folders_of_harbor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = make_tasks("dates", 16, seed=4)
    splits = {"train": tasks[:8], "val": tasks[8:12], "test": tasks[12:]}
    for split, some in splits.items():
        for task in some:
            write_task(tmp_path / split / task.id, task.input, str(task.gold))
    config = {
        "env": {"name": "harbor", **{split: str(tmp_path / split) for split in splits}},
        "agent": {"name": "tools"},
        "search": {"policy": "paper", "batch_size": 10},  # four validation tasks show no gain
        "train": {"epochs": 1},
        "limits": {"concurrency": 4},
        "run": {"folder": str(tmp_path / "runs"), "name": "folders"},
    }
    summary = Trainer(config, skill=Skill(name="everyday-tasks", text=SEED_SKILL)).train()
    assert agrees(config, skill=Skill(name="everyday-tasks", text=SEED_SKILL))
    assert summary.voids == 0
    assert summary.accepted > 0
    assert summary.test_gain is not None
    assert summary.test_gain.mean > 0
    # Views of a run do not hold the content of files, and can be read all the same.
    assert main(["show", str(tmp_path / "runs" / "folders"), "--step", "1"]) == 0
    assert "applied" in capsys.readouterr().out
