"""Which sandbox this machine has."""

import os
import shutil
from collections.abc import Iterable

from etude.concurrency import run_to_end
from etude.errors import Missing
from etude.sandbox.box import Box, Limits
from etude.sandbox.bubblewrap import Bubblewrap
from etude.sandbox.landlock import Landlock
from etude.sandbox.process import run
from etude.sandbox.sandbox import Sandbox, SandboxError, Unsafe
from etude.sandbox.scratch import Scratch, remove_stale

_TRIAL = Limits(seconds=60, grace_seconds=1)


def find_sandbox(*, unsafe: bool = False) -> Sandbox:
    """bubblewrap where it works, else Landlock, for root only if `unsafe`; each is tried out, which takes a fraction
    of a second.

    Where neither works: no sandbox at all if `unsafe`, else Missing. The caller will run programs, so that
    folders which killed processes of this user left behind are removed first.
    """
    remove_stale()
    ways = (find_bubblewrap, lambda: find_landlock(for_root=unsafe))
    return choose((find() for find in ways), unsafe=unsafe)


def choose(found: Iterable[Sandbox | str], *, unsafe: bool) -> Sandbox:
    """The first that works of sandboxes, and reasons why one does not."""
    reasons: list[str] = []
    for one in found:
        if isinstance(one, Sandbox):
            return one
        reasons.append(one)
    if unsafe:
        return Unsafe()
    raise Missing(
        f"there is no sandbox on this machine that could run programs: {'; '.join(reasons)}",
        hint="install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap), or run the programs without "
        "one: --unsafe-no-sandbox, or unsafe_no_sandbox: true in the section that runs them (agent or env)",
    )


def find_bubblewrap(program: str = "bwrap") -> Bubblewrap | str:
    """bubblewrap as it works here, else why it does not."""
    path = shutil.which(program)
    if path is None:
        return f"'{program}' is not installed"
    reason = ""
    for sandbox in (Bubblewrap(path), Bubblewrap(path, nested=True)):
        reason = _trial(sandbox)
        if not reason:
            return sandbox
    return f"bubblewrap does not work ({reason})"


def find_landlock(*, for_root: bool = False) -> Landlock | str:
    """Landlock if it works here, else why it does not. It leaves root the files of the system to look at and to date,
    and root is refused unless `for_root`."""
    if os.geteuid() == 0 and not for_root:
        return "Landlock is not enough for root: run etude as another user"
    sandbox = Landlock()
    reason = sandbox.missing() or _trial(sandbox)
    return f"Landlock does not work ({reason})" if reason else sandbox


def _trial(sandbox: Sandbox) -> str:
    """Writes and reads a file of the box with it, and fails to see one outside: what went wrong, or nothing."""
    with Scratch() as scratch:
        inside, outside = scratch.path / "inside", scratch.path / "outside"
        inside.mkdir()
        outside.write_text("outside\n")
        script = 'echo inside > it && read -r line < it && echo "$line"; read -r line < "$1" && echo "$line"'
        argv = ["/bin/sh", "-c", script, "sh", str(outside)]
        trial = run(argv, box=Box(inside), limits=_TRIAL, sandbox=sandbox, env={"PATH": os.defpath})
        try:
            done = run_to_end(trial)
        except (OSError, SandboxError) as error:
            return str(error)
    if done.stdout == b"inside\n":
        return ""
    if b"outside" in done.stdout:
        return "it hides nothing"
    words = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.code}"]
    return words[0]
