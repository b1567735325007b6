"""What a box could share with the machine through the kernel: settings, keys, sockets of no network."""

import ctypes
import os
import platform

import pytest
from sandbox_boxes import play, python, worked

from etude.sandbox import Limits
from etude.sandbox.launch.execute import FILTER, STATUS
from etude.sandbox.launch.seccomp import ARCHITECTURES
from etude.sandbox.sandbox import Unsafe

known_calls = pytest.mark.skipif(platform.machine() not in ARCHITECTURES, reason="no filter of system calls here")

SETTINGS = """
own = {"self", "thread-self", str(os.getpid())}
pipes = [os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2)]
for folder, inner, names in os.walk("/proc"):
    if folder == "/proc":
        inner[:] = [name for name in inner if name not in own]
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in pipes:
                continue
        except OSError:
            pass
        attempt(f"{folder}/{name}", lambda: os.close(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_NONBLOCK)))
"""


@pytest.mark.parametrize("network", ["none", "host"])
async def test_nothing_below_proc_is_opened_for_writing(sandbox, workspace, network) -> None:
    assert await worked(sandbox, workspace, SETTINGS, network=network) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root may write the settings of the machine")
async def test_without_a_sandbox_root_opens_hundreds_of_settings(workspace) -> None:
    assert len(await worked(Unsafe(), workspace, SETTINGS)) > 100


KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}
"""The numbers of add_key and keyctl."""
SESSION = -3


@pytest.fixture
def key():
    """A secret in the keyring of this session."""
    libc = ctypes.CDLL(None, use_errno=True)
    add, control = KEYS[platform.machine()]
    number = libc.syscall(add, b"user", b"etude-test", b"secret", 6, SESSION)
    if number < 0:
        pytest.skip("this machine takes no keys")
    yield number
    libc.syscall(control, 9, number, SESSION)


READ_KEY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
control, number = int(sys.argv[1]), int(sys.argv[2])
if libc.syscall(control, 10, -3, b"user", b"etude-test", 0) >= 0:
    worked.append("found")
if libc.syscall(control, 11, number, ctypes.create_string_buffer(100), 100) >= 0:
    worked.append("read")
"""


@known_calls
async def test_kernel_keys_of_the_session_are_not_read(sandbox, workspace, key) -> None:
    arguments = (KEYS[platform.machine()][1], key)
    assert await worked(Unsafe(), workspace, READ_KEY, *arguments) == ["found", "read"]
    assert await worked(sandbox, workspace, READ_KEY, *arguments) == []


CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
attempt("vsock", socket.socket, 40, socket.SOCK_STREAM)
attempt("packet", socket.socket, 17, socket.SOCK_RAW)
attempt("crypto", socket.socket, 38, socket.SOCK_SEQPACKET)
for name, *call in (("io_uring", 425, 1, ctypes.create_string_buffer(4096)), ("user namespace", 272 if
                    os.uname().machine == "x86_64" else 97, 0x10000000)):
    if libc.syscall(*call) >= 0:
        worked.append(name)
for process in {1, os.getpid()} if os.getpid() < 10 else {os.getpid()}:
    if "Seccomp:\\t2" not in open(f"/proc/{process}/status").read():
        worked.append(f"{process} has no filter")
"""


@known_calls
@pytest.mark.parametrize("network", ["none", "host"])
async def test_calls_that_leave_the_box_are_refused(sandbox, workspace, network) -> None:
    assert await worked(sandbox, workspace, CALLS, network=network) == []


async def test_sockets_within_a_box_of_namespaces_work(sandbox, workspace) -> None:
    if sandbox.name != "bubblewrap":
        pytest.skip("under Landlock there are none but pairs")
    code = """
server = socket.create_server(("127.0.0.1", 0))
attempt("tcp", socket.create_connection, server.getsockname())
ours = socket.socket(socket.AF_UNIX)
attempt("path", ours.bind, "door")
attempt("interfaces", socket.if_nameindex)
"""
    assert await worked(sandbox, workspace, code) == ["tcp", "path", "interfaces"]


async def test_a_program_holds_no_descriptor_of_its_sandbox(sandbox, workspace) -> None:
    code = f"""
for number in ({FILTER}, {STATUS}, *range(3, 20)):
    attempt(number, os.fstat, number)
"""
    assert await worked(sandbox, workspace, code) == []


@pytest.mark.parametrize("first", ["#!/bin/nope", "#!/opt/there/is/none/python"])
async def test_a_program_without_its_interpreter_was_not_started(sandbox, workspace, first) -> None:
    script = workspace.work / "script"
    script.write_text(f"{first}\n")
    script.chmod(0o755)
    done = await play(sandbox, ["./script"], workspace)
    assert (done.code, done.stdout) == (127, b"")
    assert b"No such file or directory" in done.stderr


async def test_a_program_cannot_pretend_that_it_was_not_started(sandbox, workspace) -> None:
    code = "import sys; sys.stderr.write('bwrap: execvp x: No such file or directory'); sys.exit(1)"
    assert (await play(sandbox, python(code), workspace, limits=Limits(seconds=60))).code == 1
