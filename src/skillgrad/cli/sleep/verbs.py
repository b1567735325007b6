"""The verbs of `skillgrad sleep`. Imports nothing heavy, so that help is instant."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillgrad.cli.sleep import arguments
from skillgrad.cli.verb import Verb

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["SLEEP"]


def _of_a_night() -> "Mapping[str, FieldInfo]":
    from skillgrad.sleep.config import SECTIONS_OF_ITS_OWN, SleepConfig  # only here: help has to be instant

    return {name: field for name, field in SleepConfig.model_fields.items() if name not in SECTIONS_OF_ITS_OWN}


SLEEP: tuple[Verb, ...] = (
    Verb(
        "sleep run",
        "work through a night: harvest, mine, improve, stage a proposal",
        ("skillgrad sleep run sleep.yaml", "skillgrad sleep run sleep.yaml --sleep.lookback_hours 24 --limits.usd 2"),
        arguments.run,
        sections=_of_a_night,
    ),
    Verb(
        "sleep dry-run",
        "say what a night would read, do and cost; asks no model and writes nothing",
        ("skillgrad sleep dry-run sleep.yaml",),
        arguments.run,
        sections=_of_a_night,
    ),
    Verb(
        "sleep status",
        "list nights, proposals that wait, sessions that wait",
        ("skillgrad sleep status",),
        arguments.place,
        dotted=False,
    ),
    Verb(
        "sleep explain",
        "say what a night did, and why it changed what it changed",
        ("skillgrad sleep explain", "skillgrad sleep explain 7 --task m0123456789ab"),
        arguments.explain,
        dotted=False,
    ),
    Verb(
        "sleep harvest",
        "show the sessions that are found; asks no model and writes nothing",
        ("skillgrad sleep harvest --source codex --json", "skillgrad sleep harvest --home /backup/home --hours 240"),
        arguments.harvest,
        dotted=False,
    ),
    Verb(
        "sleep tasks",
        "show the tasks of a night, or hand them over in a file to review",
        ("skillgrad sleep tasks 7 --to tasks.json", "skillgrad sleep tasks --reviewed tasks.json"),
        arguments.tasks,
        dotted=False,
    ),
    Verb(
        "sleep diff",
        "show what a proposal would change",
        ("skillgrad sleep diff", "skillgrad sleep diff 7"),
        arguments.night,
        dotted=False,
    ),
    Verb(
        "sleep adopt",
        "put a proposal in place, as a whole or not at all",
        ("skillgrad sleep adopt", "skillgrad sleep adopt 7 --only memory"),
        arguments.adopt,
        dotted=False,
    ),
    Verb(
        "sleep revert",
        "take back what a night changed, or a single rule",
        ("skillgrad sleep revert 7", "skillgrad sleep revert --rule 1f0e9d8c"),
        arguments.revert,
        dotted=False,
    ),
    Verb(
        "sleep pause",
        "let no night begin, scheduled or not, until a day or until `sleep resume`",
        ("skillgrad sleep pause", "skillgrad sleep pause --until 2027-01-31 --reason 'on holiday'"),
        arguments.pause,
        dotted=False,
    ),
    Verb(
        "sleep resume",
        "end a pause",
        ("skillgrad sleep resume",),
        arguments.place,
        dotted=False,
    ),
    Verb(
        "sleep schedule",
        "run a night every day at a fixed time",
        (
            "skillgrad sleep schedule sleep.yaml --at 03:17",
            "skillgrad sleep schedule sleep.yaml --env OPENAI_API_KEY",
        ),
        arguments.schedule,
        sections=_of_a_night,
    ),
    Verb(
        "sleep unschedule",
        "run it no more",
        ("skillgrad sleep unschedule",),
        arguments.unschedule,
        dotted=False,
    ),
)
