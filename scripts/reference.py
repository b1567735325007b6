"""Write the reference pages that follow from the code: settings, command line, Python, files of a run.

usage: scripts/docs [--check]      --check writes nothing and fails if a page is not up to date
"""

import inspect
import json
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic_core import PydanticUndefined
from reference_records import GENERATED, about, fields_of, run_folder_page

import etude
from etude import errors
from etude.agents.answers import AnswerOptions
from etude.agents.program import CommandOptions, ProgramOptions
from etude.agents.tools import ToolsOptions
from etude.cli.parsing.parser import VERBS, overview
from etude.cli.parsing.verb import Verb
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
from etude_annexes.foreign.verifiers import VerifiersConfig
from etude_annexes.spreadsheet.environment import SpreadsheetConfig

PAGES = Path(__file__).parent.parent / "docs" / "reference"


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
    names = {str: "text", int: "integer", float: "number", bool: "true/false", JsonValue: "any value"}
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
    meanings = dict(fields_of(section))
    for name, field in section.model_fields.items():
        meaning = meanings[name].replace("|", "\\|").replace("<", "&lt;")
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
            "Those of [`command`](../scorers.md#a-program-as-the-judge), with those of `dataset` except `scorer`:",
            "env.",
            CommandConfig,
        ),
        (
            "Those of [`spreadsheet`](../scorers.md#spreadsheetbench), with the splits and `limit` of `dataset`:",
            "env.",
            SpreadsheetConfig,
        ),
        ("Those of [`harbor`](../scorers.md#harbor), with splits in folders of task folders:", "env.", HarborConfig),
        ("Those of [`inspect`](../scorers.md#inspect):", "env.", InspectConfig),
        ("Those of [`verifiers`](../scorers.md#verifiers):", "env.", VerifiersConfig),
    ],
    "search": [
        ("Further keys are options of the policy. Those of `evidence`:", "search.", EvidenceOptions),
        ("Those of [`paper`](../method.md#the-published-loop):", "search.", PaperOptions),
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
    text = f"\n## {name}\n\n{dict(fields_of(TrainConfig))[name]}{free}\n\n"
    lines = rows(section, f"{name}.", field.default)
    if name == "prices":
        return f"{text}The keys of a model are those of `target.price`.\n"
    if name in ("optimizer", "judge", "targets"):
        target = rows(ModelSection, f"{name}.", TrainConfig.model_fields["target"].default)
        text += "The keys are those of [target](#target), with these differences:\n\n"
        lines = [line for line in lines if line not in target and ".agent." not in line]
    text += table(lines) + "\n"
    for heading, prefix, options in FURTHER.get(name, ()):
        further = [line for line in rows(options, prefix) if line not in lines]
        lines += further
        text += f"\n{heading}\n\n{table(further)}\n"
    return text


def sleep_text() -> str:
    """The section that a night has beside those of a run, and what else is different."""
    text = "\n## sleep\n\nOnly in the settings of [`etude sleep`](../nights.md), which have these sections "
    text += "next to it: `target` and `optimizer`, which have to name a model; `agent`, `judge`, `train`, `search`, "
    text += "`reflect`, `gate`, `limits` and the others. `env`, `skill`, `run`, `preset` and `search.policy` are set "
    text += "by the night. Their defaults are those of a run, except these:\n\n|key|default in a night|\n|---|---|\n"
    for name, given in NIGHT.items():
        text += "".join(f"|`{name}.{key}`|`{json.dumps(value)}`|\n" for key, value in given.items())
    return f"{text}\n{table(rows(SleepSection, 'sleep.'))}\n"


def scorers_text() -> str:
    """The options of every scorer; a row that stands under an earlier one is left out."""
    text = "\n## Scorers\n\nOptions of `env.scorer`, next to its `name` ([which to take](../scorers.md#scorers)). "
    text += "`f1` and `anls` have those of `exact` too.\n"
    seen: set[str] = set()
    for name in BUILT_IN["scorers"]:
        scorer = find("scorers", name)
        lines = [line for line in rows(getattr(scorer, "options_type", RubricOptions), "") if line not in seen]
        seen |= set(lines) if name == "exact" else set()
        text += f"\n### {name}\n\n{about(scorer)}\n\n{table(lines)}\n"
    return text


def config_page() -> str:
    """All settings."""
    text = "# Settings\n\n" + GENERATED
    text += (
        "A run is described by one YAML file. Values come from the file, then from environment variables such as "
        "`ETUDE_TRAIN__EPOCHS=2`, then from dotted flags such as `--train.epochs 2`; later ones win. Unknown "
        "keys are errors. Relative paths in a file count from the folder of that file. A file can name code, "
        "programs and servers: [trust](../sandbox.md#trust).\n\n"
        "`preset` is `default` or `paper`: values that lie below all others. `report_to` † is a list of "
        "[trackers](../scale.md#trackers). `prompts` maps the name of a [prompt](../models-and-agents.md#prompts) to "
        "a Markdown file that replaces it.\n\n"
        "What is marked † may change when a run is resumed.\n"
    )
    for name, field in TrainConfig.model_fields.items():
        section = section_in(field.annotation)
        text += section_text(name, section) if section is not None else ""
    return text + sleep_text() + scorers_text()


COMMON = ("--help", "--json", "--trust", "--preset", "--unsafe-no-sandbox", "--config", "--project")
"""Options that several verbs have, which the page says once."""


def cli_page() -> str:
    """What every verb does, and its options."""
    _, _, known = overview().partition("\n\noptions:\n")  # the verbs themselves follow
    text = f"# Command line\n\n{GENERATED}```text\nusage: etude VERB ...\n\noptions:\n{known.rstrip()}\n```\n"
    shared: dict[str, str] = {}
    for verb in VERBS:
        text += f"\n## etude {verb.name}\n\n{verb_text(verb, shared)}\n"
    many = "".join(f"|{option}|{meaning}|\n" for option, meaning in shared.items())
    first = text.index("\n## etude ")
    return (
        f"{text[:first]}\n## Options of many verbs\n\nA verb that takes `--section.key VALUE` takes any "
        "[setting](config.md), as in `--train.epochs 2` or `--gate.metric=soft`; it wins over the file. CONFIG is "
        "the YAML file of settings, `etude.yaml` unless given, for nights `sleep.yaml`.\n\n|option|is|\n|---|---|\n"
        f"{many}{text[first:]}"
    )


def verb_text(verb: Verb, shared: dict[str, str]) -> str:
    """A verb with its own options; those of many verbs are added to `shared`."""
    lines: list[str] = []
    words: list[str] = []
    for action in verb.parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse has no public list
        value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
        meaning = (action.help or "").replace("|", "\\|").replace("<", "&lt;")
        if not action.option_strings:
            words.append(f"[{value}]" if action.nargs in ("?", "*") else f"{value}")
            lines += [] if value == "CONFIG" else [f"|`{value}`|{meaning}|"]
            continue
        option = f"`{' '.join([action.option_strings[-1], str(value)]).strip()}`"
        if action.option_strings[-1] not in COMMON:
            lines.append(f"|{option}|{meaning}|")
        elif not (verb.name.startswith("sleep ") and option.strip("`") in shared) and "--help" not in option:
            shared.setdefault(option, meaning)
    called = " ".join([f"etude {verb.name}", *words, *(["[--section.key VALUE ...]"] if verb.dotted else [])])
    options = "\n\n|option|is|\n|---|---|\n" + "\n".join(lines) if lines else ""
    examples = "\n".join(verb.examples)
    return f"{verb.summary[0].upper()}{verb.summary[1:]}: `{called}`{options}\n\n```sh\n{examples}\n```"


def python_page() -> str:
    """The public names, what a sink gets, what a model is to answer, and the errors."""
    text = f"# Python names\n\n{GENERATED}What `from etude import ...` offers ([how to use it](../python.md)).\n\n"
    text += "|name|is|\n|---|---|\n"
    for name in etude.__all__:
        full = f"a{name}" if f"a{name}" in etude.__all__ else name
        first = about(getattr(etude, full)).split("\n\n")[0] if name != "__version__" else "The version."
        if not (name[0] == "a" and name[1:] in etude.__all__):
            both = f"`{name}`, `a{name}`" if f"a{name}" in etude.__all__ else f"`{name}`"
            text += f"|{both}|{' '.join(first.split()).partition(' Raises ')[0]}|\n".replace("<", "&lt;")
    text += "\nModules with more: `etude.records`, `etude.protocols`, `etude.events`, `etude.errors`, `etude.skill`, "
    text += "`etude.measure.plan`, `etude.simulation`, `etude.testing`.\n"
    text += "\n## Events\n\nWhat a [sink](../python.md#scorers-executors-sinks) gets; `events.jsonl` of a run folder "
    text += "has the same, with the time `at`.\n\n|`kind`|is|fields|\n|---|---|---|\n"
    for event in get_args(Event):
        fields = ", ".join(f"`{name}`" for name in event.model_fields if name != "kind")
        text += f"|`{event.model_fields['kind'].default}`|{' '.join(about(event).split())}|{fields}|\n"
    stages = ", ".join(f"`{stage}`" for stage in get_args(Stage))
    text += f"\n`stage` is one of {stages}. Scores are means in [0, 1], null where they were not measured.\n"
    text += (
        "\n## Replies\n\nWhat a [model of your own](../python.md#a-model) is to answer, by the prompt that is the "
        "system message. Calls that read attempts or merge (`reflect_*`, `merge_*`) end with a `return_*` prompt. "
        "The target answers in free text.\n\n|prompt|reply|\n|---|---|\n"
    )
    prompts = Prompts()
    for name in prompt_names():
        _, asked, reply = prompts[name].rpartition("Reply with JSON: ")
        if asked:
            shape = reply[: reply.rindex("}") + 1].replace("|", "\\|")
            text += f"|`{name}`|`{shape}`|\n"
    grade = ", ".join(f'"{name}": {type_name(field.annotation)}' for name, field in Grade.model_fields.items())
    text += f"|`rubric` (the judge)|`{{{grade.replace('text', 'string')}}}`|\n"
    return text + f"\n## Errors\n\n```text\n{inspect.getdoc(errors)}\n```\n"


def pages() -> dict[str, str]:
    """Every page by its name."""
    makers = {"config": config_page, "cli": cli_page, "python": python_page, "run-folder": run_folder_page}
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
