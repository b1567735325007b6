"""Programs in containers, with a program `docker` that keeps a list; `tests/slow` has the real one."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from etude.errors import ConfigError
from etude.sandbox import Box, Finished, Limits, Workspace, run
from etude.sandbox.docker import Docker, Engine, find_engine, in_image
from etude.sandbox.sandbox import SandboxError
from fake_docker import FakeDocker
from rows import few


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    return FakeDocker(tmp_path / "docker", monkeypatch)


def engine() -> Engine:
    found = find_engine()
    assert isinstance(found, Engine), found
    return found


async def play(script: str, workspace: Workspace, env: Mapping[str, str] | None = None, **limits: float) -> Finished:
    box = Box(workspace.work, (workspace.home,), places={"/app": workspace.work})
    given = Limits.model_validate({"seconds": 60, "grace_seconds": 5, **limits})
    sandbox = Docker(engine(), "picture:1")
    return await run(["sh", "-c", script], box=box, limits=given, sandbox=sandbox, env=env or {}, stdin=b"typed")


async def test_a_program_runs_in_its_image_over_the_folders_of_its_box(docker, workspace) -> None:
    script = "cat > it; echo $WHO; echo problem >&2; exit 3"
    done = await play(script, workspace, {"WHO": "the  maker"}, memory_mb=100, file_mb=2, processes=7)
    assert (done.code, done.signal, done.over) == (3, None, "")
    assert (done.stdout, done.stderr) == (b"the maker\n", b"problem\n")
    assert (workspace.work / "it").read_text() == "typed"
    (asked,) = docker.asked("run")
    wanted = [
        "--read-only", "--network none", "--cap-drop ALL", "--security-opt no-new-privileges", "--pull never",
        f"--user {os.geteuid()}:{os.getegid()}", "--memory 100m", "--memory-swap 100m", "--pids-limit 28",
        "--ulimit fsize=2097152", "--env WHO=the  maker", f"--workdir {workspace.work} --entrypoint sh picture:1 -c",
        f'type=bind,"source={workspace.work}","target={workspace.work}"', f'"source={workspace.home}"',
        f'type=bind,"source={workspace.work}","target=/app"',
    ]  # fmt: skip
    assert [words for words in wanted if words not in asked] == []
    assert "PATH" not in asked


async def test_the_client_has_its_own_variables_and_no_key(docker, workspace) -> None:
    await play("true", workspace, {"WHO": "me"})
    names = {line.partition("=")[0] for line in (docker.folder / "client").read_text().splitlines()}
    assert {"PATH", "DOCKER_FAKE"} <= names
    assert not {"SECRET_KEY", "WHO"} & names


async def test_a_signal_and_the_limits_are_told_as_by_other_sandboxes(docker, workspace) -> None:
    killed = await play("kill -9 $$", workspace)
    assert (killed.code, killed.signal, killed.over) == (None, signal.SIGKILL, "")
    slow = await play("trap 'trap : TERM; echo bye; exit 0' TERM; sleep 600 & wait", workspace, seconds=1)
    assert (slow.over, slow.stdout) == ("time limit", b"bye\n")
    docker.say(state="exited 137 true")
    full = await play("exit 137", workspace)
    assert (full.code, full.signal, full.over) == (None, signal.SIGKILL, "memory limit")


LOST = {
    "the engine is gone": "",
    "it was not started": "created 127 false",
    "it still runs": "running 0 false",
    "it ended otherwise": "exited 137 false",
}


@pytest.mark.parametrize("state", LOST.values(), ids=LOST)
async def test_a_program_of_which_nobody_knows_how_it_ended_is_no_result(docker, workspace, state) -> None:
    docker.say(state=state)
    with pytest.raises(SandboxError, match="did not run a program to its end: the reason"):
        await play("echo the reason >&2; exit 1", workspace)


@pytest.mark.parametrize("state", ["", "created 0 false"], ids=["the engine hangs", "it was not started"])
async def test_an_engine_that_takes_too_long_is_no_program_that_does(docker, workspace, state) -> None:
    docker.say(state=state)
    with pytest.raises(SandboxError, match="did not run a program to its end"):
        await play("sleep 600", workspace, seconds=1)


async def test_its_container_is_removed_however_it_ends(docker, workspace) -> None:
    await play("true", workspace)
    await play("sleep 600", workspace, seconds=0.5)
    running = asyncio.create_task(play("touch began; sleep 600", workspace))
    while not (workspace.work / "began").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    names = [words.split("--name ")[1].split()[0] for words in docker.asked("run")]
    assert [words.split()[-1] for words in docker.asked("rm")] == names
    assert len({*names}) == 3


KILLED = """
import asyncio, sys
sys.path[:0] = sys.argv[1].split(":")
from test_sandbox_docker import Workspace, play
async def main():
    with Workspace(sys.argv[2]) as workspace:
        await play("echo > began; exec sleep 600", workspace)
asyncio.run(main())
"""


@pytest.mark.parametrize("who", few(["etude", "keeper", "supervisor"], "etude"))
def test_its_container_is_removed_when_who_watches_it_is_killed(docker, tmp_path, who) -> None:
    paths = ":".join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen([sys.executable, "-c", KILLED, paths, str(tmp_path)], stderr=subprocess.PIPE) as process:
        try:
            wait_for(process, lambda: [*tmp_path.glob("*/work/began")])
            (keeper,) = _children(process.pid)
            victim = {"etude": process.pid, "keeper": keeper, "supervisor": _children(keeper)[0]}[who]
            os.kill(victim, signal.SIGKILL)
            wait_for(None, lambda: docker.asked("rm"))
        finally:
            process.kill()
    assert docker.asked("rm")[0].split()[-1] in docker.asked("run")[0]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(process: "subprocess.Popen[bytes] | None", true: Callable[[], object]) -> None:
    """Until something is true, at most a minute and as long as the process lives."""
    end = time.monotonic() + 60
    while not true():
        assert process is None or process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_engine_is_found_or_the_reason_why_not(docker, monkeypatch) -> None:
    assert engine().version == "29.0.1"
    docker.say(info="29.0.1|false|[name=seccomp,profile=default name=rootless]")
    assert (engine().user, engine().swap) == ("0:0", False)
    docker.say(down="")
    assert find_engine() == "docker info failed: Cannot connect to the Docker daemon"
    monkeypatch.setenv("PATH", str(docker.folder))
    assert find_engine() == "'docker' is not installed"
    with pytest.raises(ConfigError, match="the image 'picture:1' needs Docker: 'docker' is not installed"):
        in_image("picture:1", find_engine())


def test_the_gateway_is_not_reached_from_an_image(docker, workspace) -> None:
    box = Box(workspace.work, network="gateway", socket=workspace.tmp, port=8000)
    with pytest.raises(ConfigError, match="gateway"):
        Docker(engine(), "picture:1").check(box)
