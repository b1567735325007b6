"""bubblewrap: a box of namespaces, where nothing exists but what is put into it."""

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from etude.errors import ConfigError
from etude.sandbox.box import PROGRAMS, SETTINGS, SETTINGS_FOR_NETWORK, Box, Limits
from etude.sandbox.launch.execute import FILTER, STATUS
from etude.sandbox.launch.seccomp import ARCHITECTURES, assembled
from etude.sandbox.launcher import PACKAGE, interpreter_paths, launcher
from etude.sandbox.sandbox import Sandbox, Wrapped

_OURS = Path(__file__).parent / "etc"
_SCRATCH_BYTES = 64 * 1024 * 1024
_INSIDE = "/run/etude"
_USER = "1000"


class Bubblewrap(Sandbox):
    """Namespaces for files, processes, network, users and IPC, and a filter of system calls (seccomp, on x86-64 and
    64-bit Arm) for what belongs to none of them: kernel keys, sockets to the host of a virtual machine, io_uring.

    Inside, the program is user 1000 without any privilege; it sees the system's programs and /proc read-only, its own
    folders under their paths, no process but its own and no interface but a loopback of its own. /tmp and /dev/shm
    are empty, 64 MB each.
    """

    name = "bubblewrap"
    spare = True
    moves = True

    def __init__(self, program: str, *, nested: bool = False) -> None:
        """`program` is bwrap; `nested` allows user namespaces of programs, as versions before 0.8 always do."""
        self._program = program
        self._nested = nested
        self.filter = assembled("own") if platform.machine() in ARCHITECTURES else b""

    def wrap(self, argv: Sequence[str], box: Box, limits: Limits, env: Mapping[str, str]) -> Wrapped:
        """The command line with bwrap in front."""
        command = [self._program, *self._namespaces(box), *_system(), *_settings(box), *_folders(box)]
        if box.network == "gateway" and box.socket is not None:
            socket = f"{_INSIDE}/gateway"
            command += ["--ro-bind", str(PACKAGE), f"{_INSIDE}/{PACKAGE.name}"]
            command += ["--ro-bind", os.path.realpath(box.socket), socket]
            argv = launcher("inside", {"port": box.port, "socket": socket}, argv, folder=_INSIDE)
        command += ["--seccomp", str(FILTER)] if self.filter else []
        # For root outside, /proc holds the settings of the whole machine.
        command += [word for path in ("/proc", "/dev", "/") for word in ("--remount-ro", path)]
        command += ["--json-status-fd", str(STATUS), "--chdir", str(box.workspace)]
        return Wrapped([*command, "--", *argv], env, limits)

    def _namespaces(self, box: Box) -> list[str]:
        result = ["--unshare-all", "--unshare-user", "--uid", _USER, "--gid", _USER, "--hostname", "box"]
        result += ["--die-with-parent", "--cap-drop", "ALL"]
        if not self._nested:
            result.append("--disable-userns")
        if box.network == "host":
            result.append("--share-net")
        return result


def _system() -> list[str]:
    """Programs and libraries, and the file systems every program expects. Scratch space is bounded: it is memory."""
    result: list[str] = []
    for path in PROGRAMS:
        if os.path.islink(path):
            result += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            result += ["--ro-bind", path, path]
    result += ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/dev/shm", "/tmp"):
        result += ["--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", path]
    return [*result, "--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp"]


def _settings(box: Box) -> list[str]:
    result: list[str] = []
    for name in ("passwd", "group") if box.network == "host" else ("passwd", "group", "hosts"):
        result += ["--ro-bind", str(_OURS / name), f"/etc/{name}"]
    for name in (*SETTINGS, *SETTINGS_FOR_NETWORK) if box.network == "host" else SETTINGS:
        path = f"/etc/{name}"
        if os.path.exists(path):
            result += ["--ro-bind", os.path.realpath(path), path]
    return result


def _folders(box: Box) -> list[str]:
    """What the box names, outer folders first, so that an inner one has the rights it was given. A path with links in
    it exists under its real name, too."""
    readable = list(box.readable)
    if box.network == "gateway":
        readable += interpreter_paths()
    rights = dict.fromkeys(_names(readable), "--ro-bind")
    rights |= dict.fromkeys(_names((box.workspace, *box.writable)), "--bind")
    result: list[str] = []
    for path in sorted(rights, key=lambda path: path.parts):
        if str(path) == "/":
            raise ConfigError("the path '/' cannot be put into a box", hint="name the folders the program needs")
        result += [rights[path], os.path.realpath(path), str(path)]
    for place, folder in sorted(box.places.items()):
        result += ["--bind", os.path.realpath(folder), place]
    return result


def _names(paths: Sequence[Path]) -> list[Path]:
    return [name for path in paths for name in (Path(os.path.abspath(path)), Path(os.path.realpath(path)))]
