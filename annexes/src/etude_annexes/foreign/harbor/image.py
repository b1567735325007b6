"""The image of a task: made once, tried, called after what it is made of."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from etude.concurrency import run_to_end
from etude.envs.grading import tail
from etude.errors import DataError
from etude.records import File, digest
from etude.sandbox import Box, Limits, NotKept, Workspace, run
from etude.sandbox.docker import Docker, Engine
from etude.sandbox.sandbox import SandboxError
from etude_annexes.foreign.harbor.task_folder import OURS, TaskFolder, has_room

_PULL_SECONDS = 3600.0
_TRIAL = Limits(seconds=60)


def in_its_image(folder: TaskFolder, path: Path, engine: Engine) -> TaskFolder:
    """The task in its image, which is built where this engine has none of that name.

    Raises DataError: it cannot be built, has no bash, or its working directory cannot be a workspace; names the
    task."""
    where = f"task {folder.id!r}"
    name = f"etude-harbor:{digest([folder.image] if folder.image else _content(folder.context))[:32]}"
    try:
        if not _there(name, engine):
            engine.ask("tag", _made(folder, path / "environment", engine), name)
        workdir = folder.workdir or engine.ask("image", "inspect", "--format", "{{.Config.WorkingDir}}", name)
        if not has_room(workdir, OURS):
            raise DataError(
                f"{where}: the working directory of its image is {workdir!r}, which cannot be a workspace; one like "
                "'/app' would do"
            )
        with Workspace() as workspace:
            engine.copy_out(name, workdir, workspace.work)
            files = workspace.changes()
    except (SandboxError, NotKept) as error:
        raise DataError(f"{where}: its image cannot be used: {error.message}") from None
    start = {name: file for name, file in files.items() if file is not None}
    return replace(folder, image=name, workdir=workdir, files=start)


def _content(files: Mapping[str, File]) -> list[list[str | bool]]:
    return [[path, file.data.hex(), file.executable] for path, file in sorted(files.items())]


def _there(image: str, engine: Engine) -> bool:
    try:
        engine.ask("image", "inspect", "--format", "{{.Id}}", image)
    except SandboxError:
        return False
    return True


def _made(folder: TaskFolder, context: Path, engine: Engine) -> str:
    """An image that works, by its name or id. Raises SandboxError."""
    if folder.image:
        if not _there(folder.image, engine):
            engine.ask("pull", folder.image, seconds=_PULL_SECONDS, shown=True)
        image = folder.image
    else:
        with Workspace() as workspace:
            written = workspace.tmp / "id"
            build = ("build", "--iidfile", str(written), "--force-rm", str(context))
            engine.ask(*build, seconds=folder.build_seconds, shown=True)
            image = written.read_text().strip()
    run_to_end(_try(image, engine))
    return image


async def _try(image: str, engine: Engine) -> None:
    """Raises SandboxError: the image has no bash, or what runs in it cannot write into a folder of this machine."""
    with Workspace() as workspace:
        box = Box(workspace.work, (workspace.home, workspace.tmp))
        write = ["bash", "-c", "echo written > it"]
        done = await run(write, box=box, limits=_TRIAL, sandbox=Docker(engine, image), env=workspace.env)
        if done.code != 0 or not workspace.changes():
            raise SandboxError(
                f"bash in it does not write into a folder: {tail(done) or done.over or 'no reason given'}"
            )
