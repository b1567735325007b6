"""Docker: a program in a container of a task's own image, over the folders of its box."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etude.errors import ConfigError
from etude.sandbox.box import Box, Limits
from etude.sandbox.sandbox import Finished, Sandbox, SandboxError, Wrapped

_SECONDS = 60.0
_COPY_SECONDS = 600.0
_THREADS = 4
"""Threads that count as one process."""
_CLIENT = {"memory_mb": 4096, "processes": 64}
"""What the program `docker` may use itself."""
_ENGINE = "{{.ServerVersion}}|{{.SwapLimit}}|{{.SecurityOptions}}"
_STATE = "{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}"
_SHOWN = 600


@dataclass(frozen=True)
class Engine:
    """A Docker engine that answers."""

    program: str
    version: str
    user: str
    """Whom programs in containers run as, so that the folders of a box are theirs."""
    swap: bool
    """It can keep a program from using swap."""

    def ask(self, *words: str, seconds: float = _SECONDS, shown: bool = False) -> str:
        """What a command of docker writes; `shown` in a terminal while it does, where that may take minutes. Raises
        SandboxError: it fails, or takes longer."""
        to = sys.stderr if shown and sys.stderr.isatty() else subprocess.PIPE
        try:
            done = subprocess.run(
                [self.program, *words],
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=to,
                timeout=seconds,
                env=_client(),
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxError(f"docker {words[0]} took longer than {seconds:g} s") from None
        if done.returncode != 0:
            form = "--format" in words  # which is filled in with nothing
            said = f"{'' if form else done.stdout or ''}{done.stderr or ''}".strip()[-_SHOWN:]
            raise SandboxError(f"docker {words[0]} failed: {said or 'see above'}")
        return (done.stdout or "").strip()

    def copy_out(self, image: str, folder: str, to: Path) -> None:
        """Copies the content of a folder of an image. Raises SandboxError."""
        container = self.ask("create", "--pull", "never", "--label", f"etude={to}", image, "true")
        try:
            self.ask("cp", f"{container}:{folder}/.", str(to), seconds=_COPY_SECONDS)
        finally:
            self.ask("rm", "--force", "--volumes", container)


def find_engine(program: str = "docker") -> Engine | str:
    """The Docker engine that answers here, else why none does."""
    path = shutil.which(program)
    if path is None:
        return f"'{program}' is not installed"
    engine = Engine(path, "", f"{os.geteuid()}:{os.getegid()}", swap=True)
    try:
        version, swap, security = engine.ask("info", "--format", _ENGINE).split("|")
        # A rootless engine shows the files of its user as those of root.
        user = "0:0" if "name=rootless" in security else engine.user
        engine = replace(engine, version=version, user=user, swap=swap == "true")
    except (OSError, ValueError, SandboxError) as error:
        return str(error)
    return engine


def in_image(image: str, engine: Engine | str) -> "Docker":
    """The sandbox for an image. Raises ConfigError: no engine answers, for the reason that `engine` says."""
    if isinstance(engine, str):
        raise ConfigError(f"the image {image!r} needs Docker: {engine}", hint="install Docker, or start it")
    return Docker(engine, image)


class Docker(Sandbox):
    """A container for each program: of its image, read-only, the folders of the box, and an empty /tmp of 64 MB. It
    runs as the user who runs etude, without any privilege, with no network but a loopback of its own.

    `memory_mb` and `file_mb` are kept by the kernel. More than four times `processes` threads are not started.
    """

    name = "Docker"
    moves = True
    brings = True

    def __init__(self, engine: Engine, image: str) -> None:
        self._engine, self._image = engine, image

    def check(self, box: Box) -> None:
        """Raises ConfigError: the box asks for the gateway."""
        if box.network == "gateway":
            raise ConfigError("a program in an image cannot reach the gateway", hint="use network 'none' or 'host'")

    def wrap(self, argv: Sequence[str], box: Box, limits: Limits, env: Mapping[str, str]) -> Wrapped:
        """The command line of a new container. The variables of the image stay, those of `env` are added."""
        docker, name = self._engine.program, f"etude-{uuid.uuid4().hex}"
        command = [docker, "run", "--name", name, "--label", f"etude={box.workspace}"]
        command += ["--pull", "never", "--interactive", "--init", "--log-driver", "none", "--user", self._engine.user]
        command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        command += ["--network", "host"] if box.network == "host" else ["--network", "none", "--hostname", "box"]
        command += ["--read-only", "--tmpfs", "/tmp:exec,mode=1777,size=64m"]
        command += ["--memory", f"{limits.memory_mb}m", "--pids-limit", str(_THREADS * limits.processes)]
        command += ["--memory-swap", f"{limits.memory_mb}m" if self._engine.swap else "-1"]
        command += ["--ulimit", "core=0", "--ulimit", f"fsize={limits.file_mb * 1024 * 1024}"]
        command += [word for mount in _mounts(box) for word in ("--mount", mount)]
        command += [word for variable in env.items() for word in ("--env", "=".join(variable))]
        command += ["--workdir", str(box.workspace), "--entrypoint", argv[0], self._image, *argv[1:]]
        state = shlex.join([docker, "inspect", "--format", _STATE, name])
        gone = shlex.join([docker, "rm", "--force", "--volumes", name])
        after = ["/bin/sh", "-c", f"{state} 2> /dev/null; {gone} > /dev/null 2>&1"]
        return Wrapped(command, _client(), limits.model_copy(update=_CLIENT), after)

    def finished(self, found: Finished, said: str) -> Finished:
        """As the engine tells it. Raises SandboxError: it does not answer, or the program was not started or lost."""
        status, code, killed = said.split() if said.count(" ") == 2 else ("", "", "")
        # What went over a limit has to have begun: an engine that hangs also takes too long.
        known = status in ("running", "exited") if found.over else (status, code) == ("exited", str(found.code))
        if killed == "true":
            found = replace(found, over="memory limit")
        elif not known:
            words = found.stderr.decode(errors="replace").strip()[-_SHOWN:]
            raise SandboxError(
                f"the Docker engine did not run a program to its end: {words or status or 'no answer'}"
            )
        if found.code is not None and 128 < found.code <= 128 + signal.SIGRTMAX:
            return replace(found, code=None, signal=found.code - 128)
        return found


def _mounts(box: Box) -> Iterator[str]:
    """The folders of the box, in the words of `--mount`: those are fields of a line of CSV."""
    for path in (box.workspace, *box.writable):
        yield _mount(path, str(path))
    for path in box.readable:
        yield f"{_mount(path, str(path))},readonly"
    for place, folder in sorted(box.places.items()):
        yield _mount(folder, place)


def _mount(source: Path, target: str) -> str:
    words = (f"source={os.path.realpath(source)}", f"target={target}")
    quoted = ('"' + word.replace('"', '""') + '"' for word in words)
    return ",".join(("type=bind", *quoted))


def _client() -> dict[str, str]:
    """The environment of the program `docker`: where it finds its engine."""
    own = ("HOME", "PATH", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
    return {name: value for name, value in os.environ.items() if name in own or name.startswith("DOCKER_")}
