"""Hostile code gets nowhere: what it tries is done by real processes, and the machine is asked afterwards."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_boxes import living, play, python, worked

from etude.sandbox import Limits
from etude.sandbox.sandbox import Unsafe

NETWORK = """
tcp, tcp6, udp, path, abstract = sys.argv[1:]
def connect(family, kind, address):
    with socket.socket(family, kind) as ours:
        ours.settimeout(5)
        ours.connect(address)
        ours.sendall(b"secret")
attempt("tcp", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(tcp)))
attempt("tcp of this host", connect, socket.AF_INET, socket.SOCK_STREAM, (sys.argv[1] and "0.0.0.0", int(tcp)))
attempt("tcp6", connect, socket.AF_INET6, socket.SOCK_STREAM, ("::1", int(tcp6)))
attempt("path", connect, socket.AF_UNIX, socket.SOCK_STREAM, path)
attempt("abstract", connect, socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + abstract)
def send(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as ours:
        ours.sendto(b"secret", address)
def pair(address):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"secret", address)
attempt("outside", connect, socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80))
try:
    send(socket.AF_INET, ("127.0.0.1", int(udp)))
    send(socket.AF_UNIX, path + ".datagram")
    pair(path + ".datagram")
except OSError:
    pass
"""


class Listeners:
    """Doors of the machine that nobody may knock at."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "door"
        self.abstract = f"etude-test-{os.getpid()}"
        self._tcp = self._open(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._tcp6 = self._open(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)) if _has_ipv6() else None
        self._udp = self._open(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._path = self._open(socket.AF_UNIX, socket.SOCK_STREAM, str(self.path))
        self._abstract = self._open(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract)
        self._datagram = self._open(socket.AF_UNIX, socket.SOCK_DGRAM, f"{self.path}.datagram")

    def _open(self, family: int, kind: int, address) -> socket.socket:
        listener = socket.socket(family, kind)
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        return listener

    @property
    def arguments(self) -> list[object]:
        tcp6 = self._tcp6.getsockname()[1] if self._tcp6 else 9
        return [self._tcp.getsockname()[1], tcp6, self._udp.getsockname()[1], self.path, self.abstract]

    def heard(self) -> list[bytes]:
        """Datagrams that came."""
        found = []
        for listener in (self._udp, self._datagram):
            try:
                found.append(listener.recv(100))
            except BlockingIOError:
                continue
        return found

    def close(self) -> None:
        for listener in (self._tcp, self._tcp6, self._udp, self._path, self._abstract, self._datagram):
            if listener is not None:
                listener.close()


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as trial:
            trial.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.fixture
def listeners(tmp_path_factory):
    doors = Listeners(tmp_path_factory.mktemp("d"))
    yield doors
    doors.close()


async def test_no_network_is_reached_not_even_that_of_the_machine(sandbox, workspace, listeners) -> None:
    assert await worked(sandbox, workspace, NETWORK, *listeners.arguments) == []
    assert listeners.heard() == []


async def test_the_same_attempts_work_without_a_sandbox(workspace, listeners) -> None:
    expected = {"tcp", "tcp of this host", "path", "abstract"} | ({"tcp6"} if _has_ipv6() else set())
    assert set(await worked(Unsafe(), workspace, NETWORK, *listeners.arguments)) >= expected
    assert listeners.heard() == [b"secret", b"secret"]


async def test_with_the_network_of_the_host_its_loopback_is_reached(sandbox, workspace, listeners) -> None:
    found = await worked(sandbox, workspace, NETWORK, *listeners.arguments, network="host")
    assert {"tcp", "tcp of this host"} <= set(found)
    assert listeners.heard()[:1] == [b"secret"]


READ = """
for path in sys.argv[1:]:
    attempt(path, lambda: open(path).read(1) if os.path.isfile(path) else os.listdir(path))
"""


async def test_the_gold_file_and_the_folders_of_the_host_are_not_read(sandbox, workspace) -> None:
    gold = workspace.folder.parent / "answer-key.json"
    gold.write_text('{"answer": 42}')
    hidden = [gold, Path(__file__), Path(__file__).parent, "/etc/shadow", "/boot", "/var/log", "/sys"]
    homes = [
        path for path in (Path.home() / ".ssh", Path.home() / ".bashrc", Path.home() / ".cache") if path.exists()
    ]
    assert await worked(sandbox, workspace, READ, *hidden, *homes) == []
    relative = os.path.relpath(gold, workspace.work)
    assert await worked(sandbox, workspace, READ, relative, f"/proc/self/root{gold}", f"/proc/1/root{gold}") == []
    done = await play(sandbox, ["/bin/ls", "-a", str(gold.parent), "..", "../.."], workspace)
    assert b"answer-key" not in done.stdout


async def test_what_is_granted_is_read(sandbox, workspace, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("granted")
    (folder / "tool.txt").write_text("tool")
    paths = [folder / "tool.txt", folder]
    assert await worked(sandbox, workspace, READ, *paths, readable=(folder,)) == list(map(str, paths))


async def test_a_folder_in_another_one_has_the_rights_it_was_given(sandbox, workspace) -> None:
    given = workspace.work / "given"
    given.mkdir()
    code = "for path in sys.argv[1:]:\n    attempt(path, lambda: open(path + '/new', 'w'))\n"
    paths = [workspace.work, workspace.folder, given]
    found = await worked(sandbox, workspace, code, *paths, readable=(workspace.folder, given))
    inner = [str(given)] if sandbox.name == "Landlock" else []
    assert found == [str(workspace.work), *inner]


async def test_a_link_out_of_the_workspace_leads_nowhere(sandbox, workspace) -> None:
    gold = workspace.folder.parent / "answer-key.json"
    gold.write_text("secret")
    code = """
gold = sys.argv[1]
os.symlink(gold, "link")
attempt("symbolic link", lambda: open("link").read())
attempt("hard link", os.link, gold, "hard")
attempt("folder link", lambda: (os.symlink(os.path.dirname(gold), "folder"), open("folder/answer-key.json").read()))
attempt("rename", os.rename, gold, "mine")
"""
    assert await worked(sandbox, workspace, code, gold) == []
    assert gold.read_text() == "secret"
    assert workspace.changes() == {}


async def test_nothing_is_written_outside_of_the_box(sandbox, workspace, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("granted")
    tool = folder / "tool.txt"
    tool.write_text("tool")
    code = """
tool, folder = sys.argv[1:]
attempt("write", lambda: open(tool, "a").write("x"))
attempt("truncate", os.truncate, tool, 0)
attempt("make", lambda: open(folder + "/new", "w"))
attempt("folder", os.mkdir, folder + "/new")
attempt("delete", os.unlink, tool)
attempt("rename", os.rename, tool, folder + "/moved")
attempt("move in", os.rename, tool, "tool.txt")
attempt("link", os.link, tool, "tool.txt")
attempt("usr", lambda: open("/usr/new", "w"))
attempt("etc", lambda: open("/etc/new", "w"))
attempt("root", lambda: open("/new", "w"))
attempt("dev", lambda: open("/dev/new", "w"))
"""
    assert await worked(sandbox, workspace, code, tool, folder, readable=(folder,)) == []
    await play(sandbox, ["/bin/sh", "-c", "echo > ../new; echo > ../../new"], workspace)
    assert list(workspace.folder.parent.iterdir()) == [workspace.folder]
    assert tool.read_text() == "tool"
    assert sorted(path.name for path in workspace.folder.iterdir()) == ["home", "tmp", "work"]


@pytest.fixture
def neighbour():
    """A process of the same user with a secret in its environment and its memory."""
    code = "import sys; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SECRET_KEY": "hidden"},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


NEIGHBOUR = """
pid = sys.argv[1]
def environments():
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if b"SECRET_KEY=hidden" in open(f"/proc/{name}/environ", "rb").read():
                worked.append("environment")
        except OSError:
            pass
environments()
attempt("memory", lambda: open(f"/proc/{pid}/mem", "rb").read(1))
attempt("maps", lambda: open(f"/proc/{pid}/maps").readline() or os.open("", 0))
attempt("files", os.readlink, f"/proc/{pid}/fd/0")
attempt("folder", os.listdir, f"/proc/{pid}/cwd/")
"""


async def test_secrets_of_other_processes_are_not_read(sandbox, workspace, neighbour) -> None:
    assert await worked(sandbox, workspace, NEIGHBOUR, neighbour.pid) == []


async def test_without_a_sandbox_they_would_be(workspace, neighbour) -> None:
    assert {"environment", "maps", "files"} <= set(await worked(Unsafe(), workspace, NEIGHBOUR, neighbour.pid))


async def test_other_processes_are_not_signalled_or_limited(sandbox, workspace, neighbour) -> None:
    from etude.sandbox.launch.landlock import version

    if sandbox.name == "Landlock" and version() < 6:
        pytest.skip("Landlock knows of signals from Linux 6.12 on")
    code = """
import resource
pid = int(sys.argv[1])
attempt("signal", os.kill, pid, 9)
attempt("parent", lambda: os.kill(os.getppid(), 9) if os.getppid() > 2 else os.kill(pid, 9))
attempt("limit", resource.prlimit, pid, resource.RLIMIT_NOFILE, (1, 1))
"""
    assert await worked(sandbox, workspace, code, neighbour.pid) == []
    assert neighbour.poll() is None


async def test_a_program_has_no_privilege_and_gets_none(sandbox, workspace) -> None:
    code = """
import ctypes
status = open("/proc/self/status").read()
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
    if int(status.split(name + ":")[1].split()[0], 16):
        worked.append(name)
if "NoNewPrivs:\\t1" not in status:
    worked.append("new privileges")
libc = ctypes.CDLL(None, use_errno=True)
for name, flags in (("user namespace", 0x10000000), ("network namespace", 0x40000000), ("mounts", 0x20000)):
    if libc.unshare(flags) == 0:
        worked.append(name)
attempt("chroot", os.chroot, ".")
attempt("host name", socket.sethostname, "mine")
attempt("device", os.mknod, "disk", 0o60600, os.makedev(8, 0))
attempt("nice", os.nice, -1)
"""
    assert await worked(sandbox, workspace, code) == []


async def test_processes_share_no_memory_with_the_machine(sandbox, workspace) -> None:
    key = 0x5111_0000 + os.getpid() % 0x1_0000
    code = f"import ctypes; ctypes.CDLL(None).shmget({key}, 4096, 0o1666)"
    done = await play(sandbox, python(code), workspace)
    assert done.code == 0
    assert str(key) not in Path("/proc/sysvipc/shm").read_text().split()


BOMBS = {
    "one group": """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
    "sessions": """
import os
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
""",
    "threads": """
import threading, time
while True:
    try: threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError: pass
""",
}


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_fork_bomb_is_ended_with_everything_it_made(sandbox, workspace, bomb) -> None:
    token = f"bomb-{os.getpid()}-{workspace.folder.name}"
    limits = Limits(seconds=300, processes=40)
    done = await play(sandbox, python(BOMBS[bomb], token), workspace, limits=limits)
    assert done.over == "process limit"
    assert living(token) == []


async def test_a_memory_hog_is_ended_and_reserving_memory_is_no_offence(sandbox, workspace) -> None:
    reserve = "import mmap\nroom = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
    hog = reserve + "print('reserved', flush=True)\nmore = []\nwhile True: more.append(bytearray(b'x' * 5_000_000))\n"
    done = await play(sandbox, python(hog), workspace, limits=Limits(seconds=300, memory_mb=200))
    assert (done.over, done.stdout) == ("memory limit", b"reserved\n")


async def test_scratch_space_outside_of_the_folders_is_bounded_or_absent(sandbox, workspace) -> None:
    code = """
def fill(folder):
    for number in range(300):
        with open(f"{folder}/{number}", "wb", 0) as file:
            if file.write(bytes(1_000_000)) < 1_000_000:
                raise OSError
for folder in ("/tmp", "/dev/shm", "/var/tmp", "/dev", "/run", "/var", "/etc", "/"):
    attempt(folder, fill, folder)
"""
    assert await worked(sandbox, workspace, code) == []


async def test_the_temporary_files_of_the_machine_are_not_seen(sandbox, workspace, tmp_path_factory) -> None:
    secret = tmp_path_factory.mktemp("secret") / "it"
    secret.write_text("it")
    assert await worked(sandbox, workspace, READ, secret, secret.parent) == []
    done = await play(sandbox, ["/bin/sh", "-c", "ls -a /tmp /var/tmp 2> /dev/null"], workspace)
    seen = set(done.stdout.decode().split()) - {".", "..", "/tmp:", "/var/tmp:"}
    assert seen <= {workspace.folder.relative_to("/tmp").parts[0] if workspace.folder.is_relative_to("/tmp") else ""}
