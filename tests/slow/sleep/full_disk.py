"""Run as a program of its own, since it limits what it may write: nights on a disk that is full from some write on.

full_disk.py FOLDER works through a night undisturbed, then again and again in the same place. Each time the disk is
full after another write; then there is room again, and the night is run once more. Prints a line of JSON for each.
"""

import json
import resource
import shutil
import sys
from pathlib import Path

from small_night import Small, tree
from watched import Writes, watched_writes

from etude.errors import EtudeError
from etude.sleep.adoption.proposal import read_proposal, readable

EVERY = 150
"""Of the writes to journals."""
FEW = 25
"""Of the other files in run folders, which the trainer's own tests look at."""


def limit(size: int) -> None:
    """How many bytes a file may have; -1 for any number."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, -1))


def listening(writes: list[Writes]) -> None:
    """Audit hooks stay for ever: one hook for whichever counter is last."""
    sys.addaudithook(lambda event, arguments: writes[-1].listen(event, arguments) if writes else None)


def undisturbed(small: Small, counts: list[Writes], at: int = 0) -> tuple[dict[str, object], list[str]]:
    """What came of a night, and the names of its writes."""
    writes = Writes(small.base, at, lambda: limit(0))
    counts.append(writes)
    try:
        with watched_writes(lambda moment, number: writes.tell(f"journal {moment} {number}")):
            report = small.night()
        return {"status": report.status}, writes.names
    except EtudeError as error:
        return {"error": error.message, "hint": error.hint, "code": error.exit_code}, writes.names
    finally:
        limit(-1)
        counts.clear()


def left(small: Small) -> dict[str, object]:
    """What a night leaves that people look at."""
    folder = small.state.night(1) / "proposal"
    return {
        "diff": readable(read_proposal(folder)) if (folder / "proposal.json").exists() else "",
        "ledger": sorted(small.ledger().values()) if small.state.ledger.exists() else [],
        "proposal": (folder / "proposal.json").exists(),
    }


def main(place: Path) -> None:
    counts: list[Writes] = []
    listening(counts)
    first = Small(place)
    _, names = undisturbed(first, counts)
    wanted = left(first)
    print(json.dumps({"writes": len(names), **wanted}))
    journal = [at for at, name in enumerate(names, start=1) if name.startswith("journal")]
    others = [at for at in range(1, len(names) + 1) if at not in journal]
    runs = [at for at in others if "/runs/" in names[at - 1]]
    for at in [*(at for at in others if at not in runs), *runs[::FEW], *journal[::EVERY]]:
        shutil.rmtree(place)  # in the same place, so that nothing differs by names
        small = Small(place)
        before = tree(small.root, without=["state"])
        stopped, _ = undisturbed(small, counts, at)
        found = left(small)
        kept = tree(small.root, without=["state"]) == before
        again, _ = undisturbed(small, counts)
        row = {"write": names[at - 1], "stopped": stopped, "found": found, "kept": kept, "again": again}
        print(json.dumps({**row, "same": left(small) == wanted, "nights": small.state.numbers()}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
