"""Watch a run while it works, and stop it from outside.

    python examples/watch_events.py [FOLDER]

A sink is any object with `emit(event)`; it must not block and must not raise. A StopSwitch ends the run as Ctrl-C
does: what is in flight is finished and kept, and the same run can be resumed.
"""

import sys
import tempfile
from collections import Counter

from etude import ListEnvironment, Skill, StopRun, StopSwitch, Trainer
from etude.events import AttemptFinished, Decided, Event
from etude.simulation import SEED_SKILL, make_tasks


class Watcher:
    """Prints decisions, counts attempts, and asks for a stop after steps in a row that bring nothing."""

    def __init__(self, patience: int) -> None:
        self.switch = StopSwitch()
        self.outcomes: Counter[str] = Counter()
        self._patience = patience
        self._idle = 0

    def emit(self, event: Event) -> None:
        if isinstance(event, AttemptFinished):
            self.outcomes[event.outcome] += 1
        if isinstance(event, Decided):
            print(f"step {event.step}: {event.action}, {event.reason}")
            self._idle = 0 if event.action == "accepted" else self._idle + 1
            if self._idle == self._patience:
                self.switch.stop()


def main(folder: str) -> None:
    """Train until the watcher has seen enough."""
    tasks = make_tasks("counting", 80, seed=8)
    env = ListEnvironment(tasks[:30], tasks[30:55], tasks[55:], scorer="exact")
    config = {"run": {"folder": folder, "name": "watch-events"}}
    watcher = Watcher(patience=2)
    skill = Skill(name="counting", text=SEED_SKILL)
    try:
        Trainer(config, env=env, skill=skill, sinks=[watcher], switch=watcher.switch).train()
    except StopRun as stop:
        print(f"stopped after step {stop.summary.steps}: {stop.message}")
    print(f"attempts: {dict(watcher.outcomes)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
