"""The verbs of `etude sleep`. Imports nothing heavy, so that help is instant."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from etude.cli.parsing.verb import Verb
from etude.cli.sleep import arguments

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["SLEEP"]


def _of_a_night() -> "Mapping[str, FieldInfo]":
    from etude.sleep.config import SECTIONS_OF_ITS_OWN, SleepConfig  # only here: help has to be instant

    return {name: field for name, field in SleepConfig.model_fields.items() if name not in SECTIONS_OF_ITS_OWN}


SLEEP: tuple[Verb, ...] = (
    Verb(
        "sleep run",
        "work through a night: harvest, mine, improve, stage a proposal",
        ("etude sleep run sleep.yaml", "etude sleep run sleep.yaml --sleep.lookback_hours 24 --limits.usd 2"),
        arguments.run,
        sections=_of_a_night,
    ),
    Verb(
        "sleep dry-run",
        "say what a night would read, do and cost; asks no model and writes nothing",
        ("etude sleep dry-run sleep.yaml",),
        arguments.run,
        sections=_of_a_night,
    ),
    Verb(
        "sleep status",
        "list nights, proposals that wait, sessions that wait",
        ("etude sleep status",),
        arguments.place,
        dotted=False,
    ),
    Verb(
        "sleep explain",
        "say what a night did, and why it changed what it changed",
        ("etude sleep explain", "etude sleep explain 7 --task m0123456789ab"),
        arguments.explain,
        dotted=False,
    ),
    Verb(
        "sleep harvest",
        "show the sessions that are found; asks no model and writes nothing",
        ("etude sleep harvest --source codex --json", "etude sleep harvest --home /backup/home --hours 240"),
        arguments.harvest,
        dotted=False,
    ),
    Verb(
        "sleep tasks",
        "show the tasks of a night, or hand them over in a file to review",
        ("etude sleep tasks 7 --to tasks.json", "etude sleep tasks --reviewed tasks.json"),
        arguments.tasks,
        dotted=False,
    ),
    Verb(
        "sleep diff",
        "show what a proposal would change",
        ("etude sleep diff", "etude sleep diff 7"),
        arguments.night,
        dotted=False,
    ),
    Verb(
        "sleep adopt",
        "put a proposal in place, as a whole or not at all",
        ("etude sleep adopt", "etude sleep adopt 7 --only memory"),
        arguments.adopt,
        dotted=False,
    ),
    Verb(
        "sleep revert",
        "take back what a night changed, or a single rule",
        ("etude sleep revert 7", "etude sleep revert --rule 1f0e9d8c"),
        arguments.revert,
        dotted=False,
    ),
    Verb(
        "sleep pause",
        "let no night begin, scheduled or not, until a day or until `sleep resume`",
        ("etude sleep pause", "etude sleep pause --until 2027-01-31 --reason 'on holiday'"),
        arguments.pause,
        dotted=False,
    ),
    Verb(
        "sleep resume",
        "end a pause",
        ("etude sleep resume",),
        arguments.place,
        dotted=False,
    ),
    Verb(
        "sleep schedule",
        "run a night every day at a fixed time",
        (
            "etude sleep schedule sleep.yaml --at 03:17",
            "etude sleep schedule sleep.yaml --env OPENAI_API_KEY",
        ),
        arguments.schedule,
        sections=_of_a_night,
    ),
    Verb(
        "sleep unschedule",
        "run it no more",
        ("etude sleep unschedule",),
        arguments.unschedule,
        dotted=False,
    ),
)
