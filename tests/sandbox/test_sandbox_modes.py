"""Permissions, owners and attributes of files: those outside stay as they are, and nothing becomes set-uid."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_boxes import TELL, TRY, as_user, play, worked

from etude.sandbox.sandbox import Unsafe

CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""

OUTSIDE = """
secret = "SECRET"
folder, name = os.path.split(secret)
os.symlink(secret, "link")
attempt("path", os.chmod, secret, 0o666)
attempt("relative path", os.chmod, os.path.relpath(secret), 0o666)
attempt("link", os.chmod, "link", 0o666)
attempt("process", os.chmod, "/proc/self/root" + secret, 0o666)
attempt("no rights for its owner", os.chmod, secret, 0)
attempt("folder", os.chmod, folder, 0o777)
attempt("set-uid", os.chmod, secret, 0o4755)
def through(path, change):
    place = os.open(path, os.O_PATH)
    change(place)
attempt("folder's descriptor", through, folder, lambda place: os.chmod(name, 0o666, dir_fd=place))
attempt("path of a descriptor", through, secret, lambda place: os.chmod(f"/proc/self/fd/{place}", 0o666))
attempt("descriptor", through, secret, lambda place: os.fchmod(place, 0o666))
attempt("empty path", through, secret, lambda place: call(452, place, b"", 0o666, 0x1000))
attempt("access list", os.setxattr, secret, "user.note", b"mine")
attempt("attribute", call, 469, -100, secret.encode(), bytes(24), 24, 0)
"""


@pytest.fixture
def secret(user: int) -> Iterator[Path]:
    """A file of the user that nobody else reads."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    path = folder / "secret"
    path.write_text("secret")
    path.chmod(0o600)
    for place in (path, folder):
        os.chown(place, user, -1)
    yield path
    shutil.rmtree(folder)


def test_permissions_of_files_outside_stay_as_they_are(sandbox, user, secret) -> None:
    _, code, out, err = as_user(user, sandbox, TRY + CALLS + OUTSIDE.replace("SECRET", str(secret)) + TELL, {})
    assert (code, out, err) == (0, "[]\n", "")
    assert (stat.S_IMODE(secret.stat().st_mode), stat.S_IMODE(secret.parent.stat().st_mode)) == (0o600, 0o700)


def test_without_a_sandbox_they_change(user, secret) -> None:
    _, _, out, _ = as_user(user, Unsafe(), TRY + CALLS + OUTSIDE.replace("SECRET", str(secret)) + TELL, {})
    assert {"path", "relative path", "link", "process", "folder", "folder's descriptor"} <= {*eval(out)}


SET_ID = """
def make(name, change):
    place = os.open(name, os.O_CREAT | os.O_RDWR, 0o700)
    change(place)
attempt("path", make, "a", lambda place: os.chmod("a", 0o4755))
attempt("group", make, "a", lambda place: os.chmod("a", 0o2755))
attempt("descriptor", make, "a", lambda place: os.fchmod(place, 0o4755))
attempt("empty path", make, "a", lambda place: call(452, place, b"", 0o4755, 0x1000))
attempt("folder", os.chmod, ".", 0o2755)
attempt("new", os.open, "b", os.O_CREAT | os.O_WRONLY, 0o4755)
attempt("nameless", os.open, ".", os.O_TMPFILE | os.O_WRONLY, 0o4755)
attempt("node", os.mknod, "c", 0o104755)
attempt("other form of open", call, 437, -100, b"d", (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)
for name in os.listdir():
    if os.lstat(name).st_mode & 0o6000:
        worked.append(name)
"""


@pytest.mark.parametrize("sandbox", ["landlock"], indirect=True)
async def test_nothing_becomes_set_uid_under_landlock(sandbox, workspace) -> None:
    assert await worked(sandbox, workspace, CALLS + SET_ID) == []
    assert len(await worked(Unsafe(), workspace, CALLS + SET_ID)) > 5


INSIDE = """
def check(mode, path="file"):
    if os.stat(path).st_mode & 0o7777 != mode:
        raise OSError
open("file", "w").close()
os.mkdir("folder")
os.symlink("file", "link")
place, root = os.open("file", os.O_RDWR), os.open(".", os.O_RDONLY)
attempt("path", lambda: (os.chmod("file", 0o755), check(0o755)))
attempt("whole path", lambda: (os.chmod(os.path.abspath("file"), 0o640), check(0o640)))
attempt("link", lambda: (os.chmod("link", 0o600), check(0o600)))
attempt("descriptor", lambda: (os.fchmod(place, 0o444), check(0o444)))
attempt("folder", lambda: (os.chmod("folder", 0o1777), check(0o1777, "folder")))
attempt("in a folder", lambda: (os.chmod("file", 0o700, dir_fd=root), check(0o700)))
attempt("own process", lambda: (os.chmod(f"/proc/self/fd/{place}", 0o711), check(0o711)))
attempt("the box itself", os.chmod, ".", 0o700)
attempt("deleted", lambda: (os.unlink("file"), os.fchmod(place, 0o600)))
try: os.chmod("nothing", 0o600)
except FileNotFoundError: worked.append("no such file")
try: os.chmod("", 0o600)
except FileNotFoundError: worked.append("no path")
"""


async def test_permissions_of_files_in_the_box_change_as_ever(sandbox, workspace) -> None:
    expected = await worked(Unsafe(), workspace, INSIDE)
    for path in (workspace.work / "link", workspace.work / "folder"):
        path.unlink() if path.is_symlink() else path.rmdir()
    assert len(expected) == 11
    assert await worked(sandbox, workspace, INSIDE) == expected


async def test_programs_that_copy_and_unpack_work(sandbox, workspace) -> None:
    script = """set -e
echo 'echo ran' > a; chmod +x a; ./a; chmod 755 a; cp -p a b; ./b; install -m 700 a c; ./c
mkdir d; mv a d; tar cf d.tar d; rm -r d; tar xf d.tar; ./d/a; cp -a d e; chmod -R u=rwX,go= e; ./e/a
git init -q . ; git add . ; git -c user.name=a -c user.email=a@b commit -qm 1; rm b; git checkout -q b; ./b
"""
    done = await play(
        sandbox, ["sh", "-c", script], workspace, env={"HOME": str(workspace.home), "GIT_CONFIG_NOSYSTEM": "1"}
    )
    assert (done.code, done.stdout, done.stderr) == (0, b"ran\n" * 6, b"")
