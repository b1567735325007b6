"""Tricks by which a program would use more than its limits allow. Each is written as the attack: it holds 300 MB
where 100 are allowed, out of sight, waits, and says so."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sandbox_boxes import as_user, sandbox_named

from etude.sandbox import Sandbox
from etude.sandbox.launch.group import NoGroup, place

BEGIN = """
import array, ctypes, mmap, os, socket, sys, time
MB = 1 << 20
def child(work):
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit("killed")
def touch(memory, begin, end):
    for at in range(begin, end, 4096):
        memory[at] = 1
def touch_in_children(memory):
    for at in range(0, len(memory), 20 * MB):
        child(lambda: touch(memory, at, at + 20 * MB))
def send(descriptor):
    ours, theirs = socket.socketpair()
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
    os.close(descriptor)
    kept.append((ours, theirs))
kept = []
"""
END = """
time.sleep(20)
print("held", flush=True)
"""

FIRST_THREAD_GONE = "a process whose first thread is gone"
MEMORY = {
    "shared memory, touched by children that are gone": """
kept = mmap.mmap(-1, 300 * MB)
touch_in_children(kept)
""",
    "the same, and most of it unmapped": """
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
where = libc.mmap(None, 300 * MB, 3, 0x21, -1, 0)
touch_in_children((ctypes.c_char * (300 * MB)).from_address(where))
libc.munmap(where + 4096, 300 * MB - 4096)
""".replace("memory[at] = 1", "memory[at] = b'x'"),
    "memory files": """
for _ in range(15):
    kept.append(os.memfd_create("it"))
    for _ in range(20): os.write(kept[-1], bytes(MB))
""",
    "memory files that are mapped and closed": """
for _ in range(15):
    file = os.memfd_create("it")
    for _ in range(20): os.write(file, bytes(MB))
    with os.fdopen(file) as end: libc = ctypes.CDLL(None); libc.mmap(None, 4096, 1, 1, end.fileno(), 0)
""",
    "memory files in flight": """
for _ in range(15):
    file = os.memfd_create("it")
    for _ in range(20): os.write(file, bytes(MB))
    send(file)
""",
    "memory files in flight in a socket that is in flight": """
first, last = socket.socketpair()
for _ in range(15):
    file = os.memfd_create("it")
    for _ in range(20): os.write(file, bytes(MB))
    send(file)
for ours, theirs in kept:
    first.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
    ours.close(); theirs.close()
""",
    "System V segments that nobody has attached": """
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
for _ in range(15):
    segment = libc.shmget(0, 20 * MB, 0o1600)
    if segment < 0: sys.exit("refused")
    where = libc.shmat(segment, None, 0)
    ctypes.memset(where, 1, 20 * MB)
    libc.shmdt(where)
""",
    "POSIX shared memory without a name": """
for number in range(15):
    file = os.open("/dev/shm/it", os.O_CREAT | os.O_RDWR)
    os.unlink("/dev/shm/it")
    for _ in range(20): os.write(file, bytes(MB))
    with os.fdopen(file) as end: libc = ctypes.CDLL(None); libc.mmap(None, 4096, 1, 1, end.fileno(), 0)
""",
    "page tables of memory that is only read": """
room = mmap.mmap(-1, 150 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
for at in range(0, 150 << 30, 2 * MB): room[at]
""",
    FIRST_THREAD_GONE: """
import threading
def hold():
    kept.append(bytearray(b"x") * (300 * MB))
    time.sleep(20)
    os.write(1, b"held\\n")
    os._exit(0)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
""",
}

WRITE = """
def write(name, size=5):
    file = os.open(name, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    for _ in range(size): os.write(file, os.urandom(MB))
    return file
"""
DISK = {
    "deleted files that are mapped and closed": """
for _ in range(50):
    file = write("it")
    os.unlink("it")
    with os.fdopen(file) as end: libc = ctypes.CDLL(None); libc.mmap(None, 4096, 1, 1, end.fileno(), 0)
""",
    "deleted files in flight": """
for _ in range(50):
    file = write("it")
    os.unlink("it")
    send(file)
""",
    "deleted files in a table that one thread has for itself": """
import threading
def hold():
    if ctypes.CDLL(None).unshare(0x400): sys.exit("refused")
    for _ in range(50):
        kept.append(write("it"))
        os.unlink("it")
    time.sleep(600)
threading.Thread(target=hold, daemon=True).start()
time.sleep(5)
""",
    "deleted files of a program that may not be looked at": """
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for _ in range(50):
    kept.append(write("it"))
    os.unlink("it")
""",
    "a folder that is not readable": """
os.mkdir("hidden")
for number in range(50): os.close(write(f"hidden/{number}"))
os.chmod("hidden", 0)
""",
    "a folder whose entries cannot be looked at": """
os.makedirs("hidden/inner")
for number in range(50): os.close(write(f"hidden/inner/{number}"))
os.chmod("hidden/inner", 0o600)
os.chmod("hidden", 0o600)
""",
}


PAIRS = [("bubblewrap", "this user"), ("landlock", "another user")]
"""All of the tricks meet the first pair, some the second. `tests/slow/test_slow_limits.py` has the rest."""


def cases(tricks: Iterable[str], *also: str) -> list[Any]:
    """Pairs with tricks: each with the first pair, and these also with the second."""
    return [(*PAIRS[0], trick) for trick in tricks] + [(*PAIRS[1], trick) for trick in also]


def played(sandbox: Sandbox, user: int, code: str, **limits: int) -> tuple[str, str]:
    """Which limit ended the attack, or that it was refused; and what it wrote."""
    over, status, out, err = as_user(user, sandbox, BEGIN + code + END, limits)
    return over or ("refused" if status else f"nothing: {err}"), out


@pytest.mark.parametrize(
    ("sandbox", "user", "trick"),
    cases(MEMORY, "memory files in flight", "System V segments that nobody has attached", FIRST_THREAD_GONE),
    indirect=["sandbox", "user"],
)
def test_memory_out_of_sight_is_counted_or_refused(sandbox, user, trick) -> None:
    over, out = played(sandbox, user, MEMORY[trick], memory_mb=100, disk_mb=4000)
    assert (over in ("memory limit", "refused"), out) == (True, ""), over


KERNEL = {
    "socket buffers": """
while sum(size for _, _, size in kept) < 300 * MB:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    size = 0
    try:
        while True: size += ours.send(bytes(65536))
    except BlockingIOError: pass
    kept.append((ours, theirs, size))
""",
    "scratch space": """
for folder in ("/tmp", "/dev/shm"):
    with open(f"{folder}/it", "wb") as file: file.write(bytes(60 * MB))
""",
}


@pytest.fixture
def group() -> str:
    try:
        return place()
    except NoGroup as reason:
        return pytest.skip(str(reason))


@pytest.mark.parametrize("trick", KERNEL)
def test_memory_of_the_kernel_counts_where_there_are_control_groups(group, trick) -> None:
    sandbox = sandbox_named("bubblewrap")
    assert played(sandbox, os.getuid(), KERNEL[trick], memory_mb=100) == ("memory limit", "")
    assert [name for name in os.listdir(group) if name.startswith("etude-")] == []


def test_files_that_are_written_are_not_memory(group) -> None:
    if any(line.split()[1:3] == ["/tmp", "tmpfs"] for line in Path("/proc/mounts").read_text().splitlines()):
        pytest.skip("files in /tmp are memory here")
    code = WRITE + "for name in 'abc': os.close(write(name, 100))\n"
    assert played(sandbox_named("bubblewrap"), os.getuid(), code, memory_mb=100)[1] == "held\n"


@pytest.mark.parametrize(
    ("sandbox", "user", "trick"),
    cases(DISK, "deleted files in flight", "a folder that is not readable"),
    indirect=["sandbox", "user"],
)
def test_files_out_of_sight_are_counted(sandbox, user, trick) -> None:
    assert played(sandbox, user, WRITE + DISK[trick], memory_mb=2000, disk_mb=100) == ("disk limit", "")
