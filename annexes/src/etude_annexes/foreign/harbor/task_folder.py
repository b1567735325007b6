"""Reading a task folder, in the schema that harbor publishes (task.toml, versions 1.x)."""

import os
import re
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import Field, JsonValue, ValidationError, field_validator

from etude.envs.workspaces import TaskFiles
from etude.errors import DataError
from etude.records import File
from etude.records.record import Lenient
from etude.sandbox import Limits

TOML = "task.toml"
TEST = "test.sh"
SOLVE = "solve.sh"
INSTRUCTION = "instruction.md"
_SCRIPTS = (".sh", ".bash")
_INSTALLS = re.compile(
    r"\b(?:apt|apt-get|apk|yum|dnf|pip3?|uv|conda|npm|cargo|go)\s+(?:-\S+\s+)*(?:install|add|update|sync|ci|pip|tool|run)\b"
    r"|\b(?:uvx|npx|pipx)\s|\bgit\s+clone\b|\b(?:curl|wget)\s(?!.*(?:localhost|127\.0\.0\.1))"
)
"""Usual commands that fetch something from the network."""

PLAIN = frozenset({"debian", "python", "ubuntu"})
"""Images that stand for the programs of this machine."""
OURS = frozenset({"dev", "logs", "proc", "solution", "sys", "tests"})
"""Folders below / that hold something else wherever a task runs."""
_SYSTEMS = OURS | {"bin", "etc", "lib", "lib32", "lib64", "nix", "run", "sbin", "usr", "var"}
"""Those that hold something else in the sandbox."""


class _Verifier(Lenient):
    timeout_sec: float = Field(default=600, gt=0)
    env: dict[str, str] = Field(default_factory=dict[str, str])
    environment_mode: str | None = None
    environment: JsonValue = None
    collect: list[JsonValue] = Field(default_factory=list[JsonValue])


class _Agent(Lenient):
    timeout_sec: float | None = Field(default=None, gt=0)


class _Environment(Lenient):
    docker_image: str | None = None
    build_timeout_sec: float = Field(default=600, gt=0)
    os: str = "linux"
    gpus: int | None = None
    tpu: JsonValue = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    mcp_servers: list[JsonValue] = Field(default_factory=list[JsonValue])
    skills_dir: str | None = None
    healthcheck: JsonValue = None
    env: dict[str, str] = Field(default_factory=dict[str, str])
    workdir: str | None = None


class _Solution(Lenient):
    env: dict[str, str] = Field(default_factory=dict[str, str])


class _Toml(Lenient):
    schema_version: str = "1.4"
    version: str | None = None
    """What `schema_version` was called in 1.0."""
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    verifier: _Verifier = _Verifier()
    agent: _Agent = _Agent()
    environment: _Environment = _Environment()
    solution: _Solution = _Solution()
    steps: list[JsonValue] | None = None

    @field_validator("schema_version", "version")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value.partition(".")[0] != "1":
            raise ValueError(f"{value!r} is not a version of the schema that is known here; known: 1.x")
        return value


class Allowance(NamedTuple):
    """What a script may use: variables of its own, besides those of the task, and its limits."""

    env: Mapping[str, str]
    limits: Limits


@dataclass(frozen=True)
class TaskFolder:
    """One task, read from its folder."""

    id: str
    instruction: str
    kind: str
    workdir: str
    """Where its workspace is found. Empty where only its image says it."""
    files: Mapping[str, File]
    """What the workspace holds at first; of a task with an image known once there is one."""
    lacking: str
    """Why it needs an image; empty where the sandbox is enough."""
    image: str
    """The image that its settings name, or that was made of its Dockerfile; empty for the sandbox."""
    context: Mapping[str, File]
    """What lies beside the Dockerfile."""
    build_seconds: float
    env: Mapping[str, str]
    """Variables of everything that runs in the environment."""
    tests: Mapping[str, File]
    testing: Allowance
    solution: Mapping[str, File]
    """Empty where there is no solve.sh."""
    solving: Allowance


def find_folders(top: Path, where: str) -> list[Path]:
    """All task folders at or below a folder. Raises DataError: there is no such folder, or none in it."""
    if not top.is_dir():
        raise DataError(f"{where}: {str(top)!r} is not a folder", hint="name a folder that holds task folders")
    found = sorted(path.parent for path in top.rglob(TOML))
    found = [path for path in found if not any(path.is_relative_to(other) for other in found if other != path)]
    if not found:
        raise DataError(f"{where}: no folder in {str(top)!r} has a {TOML}", hint="name a folder of harbor tasks")
    return found


def without_toml(top: Path) -> list[Path]:
    """Folders at or below `top` that look like a task, but have no `task.toml`."""
    tasks = {path.parent for path in top.rglob(TOML)}
    found = sorted(path.parent for path in top.rglob(INSTRUCTION) if not tasks.intersection(path.parents))
    return [path for path in found if (path / "tests").is_dir()]


def read_folder(folder: Path, id: str, *, network: bool) -> TaskFolder:
    """Read one task. Raises DataError: it is not a task folder, or asks for what no image has either; names the
    task."""
    where = f"task {id!r}"
    toml = _toml(folder / TOML, where)
    given = toml.environment
    for what in _wants(toml, folder):
        raise DataError(f"{where}: {what}, which is not possible here")
    files = TaskFiles({})
    context = files.read("environment", folder, where) if (folder / "environment").is_dir() else {}
    if "Dockerfile" not in context and not given.docker_image:
        raise DataError(f"{where}: there is no environment/Dockerfile", hint="add one, as in 'FROM ubuntu:24.04'")
    tests = files.read("tests", folder, where) if (folder / "tests").is_dir() else {}
    if TEST not in tests:
        raise DataError(f"{where}: there is no tests/{TEST}", hint="add the script that writes the reward")
    if not network:
        _check_scripts(tests, where)
    solution = files.read("solution", folder, where) if (folder / "solution" / SOLVE).is_file() else {}
    if not (folder / INSTRUCTION).is_file():
        raise DataError(f"{where}: there is no {INSTRUCTION}", hint="add what the agent has to do")
    instruction = _text(files.read(INSTRUCTION, folder, where)[INSTRUCTION].data, f"{where}, {INSTRUCTION}")
    if not instruction.strip():
        raise DataError(f"{where}: {INSTRUCTION} is empty", hint="write what the agent has to do")
    workdir, lacking = _start(given, context, where)
    memory = {} if given.memory_mb is None else {"memory_mb": given.memory_mb}
    memory |= {} if given.storage_mb is None else {"disk_mb": given.storage_mb}
    kind = toml.metadata.get("category")
    return TaskFolder(
        id=id,
        instruction=instruction,
        kind=kind if isinstance(kind, str) else "",
        workdir=workdir,
        files={},
        lacking=lacking,
        image=given.docker_image or "",
        context=context,
        build_seconds=given.build_timeout_sec,
        env=given.env,
        tests=tests,
        testing=Allowance(toml.verifier.env, Limits(seconds=toml.verifier.timeout_sec, **memory)),
        solution=solution,
        solving=Allowance(
            toml.solution.env, Limits(seconds=toml.agent.timeout_sec or toml.verifier.timeout_sec, **memory)
        ),
    )


def _start(given: _Environment, context: Mapping[str, File], where: str) -> tuple[str, str]:
    """The working directory, and why it takes an image to know more."""
    if given.docker_image:
        return given.workdir or "", f"{where}: {TOML} asks for the image {given.docker_image!r}"
    try:
        workdir = plain_start(context["Dockerfile"], where)
    except NeedsImage as error:
        return given.workdir or "", error.message
    if given.workdir in (None, workdir):
        return workdir, ""
    lacking = f"{where}: {TOML} has the working directory {given.workdir!r}, the Dockerfile {workdir!r}"
    return given.workdir, lacking


def _toml(path: Path, where: str) -> _Toml:
    try:
        return _Toml.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{where}: {TOML} cannot be read: {error}", hint="correct it") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise DataError(f"{where}: {TOML}: {name}: {first['msg']}", hint="correct it") from None


def _wants(toml: _Toml, folder: Path) -> Iterator[str]:
    given, verifier = toml.environment, toml.verifier
    asked = {
        "several steps ([[steps]])": toml.steps,
        f"the system {given.os!r}": given.os.lower() != "linux",
        f"{given.gpus} GPUs": given.gpus,
        "a TPU": given.tpu,
        "MCP servers": given.mcp_servers,
        "a folder of skills in the image": given.skills_dir,
        "a health check": given.healthcheck,
        "a container of its own for the tests": verifier.environment or verifier.environment_mode == "separate",
        "commands that collect results": verifier.collect,
    }
    yield from (f"{TOML} asks for {what}" for what, there in asked.items() if there)
    services = [path.name for path in (folder / "environment").glob("*compose.y*ml")]
    yield from (f"environment/{name} starts services" for name in services)
    for section, env in (("environment", given.env), ("verifier", verifier.env), ("solution", toml.solution.env)):
        named = [f"{key} = {value!r}" for key, value in env.items() if "${" in value]
        yield from (f"{section}.env has {one}, a variable of this machine" for one in named)


def _check_scripts(tests: Mapping[str, File], where: str) -> None:
    """Raises DataError: a script of the tests fetches something. Without a network it would fail, and every attempt
    would score 0."""
    for name, file in tests.items():
        lines = file.data.decode("utf-8", "replace").splitlines() if name.endswith(_SCRIPTS) else []
        for number, line in enumerate(lines, 1):
            if not line.lstrip().startswith("#") and _INSTALLS.search(line):
                raise DataError(
                    f"{where}, tests/{name}, line {number}, {line.strip()[:200]!r}: without env.network nothing is "
                    "fetched"
                )


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{what} is not UTF-8 text", hint="save it as UTF-8") from None


class NeedsImage(DataError):
    """A task needs an image of its own, and with it Docker."""


def plain_start(dockerfile: File, where: str) -> str:
    """The working directory of a task that needs no image. Raises NeedsImage: a line is none of FROM, one WORKDIR and
    CMD, or asks for more than this machine has; names `where` and quotes the line."""
    place, workdir = f"{where}, environment/Dockerfile", ""
    for number, line in enumerate(dockerfile.data.decode("utf-8", "replace").splitlines(), 1):
        known = not line.strip() or line.lstrip().startswith("#")
        match line.split():
            case ["FROM", image]:
                known = not workdir and image.partition(":")[0] in PLAIN
            case ["WORKDIR", path]:
                known = not workdir and has_room(path, _SYSTEMS)
                workdir = path
            case ["CMD", *_]:
                known = True
            case _:
                pass
        if not known:
            raise NeedsImage(f"{place}, line {number}, {line.strip()[:200]!r}: this needs an image")
    if not workdir:
        raise NeedsImage(f"{place}: without WORKDIR it needs an image")
    return workdir


def has_room(path: str, taken: Collection[str]) -> bool:
    """Whether a workspace can be put at this path, which must not hide the temporary files nor any of `taken`."""
    top = PurePosixPath(path).parts[1:2]
    hides = Path(tempfile.gettempdir()).is_relative_to(path)
    return path.startswith("/") and bool(top) and top[0] not in taken and not hides and os.path.normpath(path) == path
