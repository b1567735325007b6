"""Tasks in images, with the real Docker: what a container keeps in, and training on tasks that need an image."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from etude import Skill, Trainer
from etude.envs.gold import check_gold
from etude.errors import DataError, VoidStop
from etude.sandbox import Box, Finished, Limits, Workspace, run
from etude.sandbox.docker import Docker, Engine, find_engine
from etude.simulation import SEED_SKILL, make_tasks
from etude_annexes.foreign.harbor.environment import HarborEnvironment
from harbor_folders import needs_bubblewrap, write_task

IMAGE = "debian:bookworm-slim"
SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)
SPLITS = {"train": slice(0, 10), "val": slice(10, 20), "test": slice(20, 30)}
DOCKERFILE = f"""FROM {IMAGE}
WORKDIR /app
RUN printf '#!/bin/sh\\n[ "$(cat "$1")" = "$(cat "$2")" ] && echo 1 || echo 0\\n' > /usr/local/bin/same && \\
    chmod 755 /usr/local/bin/same
"""
TEST = "#!/bin/bash\nsame /app/answer.txt /tests/expected.txt > /logs/verifier/reward.txt\n"


@pytest.fixture(scope="module")
def engine() -> Engine:
    found = find_engine()
    if isinstance(found, str):
        pytest.skip(found)
    if subprocess.run([found.program, "image", "inspect", IMAGE], check=False, capture_output=True).returncode != 0:
        pulled = subprocess.run([found.program, "pull", IMAGE], check=False, capture_output=True)
        if pulled.returncode != 0:
            pytest.skip(f"the image {IMAGE} is not here and cannot be fetched")
    return found


@pytest.fixture(autouse=True)
def nothing_left(engine: Engine, tmp_path: Path) -> Iterator[None]:
    yield
    assert containers(engine, tmp_path) == []


def containers(engine: Engine, folder: Path) -> list[str]:
    """Those for boxes below the folder."""
    found = engine.ask("ps", "--all", "--filter", "label=etude", "--format", '{{.ID}} {{.Label "etude"}}')
    return [line for line in found.splitlines() if f" {folder}/" in line]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as workspace:
        yield workspace


async def play(engine: Engine, script: str, workspace: Workspace, network: Any = "none", **limits: float) -> Finished:
    box = Box(workspace.work, (workspace.home, workspace.tmp), network=network, places={"/app": workspace.work})
    given = Limits.model_validate({"seconds": 60, "grace_seconds": 1, **limits})
    argv = ["bash", "-c", script]
    return await run(argv, box=box, limits=given, sandbox=Docker(engine, IMAGE), env=workspace.env)


async def test_a_program_sees_its_image_and_its_box_and_changes_only_the_box(engine, workspace) -> None:
    secret = workspace.folder.parent / "secret"
    secret.write_text("secret")
    script = f"""
        for path in {secret} {Path(__file__)} {Path.home()}/.ssh; do cat $path && echo "read $path"; done
        for path in / /etc /usr /var/tmp /app/../root; do echo x > $path/new && echo "wrote $path"; done
        grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000
        grep -q 'NoNewPrivs:.1' /proc/self/status || echo privileges
        echo in > /app/in; echo tmp > /tmp/it; echo home > ~/it; id -u
    """
    done = await play(engine, script, workspace)
    assert done.stdout.decode().split() == [engine.user.partition(":")[0]]
    assert (workspace.work / "in").read_text() == "in\n"
    assert (workspace.home / "it").stat().st_uid == os.getuid()


async def test_no_network_is_reached_unless_it_is_that_of_the_machine(engine, workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"echo hello > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert (await play(engine, script, workspace)).code != 0
        assert (await play(engine, script, workspace, "host")).code == 0


HOG = "x=x; while true; do x=$x$x; done"


async def test_what_uses_too_much_is_ended_or_does_not_get_it(engine, workspace) -> None:
    assert (
        await play(engine, "trap '' TERM; while true; do sleep 1; done", workspace, seconds=1)
    ).over == "time limit"
    assert (await play(engine, HOG, workspace, memory_mb=100)).over == "memory limit"
    assert (await play(engine, f"bash -c '{HOG}'; true", workspace, memory_mb=100)).over == "memory limit"
    write = "for i in {1..30}; do head -c 1000000 /dev/zero > $i; sleep 0.05; done; sleep 50"
    assert (await play(engine, write, workspace, disk_mb=10)).over == "disk limit"
    bomb = await play(engine, "for i in {1..200}; do sleep 5 & done; echo started", workspace, processes=10)
    assert b"Resource temporarily unavailable" in bomb.stderr
    large = await play(
        engine, "head -c 5000000 /dev/zero > /app/large; head -c 99000000 /dev/zero > /tmp/large", workspace
    )
    assert b"No space left" in large.stderr
    assert (await play(engine, "head -c 5000000 /dev/zero > /app/huge", workspace, file_mb=1)).code != 0


async def test_nothing_is_left_of_a_program_that_ended_or_was_cancelled(engine, workspace, tmp_path) -> None:
    assert (await play(engine, "setsid sleep 600 & sleep 600 & exit 7", workspace)).code == 7
    assert containers(engine, tmp_path) == []
    running = asyncio.create_task(play(engine, "echo > began; sleep 600", workspace))
    while not (workspace.work / "began").exists():
        await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert containers(engine, tmp_path) == []


KILLED = """
import asyncio, sys
sys.path[:0] = sys.argv[1].split(":")
from test_slow_docker import Workspace, find_engine, play
async def main():
    with Workspace(sys.argv[2]) as workspace:
        await play(find_engine(), "echo > began; sleep 600", workspace)
asyncio.run(main())
"""


def test_nothing_is_left_of_an_etude_that_was_killed(engine, tmp_path) -> None:
    paths = ":".join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen([sys.executable, "-c", KILLED, paths, str(tmp_path)]) as process:
        wait_until(lambda: [*tmp_path.glob("*/work/began")])
        process.kill()
    wait_until(lambda: containers(engine, tmp_path) == [])


def wait_until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def settings(folder: Path, **files: str) -> dict[str, Any]:
    """Of a training run over tasks with these files."""
    made = make_tasks("dates", 30, seed=3)
    for split, part in SPLITS.items():
        for task in made[part]:
            write_task(folder / split / task.id, task.input, str(task.gold), **files)
    return {
        "env": {"name": "harbor", **{split: str(folder / split) for split in SPLITS}},
        "agent": {"name": "tools", "tools": ["bash"]},
        "train": {"epochs": 2},
        "limits": {"concurrency": 4},
        "run": {"folder": str(folder / "runs"), "name": "images"},
    }


class Door:
    """A socket before that of the engine, which is shut when `left` programs were started: the engine has stopped."""

    def __init__(self, path: Path, engine: str) -> None:
        self.left, self._engine, self._open = 40, engine, list[socket.socket]()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client = self._server.accept()[0]
            if self.left < 0:
                client.close()
                continue
            there = socket.socket(socket.AF_UNIX)
            there.connect(self._engine)
            self._open += [client, there]
            for one, other in ((client, there), (there, client)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                self.left -= b"/containers/create?name=etude-" in data
                if self.left < 0:
                    for end in self._open:
                        end.close()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@needs_bubblewrap
def test_a_skill_is_learned_in_images_as_in_the_sandbox_also_when_the_engine_stops(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Trainer(settings(tmp_path / "plain"), skill=SKILL).train()
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        pytest.skip("the engine does not listen at a socket that a test can shut")
    door = Door(tmp_path / "door", host.removeprefix("unix://"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'door'}")
    config = settings(tmp_path / "images", **{"environment/Dockerfile": DOCKERFILE, "tests/test.sh": TEST})
    config["env"]["check_solutions"] = False
    with pytest.raises(VoidStop, match="the Docker engine did not run a program to its end"):
        Trainer(config, skill=SKILL).train()
    door.left = 1_000_000
    found = Trainer(config, skill=SKILL).train()
    assert (found.best, found.test_gain, found.voids) == (plain.best, plain.test_gain, 0)
    assert found.test_gain is not None
    assert found.test_gain.mean > 0


def test_a_task_whose_tests_look_outside_of_the_working_directory_is_refused_by_name(
    tmp_path: Path, engine: Engine
) -> None:
    outside = {
        "environment/Dockerfile": DOCKERFILE,
        "solution/solve.sh": "#!/bin/bash\ncp /solution/expected.txt /srv/answer.txt\n",
        "tests/test.sh": TEST.replace("/app/", "/srv/"),
    }
    write_task(tmp_path / "good", "Say one.", "one", **{"environment/Dockerfile": DOCKERFILE, "tests/test.sh": TEST})
    write_task(tmp_path / "outside", "Say one elsewhere.", "one", **outside)
    env = HarborEnvironment({"path": str(tmp_path), "ratio": [1, 1, 0]})
    with pytest.raises(DataError, match=r"1 of 2 tasks(?s:.*)task 'outside'(?s:.*)Read-only file system") as refused:
        asyncio.run(check_gold(env, (*env.tasks("train"), *env.tasks("val"))))
    assert "only files in '/app' are kept" in refused.value.hint


def test_a_build_that_fails_is_told_with_its_last_lines(tmp_path: Path, engine: Engine) -> None:
    broken = f"{DOCKERFILE}RUN make-the-world --now\n"
    write_task(tmp_path / "broken", "Say one.", "one", **{"environment/Dockerfile": broken})
    with pytest.raises(
        DataError, match=r"task 'broken': its image cannot be used: docker build failed: (?s:.*)make-the"
    ):
        HarborEnvironment({"path": str(tmp_path), "ratio": [1, 1, 0]})
