"""Run as a program of one thread, which may fork: nights that are killed on their way, and go on.

night_killed.py FOLDER works through a night undisturbed, then again and again in the same place, each time killed at
another write. Prints a line of JSON for each: where, what differs from the undisturbed night, what was asked twice.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from small_night import Counted, Small, tree
from watched import Writes, watched_writes

from etude.records import ChatRequest, Reply, digest
from etude.sleep.transcripts.ledger import Ledger
from etude.workbench import Given

EVERY = 100
"""Of the writes in the run folders, which the trainer's own tests kill one by one."""
MAY_DIFFER = ("journal.db", "events.jsonl", "summary.json", "night.json", "mine", "ledger.json", ".etude-", ".lock")
"""`mine` has nothing but a journal; night.json tells how often the night was begun."""


class Logged(Counted):
    """Writes down every question that it answered."""

    def __init__(self, counted: Counted, log: Path) -> None:
        super().__init__(counted.name.removeprefix("simulated:"), lambda request: None)
        self._log = log

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        text = digest([self.name, request.model_dump(mode="json")])
        probe = "Reply with the word OK" in request.messages[0].text
        with self._log.open("a") as file:
            file.write(f"{'probe' if probe else text}\n")
        return reply


def night(small: Small, log: Path, at: int = 0) -> list[str]:
    """A night in a child, killed at that write; the names of the writes when it was not."""
    said = log.with_name("writes.json")
    child = os.fork()
    if child == 0:
        writes = Writes(small.base, at, lambda: os.kill(os.getpid(), signal.SIGKILL))
        sys.addaudithook(writes.listen)
        models = Given(target=Logged(small.target, log), optimizer=Logged(small.optimizer, log))
        with watched_writes(lambda moment, number: writes.tell(f"journal {moment} {number}")):
            small.night(given=models)
        said.write_text(json.dumps(writes.names))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return [] if os.WIFSIGNALED(status) else json.loads(said.read_text())


def result(small: Small) -> dict[str, object]:
    """All that a night leaves."""
    report = json.loads((small.state.night(1) / "night.json").read_text())
    for name in ("started", "ended", "spent"):
        del report[name]
    with Ledger(small.state.ledger, read_only=True) as ledger:
        entries = [entry.model_dump_json() for entry in ledger.entries()]
    return {"report": report, "ledger": entries, "files": tree(small.state.folder, without=MAY_DIFFER)}


def say(line: object) -> None:
    sys.stdout.write(f"{json.dumps(line)}\n")


def main(folder: Path) -> None:
    """Go through the writes."""
    log = folder / "log"
    small = Small(folder, n=4)
    names = night(small, log)
    wanted, asked = result(small), log.read_text().split()
    for at, name in enumerate(names, 1):
        if at % EVERY and ("runs/" in name or "journal" in name):
            continue
        shutil.rmtree(small.base)
        log.unlink(missing_ok=True)
        night(small, log, at)
        night(small, log)
        found, answered = result(small), log.read_text().split()
        differs = [key for key in wanted if found[key] != wanted[key]]
        twice = len([one for one in answered if one != "probe"]) - len(set(answered) - {"probe"})
        other = sorted(set(asked) ^ set(answered))
        say({"at": f"{at} {name}", "differs": differs, "twice": twice, "other": other})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
