"""The part of a Dockerfile that a sandbox can do: where the workspace is, what is copied into it, variables, and
commands that change nothing else. Everything else is refused with the line quoted."""

import json
import os
import re
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import cast

from etude.errors import DataError
from etude.records import File

_IMAGES: Mapping[str, str] = {
    **dict.fromkeys(("alpine", "busybox"), "sh"),
    **dict.fromkeys(("ubuntu", "debian", "buildpack-deps"), "bash"),
    "bash": "bash",
    "python": "python3",
    "node": "node",
    "perl": "perl",
}
"""Images that only bring a usual program, and that program."""
_GOES_ON = "\\"
_WITHOUT_EFFECT = frozenset({"CMD", "EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "USER"})
OURS = frozenset({"dev", "logs", "proc", "solution", "sys", "tests"})
"""Folders below / that hold something else wherever a task runs."""
_SYSTEMS = OURS | {"bin", "etc", "lib", "lib32", "lib64", "nix", "run", "sbin", "usr", "var"}
"""Those that hold something else in the sandbox."""
_INSTALLS = re.compile(
    r"\b(?:apt|apt-get|apk|yum|dnf|microdnf|zypper|pacman)\s+(?:-\S+\s+)*(?:install|add|update|upgrade|-S\w*)\b"
)
_DOWNLOADS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba|npm|pnpm|yarn|gem|cargo|go|brew)\s+(?:-\S+\s+)*"
    r"(?:install|add|update|sync|ci|i|get|pip|tool|run)\b|\b(?:uvx|npx|pipx)\s|\bgit\s+clone\b"
    r"|\b(?:curl|wget)\s(?!.*(?:localhost|127\.0\.0\.1))"
)


class Unfit(DataError):
    """A task asks for what a sandbox lacks."""


class NeedsImage(Unfit):
    """A task asks for what a sandbox lacks, and the image that its makers describe has."""


@dataclass(frozen=True)
class Copy:
    """Files of the context that go into the workspace."""

    files: Mapping[str, str]
    """Path in the workspace to path in the context."""


@dataclass(frozen=True)
class Run:
    """A command that is run in the workspace."""

    argv: tuple[str, ...]
    folder: str
    """Where it is run: an absolute path, as in the image."""
    where: str
    """The line, for messages."""


@dataclass(frozen=True)
class ImageRecipe:
    """What a Dockerfile makes."""

    program: str
    """What its image is for."""
    workdir: str
    env: Mapping[str, str]
    steps: tuple[Copy | Run, ...]


def needs_more(command: str, *, network: bool) -> bool:
    """Whether a command of a script installs something, or needs a network that is not there."""
    return _INSTALLS.search(command) is not None or (not network and _DOWNLOADS.search(command) is not None)


def read_recipe(
    text: str, context: Mapping[str, File], where: str, workdir: str = "", *, network: bool
) -> ImageRecipe:
    """Read the text of a Dockerfile. `context` is what lies beside it; `workdir` replaces its last WORKDIR.

    Raises NeedsImage: a line asks for what a sandbox lacks; names `where` and quotes the line."""
    lines = list(_lines(text, where))
    images = [line for line in lines if line.word == "FROM"]
    if len(images) != 1 or lines[0] != images[0]:
        raise NeedsImage(f"{where}: it has {len(images)} stages, a sandbox makes one")
    folder, final, env, steps = "/", "/", dict[str, str](), list[Copy | Run]()
    for line in lines:
        final = _inside(final, line) if line.word == "WORKDIR" else final
    final = workdir or final
    if not has_room(final, _SYSTEMS):
        raise NeedsImage(
            f"{where}: the working directory is {final!r}, where a sandbox has no place for a workspace; one like "
            "'/app' would do"
        )
    for line in lines[1:]:
        if line.word == "WORKDIR":
            folder = _inside(folder, line)
        elif line.word == "ENV":
            env |= _variables(line)
        elif line.word in ("COPY", "ADD"):
            steps.append(_copy(line, context, folder, final))
        elif line.word == "RUN":
            if needs_more(line.rest, network=network) or line.rest.startswith("--") or "<<" in line.rest:
                raise line.unfit("a sandbox installs nothing")
            steps.append(Run(_argv(line), folder, line.where))
        elif line.word not in _WITHOUT_EFFECT:
            raise line.unfit("a sandbox cannot do this")
    return ImageRecipe(_program(images[0]), final, env, tuple(steps))


@dataclass(frozen=True)
class _Line:
    where: str
    word: str
    rest: str

    def unfit(self, why: str) -> NeedsImage:
        return NeedsImage(f"{self.where}: {why}")


def _lines(text: str, where: str) -> Iterator[_Line]:
    """The instructions, each with its continuations."""
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        held, first = f"{held} {line.removesuffix(_GOES_ON)}".strip(), first or number
        if not line.endswith(_GOES_ON):
            yield _line(held, f"{where}, line {first}")
            held, first = "", 0
    if held:
        yield _line(held, f"{where}, line {first}")


def _line(text: str, where: str) -> _Line:
    word, _, rest = text.partition(" ")
    return _Line(f"{where}, {text[:200]!r}", word.upper(), rest.strip())


def _program(line: _Line) -> str:
    words = [word for word in line.rest.split() if not word.startswith("--")]
    name = words[0].removeprefix("docker.io/").removeprefix("library/").partition("@")[0].partition(":")[0]
    if name not in _IMAGES:
        raise line.unfit(f"what is in this image is not known; known: {', '.join(sorted(_IMAGES))}")
    return _IMAGES[name]


def has_room(path: str, taken: Collection[str]) -> bool:
    """Whether a workspace can be put at this path, which must not hide the temporary files nor any of `taken`."""
    top = PurePosixPath(path).parts[1:2]
    hides = Path(tempfile.gettempdir()).is_relative_to(path)
    return path.startswith("/") and bool(top) and top[0] not in taken and not hides and os.path.normpath(path) == path


def _inside(folder: str, line: _Line) -> str:
    """The path of a line without variables in it."""
    if "$" in line.rest:
        raise line.unfit("variables in paths are not known here")
    return os.path.normpath(os.path.join(folder, _words(line)[0]))


def _words(line: _Line) -> list[str]:
    if line.rest.startswith("["):
        try:
            words = json.loads(line.rest)
        except ValueError:
            raise line.unfit("this is no list of words") from None
        return [str(word) for word in words]
    try:
        words = shlex.split(line.rest)
    except ValueError:
        words = []
    if not words:
        raise line.unfit("this cannot be read")
    return words


def _argv(line: _Line) -> tuple[str, ...]:
    return tuple(_words(line)) if line.rest.startswith("[") else ("/bin/sh", "-c", line.rest)


def _variables(line: _Line) -> dict[str, str]:
    if "$" in line.rest:
        raise line.unfit("variables in variables are not known here")
    words = _words(line)
    if "=" not in words[0]:
        return {words[0]: line.rest.partition(" ")[2].strip()}
    return dict(cast("tuple[str, str]", tuple(word.split("=", 1))) for word in words if "=" in word)


def _copy(line: _Line, context: Mapping[str, File], folder: str, workdir: str) -> Copy:
    words = [word for word in _words(line) if not word.startswith(("--chown=", "--chmod="))]
    if any(word.startswith("--") or "$" in word or "://" in word for word in words) or len(words) < 2:
        raise line.unfit("only files that lie beside the Dockerfile can be copied")
    if ".dockerignore" in context:
        raise line.unfit("a .dockerignore is not read here")
    *sources, to = words
    if line.word == "ADD" and any(source.endswith((".tar", ".gz", ".tgz", ".bz2", ".xz")) for source in sources):
        raise line.unfit("a sandbox unpacks nothing")
    target = os.path.normpath(os.path.join(folder, to))
    found: dict[str, str] = {}
    for source in sources:
        name = os.path.normpath(source.lstrip("/"))
        below = {path: path for path in context} if name == "." else _below(name, context)
        files = _matching(name, context)
        if not below and not files:
            raise line.unfit(f"there is no {source!r} beside the Dockerfile")
        found |= {f"{target}/{inside}": path for path, inside in below.items()}
        into = to.endswith("/") or to in (".", "..") or len(sources) > 1 or len(files) > 1 or target == workdir
        found |= {f"{target}/{PurePosixPath(path).name}" if into else target: path for path in files}
    outside = next((path for path in found if not path.startswith(f"{workdir}/")), None)
    if outside is not None:
        raise line.unfit(f"{outside!r} is outside of the working directory {workdir!r}, which is all a sandbox keeps")
    return Copy({path[len(workdir) + 1 :]: source for path, source in found.items()})


def _below(folder: str, context: Mapping[str, File]) -> dict[str, str]:
    """The files of a folder of the context, and what they are called inside of it."""
    return {path: path[len(folder) + 1 :] for path in context if path.startswith(f"{folder}/")}


def _matching(pattern: str, context: Mapping[str, File]) -> list[str]:
    """The files of the context with this name, or that match it."""
    deep = pattern.count("/")
    return [path for path in context if path.count("/") == deep and (path == pattern or fnmatch(path, pattern))]
