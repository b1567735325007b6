"""Run as a program of one thread, which may fork: adopts and reverts, and is killed on the way.

adoption_killed.py FOLDER WHAT, where WHAT is adopt or revert, makes FOLDER/<k>/<j>: the k-th write of the action was
the last that was made, then the j-th of the recovery. What is left is for the caller to look at.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from sleep_proposals import Project, both, project
from watched import told

from etude.sleep.adoption.adopt import adopt, recover
from etude.sleep.adoption.revert import revert


def killed_at(number: int) -> Callable[[str], None]:
    """Kills this process when this many writes were made."""
    made = [0]

    def listen(name: str) -> None:
        del name
        made[0] += 1
        if made[0] > number:
            os.kill(os.getpid(), signal.SIGKILL)

    return listen


def recovered(place: Project, number: int) -> None:
    """Recover, and be killed when this many writes were made."""
    with told(killed_at(number)):
        recover(place.state)


def dies(action: Callable[[], object]) -> bool:
    """Whether a child that does this is killed."""
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return os.WIFSIGNALED(status)


def main(folder: Path, what: str) -> None:
    """Go through all writes."""
    number, alive = 0, True
    while alive:
        # Paths are absolute in manifests, so each case is made at the place where the action ran.
        place = project(folder / "case")
        proposal = both(place)
        if what == "revert":
            adopt(proposal, place.root, place.state)

        def action(place: Project = place, proposal: Path = proposal, number: int = number) -> None:
            listen = killed_at(number)
            if what == "adopt":
                with told(listen):
                    adopt(proposal, place.root, place.state)
            else:
                with told(listen):
                    revert("n1", place.state)

        alive = dies(action)
        kept, later, dying = folder / "kept", 0, True
        shutil.copytree(folder / "case", kept, symlinks=True)
        # A recovery does what is left of the same writes, so that some of them will do.
        every = number % 4 == 1
        while dying:
            shutil.rmtree(folder / "case")
            shutil.copytree(kept, folder / "case", symlinks=True)
            writes = later if every else sys.maxsize
            dying = dies(lambda writes=writes, place=place: recovered(place, writes))
            shutil.copytree(folder / "case", folder / f"{number:02}" / f"{later:02}", symlinks=True)
            later += 1
        shutil.rmtree(kept)
        shutil.rmtree(folder / "case")
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
