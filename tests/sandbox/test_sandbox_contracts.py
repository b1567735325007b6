"""What every sandbox promises, one short program for each promise. Hostile programs are in
`tests/slow/test_slow_sandbox_hostile.py`."""

import asyncio
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_boxes import play, python, sandbox_named, worked
from sandbox_fixtures import EITHER

from etude.sandbox import Limits, Workspace
from etude.sandbox.launch.landlock import version
from etude.sandbox.sandbox import Unsafe

FILES = """
gold, tool = sys.argv[1:]
os.symlink(gold, "link")
attempt("gold", lambda: open(gold).read())
attempt("link", lambda: open("link").read())
attempt("root of a process", lambda: open("/proc/self/root" + gold).read())
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("granted", lambda: open(tool).read())
attempt("write", lambda: open(tool, "a").write("x"))
attempt("delete", os.unlink, tool)
attempt("take", os.rename, tool, "tool")
attempt("permissions", os.chmod, gold, 0o777)
attempt("make", lambda: open(os.path.dirname(tool) + "/new", "w"))
attempt("own", lambda: open("own", "w").write("x"))
"""


@EITHER
async def test_only_what_is_granted_is_read_and_only_the_folders_of_the_box_are_written(
    sandbox, workspace, tmp_path_factory
) -> None:
    gold, tool = (tmp_path_factory.mktemp(name) / name for name in ("gold", "tool"))
    for path in (gold, tool):
        path.write_text(path.name)
        path.chmod(0o600)
    assert await worked(sandbox, workspace, FILES, gold, tool, readable=(tool.parent,)) == ["granted", "own"]
    for path in (gold, tool):
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (path.name, 0o600)
        assert list(path.parent.iterdir()) == [path]


NETWORK = """
def connect(family, address):
    with socket.socket(family) as ours:
        ours.settimeout(5)
        ours.connect(address)
attempt("loopback", connect, socket.AF_INET, ("127.0.0.1", int(sys.argv[1])))
attempt("path", connect, socket.AF_UNIX, sys.argv[2])
"""


@EITHER
async def test_no_network_is_reached_not_even_that_of_the_machine(sandbox, workspace, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("d") / "door"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()
        address = (tcp.getsockname()[1], path)
        assert await worked(sandbox, workspace, NETWORK, *address) == []
        assert await worked(Unsafe(), workspace, NETWORK, *address) == ["loopback", "path"]


NEIGHBOUR = """
pid = sys.argv[1]
attempt("environment", lambda: open(f"/proc/{pid}/environ", "rb").read())
attempt("memory", lambda: open(f"/proc/{pid}/mem", "rb").close())
attempt("files", os.readlink, f"/proc/{pid}/fd/0")
"""
END = """
attempt("signal", os.kill, int(sys.argv[1]), 9)
"""


@EITHER
async def test_other_processes_are_not_read_or_ended(sandbox, workspace) -> None:
    code = NEIGHBOUR + (END if sandbox.name == "bubblewrap" or version() >= 6 else "")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            assert await worked(sandbox, workspace, code, process.pid) == []
            assert await worked(Unsafe(), workspace, NEIGHBOUR, process.pid) == ["environment", "memory", "files"]
            assert process.poll() is None
        finally:
            process.kill()


PRIVILEGES = """
import ctypes
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
    if int(status[name], 16):
        worked.append(name)
if status["NoNewPrivs"] != "1":
    worked.append("new privileges")
if ctypes.CDLL(None).unshare(0x10000000) == 0:
    worked.append("user namespace")
attempt("settings of the machine", lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
"""


@EITHER
async def test_a_program_has_no_privilege_and_gets_none(sandbox, workspace) -> None:
    assert await worked(sandbox, workspace, PRIVILEGES) == []


HEADLESS = """
import ctypes, os, threading, time
def beat():
    while True:
        open("beat", "a").write("x")
        time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    threading.Thread(target=beat).start()
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
while not os.path.exists("beat"): time.sleep(0.01)
"""


async def test_a_process_whose_first_thread_has_ended_does_not_outlive_the_run(sandbox, workspace) -> None:
    done = await play(sandbox, python(HEADLESS), workspace)
    assert (done.code, done.stderr) == (0, b"")
    beats = (workspace.work / "beat").stat().st_size
    await asyncio.sleep(0.2)
    assert (workspace.work / "beat").stat().st_size == beats


HOGS = {
    "memory limit": "for _ in range(3): os.fork()\nkept = b'x' * 60_000_000",
    "process limit": "pids = [os.fork() or time.sleep(600) for _ in range(30)]",
    "disk limit": "for n in range(30): open(f'{sys.argv[1 + n % 2]}/{n}', 'wb').write(bytes(1_000_000))",
}


@pytest.mark.parametrize("limit", HOGS)
async def test_a_program_over_a_limit_is_ended(sandbox, workspace, limit) -> None:
    """What all its processes and all its folders have counts together."""
    code = f"import os, sys, time\n{HOGS[limit]}\ntime.sleep(600)"
    limits = Limits(seconds=300, memory_mb=200, processes=20, disk_mb=20)
    argv = python(code, str(workspace.work), str(workspace.tmp))
    assert (await play(sandbox, argv, workspace, limits=limits)).over == limit


async def test_a_file_does_not_grow_beyond_its_limit(sandbox, workspace) -> None:
    code = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("large", lambda: open("large", "wb", 0).write(bytes(2_000_000)) > 1_048_576 or os.open("", 0))
attempt("sparse", os.truncate, "large", 2_000_000)
"""
    assert await worked(sandbox, workspace, code, limits=Limits(seconds=300, file_mb=1)) == []
    assert (workspace.work / "large").stat().st_size == 1_048_576


async def test_memory_that_processes_share_counts_once(sandbox, workspace) -> None:
    code = "import os, time\nkept = b'x' * 60_000_000\nfor _ in range(2): os.fork()\ntime.sleep(0.5)\n"
    done = await play(sandbox, python(code), workspace, limits=Limits(seconds=300, memory_mb=150))
    assert (done.code, done.over) == (0, "")


async def test_files_that_are_written_are_not_memory() -> None:
    if any(line.split()[1:3] == ["/tmp", "tmpfs"] for line in Path("/proc/mounts").read_text().splitlines()):
        pytest.skip("files in /tmp are memory here")
    code = "for name in 'abc': open(name, 'wb').write(bytes(50_000_000))"
    with Workspace(Path("/tmp")) as workspace:
        limits = Limits(seconds=300, memory_mb=100)
        done = await play(sandbox_named("bubblewrap"), python(code), workspace, limits=limits)
    assert (done.code, done.over) == (0, "")
