"""A user's program: train on Python lists, with an environment that is a function."""

from etude import BlockingTarget, Skill, StopRun, Summary, Task, Trainer, environment
from etude.events import Decided, Event

TRAIN = [Task(id=f"a{n}", input=f"{n} + 1", gold=str(n + 1), type="sum") for n in range(20)]


class Decisions:
    def emit(self, event: Event) -> None:
        if isinstance(event, Decided):
            print(event.step, event.action)


def attempt(task: Task, skill: Skill, target: BlockingTarget) -> float:
    return float(target.ask(text=task.input, system=skill.text) == task.gold)


sums = environment(train=TRAIN, val=[("3 + 4", "7"), ("1 + 1", "2")], test=(), scorer="numeric", name="sums")(attempt)


def main() -> None:
    skill = Skill(name="sums", text="# Sums\n", files={})
    settings = {"test": {"enabled": False}, "run": {"name": "sums"}}
    try:
        summary: Summary = Trainer(config=settings, env=sums, skill=skill, sinks=[Decisions()], fork="older").train()
        print(summary.best.skill, summary.best.val and summary.best.val.mean)
    except StopRun as stop:
        print(stop.message, stop.hint)
