"""Write the reference pages that follow from the code: settings, command line, prompts and errors.

usage: scripts/docs [--check]      --check writes nothing and fails if a page is not up to date
"""

import inspect
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic_core import PydanticUndefined

from etude import errors
from etude.agents.answers import AnswerOptions
from etude.agents.program import CommandOptions, ProgramOptions
from etude.agents.tools import ToolsOptions
from etude.cli.parsing.parser import VERBS, overview
from etude.config import ModelSection, Section, TrainConfig
from etude.envs.command import CommandConfig
from etude.envs.dataset import DatasetConfig
from etude.envs.scorers.rubric import Grade, RubricOptions
from etude.events import Event, Stage
from etude.prompts import Prompts, prompt_names
from etude.published.options import PaperOptions, RewriteFirstOptions
from etude.registry import BUILT_IN, find
from etude.searches.evidence import EvidenceOptions
from etude.sleep.config import NIGHT, SleepSection
from etude_annexes.foreign.harbor.environment import HarborConfig
from etude_annexes.foreign.inspect import InspectConfig
from etude_annexes.foreign.textworld.environment import TextWorldConfig
from etude_annexes.foreign.verifiers import VerifiersConfig
from etude_annexes.spreadsheet.environment import SpreadsheetConfig

PAGES = Path(__file__).parent.parent / "docs" / "reference"
GENERATED = "<!-- Written by scripts/docs. Change the docstrings in the code instead. -->\n\n"


def type_name(annotation: Any) -> str:
    """A type as a reader of YAML would say it."""
    options = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return type_name(options[0])
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in options)
    if origin in (Union, UnionType):
        return " or ".join("null" if option is NoneType else type_name(option) for option in options)
    if origin is dict:
        return f"mapping of {type_name(options[0])} to {type_name(options[1])}"
    if origin is tuple:
        return f"list of {', '.join(type_name(option) for option in options if option is not Ellipsis)}"
    if origin is list:
        return f"list of {type_name(options[0])}"
    if section_in(annotation) is not None:
        return "section"
    names = {str: "text", int: "integer", float: "number", bool: "true or false", JsonValue: "any value"}
    return names[annotation]


def section_in(annotation: Any) -> type[Section] | None:
    """The section a field holds, if it holds one."""
    found = [o for o in (annotation, *get_args(annotation)) if isinstance(o, type) and issubclass(o, Section)]
    return found[0] if found else None


def default_of(field: Any, name: str, given: Section | None) -> str:
    """The default as YAML; `given` is what the settings hold when nothing is set."""
    value = getattr(given, name) if isinstance(given, Section) else field.default
    if value is PydanticUndefined and field.default_factory is not None:
        value = field.default_factory()
    if value is PydanticUndefined:
        return "required"
    return "" if isinstance(value, Section) else f"`{json.dumps(value)}`".replace("|", "\\|")


def rows(section: type[Section], prefix: str, given: Section | None = None) -> list[str]:
    """One row of a table for each key, those of sections within it included."""
    found: list[str] = []
    for name, field in section.model_fields.items():
        meaning = " ".join((field.description or "").split()).replace("|", "\\|").replace("<", "&lt;")
        free = " †" if name in section.free else ""
        default = default_of(field, name, given)
        kind = type_name(field.annotation)
        kind = kind.removesuffix(" or null") if default == "`null`" else kind
        found.append(f"|`{prefix}{name}`|{kind}|{default}|{meaning}{free}|")
        inner = section_in(field.annotation)
        if inner is not None:
            found += rows(inner, f"{prefix}{name}.", field.default if isinstance(field.default, Section) else None)
    return found


def table(lines: list[str]) -> str:
    """Rows under their heading."""
    return "\n".join(["|key|type|default|meaning|", "|---|---|---|---|", *lines])


FURTHER: dict[str, list[tuple[str, str, type[Section]]]] = {
    "env": [
        ("Further keys are options of the environment. Those of `dataset`:", "env.", DatasetConfig),
        (
            "Those of [`command`](../guides/command-environment.md), which has those of `dataset` except `scorer`:",
            "env.",
            CommandConfig,
        ),
        (
            "Those of [`spreadsheet`](../guides/spreadsheet.md), which has the splits and `limit` of `dataset`:",
            "env.",
            SpreadsheetConfig,
        ),
        (
            "Those of [`harbor`](../guides/foreign-environments.md#harbor), with splits in folders of task folders:",
            "env.",
            HarborConfig,
        ),
        (
            "Those of [`textworld`](../guides/foreign-environments.md#textworld), with splits in folders of games:",
            "env.",
            TextWorldConfig,
        ),
        ("Those of [`inspect`](../guides/foreign-environments.md#inspect):", "env.", InspectConfig),
        ("Those of [`verifiers`](../guides/foreign-environments.md#verifiers):", "env.", VerifiersConfig),
    ],
    "search": [
        ("Further keys are options of the policy. Those of `evidence`:", "search.", EvidenceOptions),
        ("Those of [`paper`](published-knobs.md):", "search.", PaperOptions),
        ("Those of `rewrite_first`, in addition to those of `paper`:", "search.", RewriteFirstOptions),
    ],
    "agent": [
        ("Further keys are options of the agent. Those of `chat`:", "agent.", AnswerOptions),
        ("Those of `tools`, in addition to the one of `chat`:", "agent.", ToolsOptions),
        (
            "Those of agent programs (`claude-code`, ...), which have that of `chat` and the `limits` of `tools`:",
            "agent.",
            ProgramOptions,
        ),
        ("Those of `command`, in addition to those of agent programs:", "agent.", CommandOptions),
    ],
}
"""Options that depend on a name in the section: what stands above their table, their prefix, their class."""


def section_text(name: str, section: type[Section]) -> str:
    """What one section of the settings is about, and its keys."""
    field = TrainConfig.model_fields[name]
    free = " *All of it may change when a run is resumed.*" if name in TrainConfig.free - {"targets"} else ""
    text = f"\n## {name}\n\n{field.description}{free}\n\n"
    given = field.default
    lines = rows(section, f"{name}.MODEL." if get_origin(field.annotation) is dict else f"{name}.", given)
    if name in ("optimizer", "judge"):
        target = rows(ModelSection, f"{name}.", TrainConfig.model_fields["target"].default)
        text += "The keys are those of [target](#target), with these differences:\n\n"
        lines = [line for line in lines if line not in target]
    text += table(lines) + "\n"
    for about, prefix, options in FURTHER.get(name, ()):
        further = [line for line in rows(options, prefix) if line not in lines]
        lines += further
        text += f"\n{about}\n\n{table(further)}\n"
    return text


def sleep_text() -> str:
    """The section that a night has beside those of a run, and what else is different."""
    text = "\n## sleep\n\nOnly in the settings of [`etude sleep`](../guides/sleep.md), which have these sections "
    text += "next to it: `target` and `optimizer`, which have to name a model; `agent`, `judge`, `train`, `search`, "
    text += "`reflect`, `gate`, `limits` and the others. `env`, `skill`, `run`, `preset` and `search.policy` are set "
    text += "by the night. Their defaults are those of a run, except these:\n\n|key|default in a night|\n|---|---|\n"
    for name, given in NIGHT.items():
        text += "".join(f"|`{name}.{key}`|`{json.dumps(value)}`|\n" for key, value in given.items())
    return f"{text}\n{table(rows(SleepSection, 'sleep.'))}\n"


def scorers_text() -> str:
    """The options of every scorer."""
    text = "\n## Scorers\n\nOptions of `env.scorer`, next to its `name`. What they are for: "
    text += "[tasks and scorers](../guides/tasks-and-scorers.md).\n"
    for name in BUILT_IN["scorers"]:
        scorer = find("scorers", name)
        options = getattr(scorer, "options_type", RubricOptions)
        text += f"\n### {name}\n\n{inspect.getdoc(scorer)}\n\n{table(rows(options, ''))}\n"
    return text


def config_page() -> str:
    """All settings."""
    text = "# Settings\n\n" + GENERATED
    text += (
        "A run is described by one YAML file. Values come from the file, then from environment variables such as "
        "`ETUDE_TRAIN__EPOCHS=2`, then from dotted flags such as `--train.epochs 2`; later ones win. Unknown "
        "keys are errors. Relative paths in a file count from the folder of that file. A file can name code, "
        "programs and servers: [what a project can do](../concepts/trust.md).\n\n"
        "`preset` is `default` or `paper`: values that lie below all others. `paper` has the published schedule "
        "and makes fresh attempts in each epoch.\n\n"
        "`report_to` † is a list of [trackers](../guides/trackers.md), as in `[trackio]`; none by default.\n\n"
        "What is marked † may change when a run is resumed.\n"
    )
    for name, field in TrainConfig.model_fields.items():
        section = section_in(field.annotation)
        text += section_text(name, section) if section is not None else ""
    text += "\n## prompts\n\nPrompt name to a Markdown file that replaces it: see [prompts](prompts.md).\n"
    return text + sleep_text() + scorers_text()


def prompts_page() -> str:
    """All prompts, in full."""
    prompts = Prompts()
    text = "# Prompts\n\n" + GENERATED
    text += (
        "Each prompt is the system message of one kind of call; skill, attempts and edits follow in the user "
        "message. Replace one by name: `prompts: {select: mine.md}` in settings, or `Trainer(..., prompts={...})` "
        "with the text itself or a `Path`.\n"
    )
    for name in prompt_names():
        text += f"\n## {name}\n\n````markdown\n{prompts[name]}\n````\n"
    return text


def errors_page() -> str:
    """The exception tree."""
    return f"# Errors\n\n{GENERATED}```text\n{inspect.getdoc(errors)}\n```\n"


def cli_page() -> str:
    """The help of every verb."""
    pages = {"etude": overview()}
    with terminal_width(100):
        pages |= {f"etude {verb.name}": verb.parser.format_help() for verb in VERBS}
    text = "# Command line\n\n" + GENERATED
    text += "What `--trust` is about: [what a project can do](../concepts/trust.md).\n"
    for title, page in pages.items():
        text += f"\n## {title}\n\n```text\n{page.strip()}\n```\n"
    return text


def events_page() -> str:
    """What a sink gets, and what a model is to answer."""
    text = "# Events and replies\n\n" + GENERATED
    text += (
        "What a [sink](../guides/python.md#watch-and-stop) gets, one object after the other; `events.jsonl` of a run "
        "folder has the same, with the time `at`. The classes are in `etude.events`, all optional fields have "
        "defaults.\n\n|class|`kind`|is|fields|\n|---|---|---|---|\n"
    )
    for event in get_args(Event):
        fields = ", ".join(f"`{name}`" for name in event.model_fields if name != "kind")
        about = " ".join((inspect.getdoc(event) or "").split())
        text += f"|`{event.__name__}`|`{event.model_fields['kind'].default}`|{about}|{fields}|\n"
    stages = ", ".join(f"`{stage}`" for stage in get_args(Stage))
    text += f"\n`stage` is one of {stages}. Scores are means in [0, 1], null where they were not measured.\n"
    text += (
        "\n## Replies\n\nWhat a [model of your own](../guides/python.md#a-model) is to answer, by the "
        "[prompt](prompts.md) that is the system message. `request.response_schema` has the JSON schema (`name` and "
        "`body`). Calls that read attempts or merge (`reflect_*`, `merge_*`) end with the `return_*` prompt of the "
        "[update mode](../guides/update-modes.md). The target answers in free text.\n\n|prompt|reply|\n|---|---|\n"
    )
    prompts = Prompts()
    for name in prompt_names():
        _, asked, reply = prompts[name].rpartition("Reply with JSON: ")
        if asked:
            shape = reply[: reply.rindex("}") + 1].replace("|", "\\|")
            text += f"|`{name}`|`{shape}`|\n"
    grade = ", ".join(f'"{name}": {type_name(field.annotation)}' for name, field in Grade.model_fields.items())
    text += f"|`rubric` (the judge)|`{{{grade.replace('text', 'string')}}}`|\n"
    return text


@contextmanager
def terminal_width(columns: int) -> Generator[None]:
    """The width argparse folds its help to, whatever terminal this runs in."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def pages() -> dict[str, str]:
    """Every page by its name."""
    makers = {"config": config_page, "prompts": prompts_page, "errors": errors_page, "cli": cli_page}
    makers |= {"events": events_page}
    return {name: make() for name, make in makers.items()}


def main() -> int:
    """Write or check all pages."""
    stale: list[str] = []
    for name, text in pages().items():
        path = PAGES / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(("not up to date, run scripts/docs: " if "--check" in sys.argv else "written: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
