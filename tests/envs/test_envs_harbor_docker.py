"""Task folders of harbor that need an image, with a program `docker` that keeps a list; `tests/slow` has the real
one."""

from pathlib import Path
from typing import Any

import pytest

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.errors import ConfigError, DataError
from etude.prompts import Prompts
from etude.records import Reply, Skill, Task, ToolCall, Trajectory, canonical
from etude.sandbox import find_sandbox
from etude.sandbox.sandbox import SandboxError
from etude.testing.doubles import ScriptedModel
from etude_annexes.foreign.harbor.environment import HarborEnvironment
from fake_docker import FakeDocker
from harbor_folders import DOCKERFILE, TOML, needs_bubblewrap, write_task

pytestmark = needs_bubblewrap

INSTALLS = f"{DOCKERFILE}RUN apt-get install -y gcc\n"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    return FakeDocker(tmp_path / "docker", monkeypatch)


def env(folder: Path, **options: Any) -> HarborEnvironment:
    return HarborEnvironment({"path": str(folder), "ratio": [1, 1, 0], **options}, sandbox=find_sandbox())


def tasks(folder: Path, **files: str) -> Path:
    """Two tasks, the first of which needs an image."""
    write_task(folder / "t0", "What is number 0?", "it is 0", **{"environment/Dockerfile": INSTALLS, **files})
    write_task(folder / "t1", "What is number 1?", "it is 1")
    return folder


def bash(command: str) -> Reply:
    return Reply(text="", tool_calls=(ToolCall(id="c1", name="bash", arguments=canonical({"command": command})),))


def first(found: HarborEnvironment) -> Task:
    return next(task for task in (*found.tasks("train"), *found.tasks("val")) if task.id == "t0")


def test_an_image_is_made_once_and_called_after_what_it_is_made_of(docker, tmp_path) -> None:
    one = first(env(tasks(tmp_path / "tasks")))
    assert first(env(tasks(tmp_path / "elsewhere"))) == one
    assert len(docker.asked("build")) == 1
    other = first(env(tasks(tmp_path / "tasks", **{"environment/more.txt": "more"})))
    assert (other.place and other.place.image) != (one.place and one.place.image)
    assert len(docker.asked("build")) == 2


def test_a_published_image_is_fetched_and_tried(docker, tmp_path) -> None:
    toml = f'{TOML.format(kind="")}docker_image = "somebody/world:1"\nworkdir = "/work"\n'
    found = first(env(tasks(tmp_path / "tasks", **{"task.toml": toml})))
    assert found.place is not None
    assert found.place.path == "/work"
    assert docker.asked("pull") == ["pull somebody/world:1"]
    assert docker.asked("build") == []
    assert docker.asked("tag") == [f"tag somebody/world:1 {found.place.image}"]


REFUSED = {
    "it cannot be built": ({"broken": ""}, "RUN make world\nno rule to make world"),
    "it has no working directory": ({"workdir": "/"}, "working directory of its image is '/'"),
    "it does not write here": ({"state": "exited 1 false"}, "its image cannot be used"),
}


@pytest.mark.parametrize(("says", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_image_that_cannot_be_used_is_refused_by_name(docker, tmp_path, says, reason) -> None:
    docker.say(**says)
    with pytest.raises(DataError, match=f"1 of 2 tasks cannot be used here:\n  task 't0'(?s:.*){reason}"):
        env(tasks(tmp_path / "tasks"))
    assert docker.asked("tag") == [] or "workdir" in says


async def test_commands_of_the_agent_run_in_the_image_and_its_path_stays(docker, tmp_path) -> None:
    task = first(
        env(tasks(tmp_path / "tasks", **{"task.toml": TOML.format(kind="") + '[environment.env]\nWHO="me"\n'}))
    )
    model = ScriptedModel([bash("cat given.txt; echo $WHO > who.txt; echo ${PATH+path}"), "done"])
    agent = ToolsAgent(model, Prompts(), ToolsOptions(), find_sandbox())
    agent.check_task(task)
    trajectory = await agent.attempt(task, Skill(text=""), 0)
    assert {path: file and file.data for path, file in trajectory.files.items()} == {"who.txt": b"me\n"}
    assert task.place is not None
    assert f" --entrypoint bash {task.place.image} -c " in docker.asked("run")[-1]
    assert "--env PATH" not in docker.asked("run")[-1]
    docker.say(down="")
    with pytest.raises(ConfigError, match="needs Docker: docker info failed"):
        ToolsAgent(model, Prompts(), ToolsOptions(), find_sandbox()).check_task(task)


async def test_an_engine_that_stops_in_the_middle_is_no_score(docker, tmp_path) -> None:
    found = env(tasks(tmp_path / "tasks"))
    task, model = first(found), ScriptedModel([bash("true"), "done"])
    agent = ToolsAgent(model, Prompts(), ToolsOptions(), find_sandbox())
    agent.check_task(task)
    docker.say(down="")
    with pytest.raises(SandboxError, match="Cannot connect to the Docker daemon"):
        await agent.attempt(task, Skill(text=""), 0)
    with pytest.raises(SandboxError, match="Cannot connect to the Docker daemon"):
        await found.score(task, Trajectory())
