"""Task folders of harbor in the sandbox: what an attempt finds, how their tests score, what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from etude.envs.gold import check_gold
from etude.errors import BoundaryError, ConfigError, DataError
from etude.records import File, Score, Task, Trajectory, canonical
from etude.sandbox import find_sandbox
from etude.sandbox.sandbox import Unsafe
from etude.testing.environment import EnvironmentContract
from etude_annexes.foreign.harbor.environment import HarborEnvironment
from harbor_folders import SAME_TEXT, TOML, needs_bubblewrap, write_task
from rows import few
from trusting import trust

pytestmark = needs_bubblewrap


def left(text: str, **files: str) -> Trajectory:
    return Trajectory(files={name: File(data=data.encode()) for name, data in {"answer.txt": text, **files}.items()})


class Tasks:
    """A folder with some tasks, all alike but for their answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for number in range(4):
            write_task(folder / f"t{number}", f"What is number {number}?", f"it is {number}")

    def env(self, **options: Any) -> HarborEnvironment:
        return HarborEnvironment({"path": str(self.folder), "ratio": [1, 1, 0], "docker": False, **options})

    def one(self, files: Mapping[str, str], **options: Any) -> tuple[HarborEnvironment, Task]:
        """The environment after the first task was given other files, and that task."""
        write_task(self.folder / "t0", "What is number 0?", "it is 0", **files)
        env = self.env(**options)
        return env, next(task for task in (*env.tasks("train"), *env.tasks("val")) if task.id == "t0")


@pytest.fixture
def tasks(tmp_path: Path) -> Tasks:
    return Tasks(tmp_path / "tasks")


class TestHarbor(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _tasks(self, tasks: Tasks) -> None:
        self.folders = tasks

    def make_environment(self) -> HarborEnvironment:
        return self.folders.env()

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [left(f"it is {task.id[1:]}"), left("no idea"), Trajectory()]


async def test_a_plain_dockerfile_names_where_attempts_work(tasks: Tasks) -> None:
    files = {
        "environment/Dockerfile": 'FROM debian:12-slim\n# a comment\nWORKDIR /srv/app\n\nCMD ["sleep"]\n',
        "task.toml": TOML.format(kind="filing") + '\n[environment.env]\nMODE = "special"\n',
        "tests/test.sh": """#!/bin/bash
echo 1 > /logs/verifier/reward.txt
[ "$PWD $MODE $(cat three)" = "/srv/app special 2" ] || echo 0 > /logs/verifier/reward.txt
""",
        "solution/solve.sh": "",
    }
    (tasks.folder / "t0" / "solution" / "solve.sh").unlink()
    env, task = tasks.one(files)
    assert task.files == {}
    assert task.type == "filing"
    assert task.place is not None
    assert (task.place.path, task.place.env, task.place.image) == ("/srv/app", {"MODE": "special"}, "")
    assert (await env.score(task, Trajectory(files={"three": File(data=b"2")}))).hard == 1
    assert (await env.score(task, Trajectory())).hard == 0


REWARDS = {
    "a number": ("echo 0.5 > /logs/verifier/reward.json", 0.5),
    "text": ("echo ' 0.25 ' > /logs/verifier/reward.txt", 0.25),
    "json before text": ("echo 1 > /logs/verifier/reward.json; echo 0 > /logs/verifier/reward.txt", 1),
    "the only one": ("echo '{\"accuracy\": 0.75}' > /logs/verifier/reward.json", 0.75),
    "the named one": ('echo \'{"other": 1, "reward": 0.5}\' > /logs/verifier/reward.json', 0.5),
    "a failing script": ("echo 1 > /logs/verifier/reward.txt; exit 3", 1),
}


@pytest.mark.parametrize(("script", "score"), REWARDS.values(), ids=REWARDS)
async def test_a_reward_is_read_as_harbor_reads_it(tasks: Tasks, script: str, score: float) -> None:
    env, task = tasks.one({"tests/test.sh": f"#!/bin/bash\n{script}\n"})
    found = await env.score(task, Trajectory())
    assert (found.hard, found.soft) == (score, score)


BROKEN = {
    "nothing": ("echo 'no such module'; exit 1", "no such module"),
    "no number": ("echo yes > /logs/verifier/reward.txt", "'yes'"),
    "not finite": ("echo NaN > /logs/verifier/reward.json", "nan"),
    "too much": ("echo 2 > /logs/verifier/reward.txt", "from 0 to 1"),
    "several": ('echo \'{"a": 1, "b": 0}\' > /logs/verifier/reward.json', r"env\.reward"),
    "too slow": ("sleep 60", "time limit"),
}


@pytest.mark.parametrize(("script", "reason"), few(BROKEN.values(), first=3), ids=BROKEN)
async def test_tests_that_give_no_reward_at_all_make_attempts_void(tasks: Tasks, script: str, reason: str) -> None:
    short = TOML.format(kind="").replace("timeout_sec = 60.0", "timeout_sec = 2.0")
    env, task = tasks.one({"tests/test.sh": f"#!/bin/bash\n{script}\n", "task.toml": short})
    with pytest.raises(BoundaryError, match=reason):
        await env.score(task, left("it is 0"))


async def test_an_attempt_that_breaks_tests_which_work_without_it_scores_zero(tasks: Tasks) -> None:
    env, task = tasks.one(
        {
            "tests/test.sh": f"#!/bin/bash\nset -e\nbash /app/do.sh\n{SAME_TEXT}",
            "solution/solve.sh": "#!/bin/bash\necho 'it is 0' > answer.txt\ntouch do.sh\n",
        }
    )
    assert (await env.score(task, left("it is 0", **{"do.sh": "true"}))).hard == 1
    score = await env.score(task, left("it is 0", **{"do.sh": "exit 7"}))
    assert score == Score(hard=0, soft=0, feedback=score.feedback)
    assert "exit code 7" in score.feedback


NEED_DOCKER = {
    "a command": "FROM debian\nWORKDIR /app\nRUN apt-get install -y gcc\n",
    "variables": "FROM debian\nWORKDIR /app\nENV WHO=me\n",
    "an image of one's own": "FROM ghcr.io/somebody/world:1\nWORKDIR /app\n",
    "two stages": "FROM debian AS one\nFROM debian\nWORKDIR /app\n",
    "no place": "FROM debian\n",
    "a place of the system": "FROM debian\nWORKDIR /usr/src/app\n",
    "two places": "FROM debian\nWORKDIR /app\nWORKDIR /srv\n",
    "a file": "FROM debian\nWORKDIR /app\nCOPY a.txt .\n",
}


@pytest.mark.parametrize("dockerfile", NEED_DOCKER.values(), ids=NEED_DOCKER)
def test_a_dockerfile_that_says_more_than_from_and_workdir_needs_docker(tasks: Tasks, dockerfile: str) -> None:
    with pytest.raises(
        DataError, match=r"1 of 4 tasks cannot be used here:\n  task 't0', environment/Dock"
    ) as refused:
        tasks.one({"environment/Dockerfile": dockerfile, "environment/a.txt": "a"})
    assert refused.value.hint.endswith("Docker could run 1 of them, but env.docker is false")


UNFIT = {
    "an image that is made already": (
        "task.toml",
        f'{TOML.format(kind="")}docker_image = "somebody/world:1"\n',
        "some",
    ),
    "another place than the image": ("task.toml", f'{TOML.format(kind="")}workdir = "/srv"\n', "'/srv'"),
    "settings that cannot be read": ("task.toml", "= 3", "cannot be read"),
    "settings of another time": ("task.toml", 'schema_version = "2.0"', r"'2\.0'"),
    "several steps": ("task.toml", f'{TOML.format(kind="")}\n[[steps]]\nname = "one"\n', "several steps"),
    "an accelerator": ("task.toml", f"{TOML.format(kind='')}gpus = 1\n", "1 GPUs"),
    "a container for tests": (
        "task.toml",
        TOML.format(kind="").replace("[agent]", 'environment_mode="separate"\n[agent]'),
        "of its own for the tests",
    ),
    "a key of the user's": (
        "task.toml",
        f'{TOML.format(kind="")}[verifier.env]\nKEY = "${{OPENAI_API_KEY}}"\n',
        "OPENAI_API_KEY",
    ),
    "a service": ("environment/docker-compose.yaml", "services: {}\n", "starts services"),
    "no image": ("environment/Dockerfile", "", "no environment/Dockerfile"),
    "tests that fetch": ("tests/test.sh", f"#!/bin/bash\n# uvx is fine here\nuvx pytest\n{SAME_TEXT}", "uvx pytest"),
    "no tests": ("tests/test.sh", "", r"no tests/test\.sh"),
    "nothing to do": ("instruction.md", "", r"no instruction\.md"),
    "an empty page": ("instruction.md", "  \n", r"instruction\.md is empty"),
}


@pytest.mark.parametrize(("name", "content", "reason"), few(UNFIT.values(), first=5), ids=UNFIT)
def test_a_task_that_cannot_be_used_is_refused_by_name_or_left_out(
    tasks: Tasks, name: str, content: str, reason: str
) -> None:
    write_task(tasks.folder / "t2", "What is number 2?", "it is 2", **({name: content} if content else {}))
    if not content:
        (tasks.folder / "t2" / name).unlink()
    with pytest.raises(DataError, match=rf"1 of 4 tasks cannot be used here:\n  task 't2'.*{reason}") as refused:
        tasks.env()
    assert "skip_unfit" in refused.value.hint
    env = tasks.env(skip_unfit=True)
    assert {task.id for split in ("train", "val") for task in env.tasks(split)} == {"t0", "t1", "t3"}
    assert any("'t2'" in warning for warning in env.warnings)


def test_where_too_few_tasks_are_left_the_reasons_are_told(tasks: Tasks) -> None:
    for number in range(3):
        (tasks.folder / f"t{number}" / "tests" / "test.sh").unlink()
    with pytest.raises(DataError, match=r"too few tasks are left .* 3 of 4 (?s:.*)'t0': there is no tests/test\.sh"):
        tasks.env(skip_unfit=True)


def test_with_a_network_tests_may_fetch(tasks: Tasks) -> None:
    _, task = tasks.one({"tests/test.sh": f"#!/bin/bash\nuvx pytest\n{SAME_TEXT}"}, network=True)
    assert task.id == "t0"


def test_a_folder_that_lacks_only_its_settings_is_named(tasks: Tasks) -> None:
    (tasks.folder / "t3" / "task.toml").unlink()
    env = tasks.env()
    assert {task.id for split in ("train", "val") for task in env.tasks(split)} == {"t0", "t1", "t2"}
    assert any(f"have no task.toml: '{tasks.folder / 't3'}'" in warning for warning in env.warnings)


def test_a_folder_without_tasks_is_refused(tasks: Tasks) -> None:
    with pytest.raises(DataError, match=r"no folder in .* has a task\.toml"):
        HarborEnvironment({"path": str(tasks.folder / "t0" / "tests")})


async def test_solutions_are_tried_before_anything_is_paid_for(tasks: Tasks) -> None:
    env, _ = tasks.one({})
    await check_gold(env, env.tasks("train"))
    env, task = tasks.one({"solution/solve.sh": "#!/bin/bash\nno-such-program > /app/answer.txt\n"})
    reason = r"1 of 2 tasks are not solved .*\n  task 't0': its own solution .*scores 0: .*no-such-program"
    with pytest.raises(DataError, match=reason):
        await check_gold(env, [task, next(one for one in env.tasks("val") if one != task)])
    env, task = tasks.one({}, check_solutions=False)
    await check_gold(env, [task])


def test_a_sandbox_that_cannot_move_folders_is_refused(tasks: Tasks) -> None:
    with pytest.raises(ConfigError, match="at paths like /app"):
        HarborEnvironment({"path": str(tasks.folder), "docker": False}, sandbox=Unsafe())
    assert find_sandbox().moves


def test_doctor_tells_what_is_left_out_and_that_solutions_were_tried(
    tasks: Tasks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tasks.folder / "t9", "What is number 9?", "it is 9", **{"environment/Dockerfile": "FROM mine\n"})
    settings = tmp_path / "etude.yaml"
    env = {"name": "harbor", "path": str(tasks.folder), "ratio": [1, 1, 0], "skip_unfit": True, "docker": False}
    models = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
    settings.write_text(canonical({"env": env, "agent": {"name": "tools"}, "test": {"enabled": False}, **models}))
    trust(settings)
    assert main(["doctor", str(settings)]) == 0
    said = capsys.readouterr().out
    assert "task 't9'" in said
    assert "solutions" in said
