"""Write the reference pages that follow from the code: settings, command line, prompts and errors.

usage: scripts/docs [--check]      --check writes nothing and fails if a page is not up to date
"""

import inspect
import sys
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from skillgrad import errors
from skillgrad.agents.chat import ChatOptions
from skillgrad.config import Section, TrainConfig
from skillgrad.envs.dataset import DatasetConfig
from skillgrad.prompts import Prompts, prompt_names

PAGES = Path(__file__).parent.parent / "docs" / "reference"
GENERATED = "<!-- Written by scripts/docs. Change the docstrings in the code instead. -->\n\n"


def type_name(annotation: Any) -> str:
    """A type as a reader of YAML would write it."""
    options = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in options)
    if origin is Union or type(annotation).__name__ == "UnionType":
        return " or ".join("null" if option is type(None) else type_name(option) for option in options)
    if origin is not None:
        return f"{origin.__name__} of {', '.join(type_name(option) for option in options)}"
    names = {str: "text", int: "integer", float: "number", bool: "true or false"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def default_of(field: Any) -> str:
    """The default as YAML."""
    if field.default is PydanticUndefined:
        return "required" if field.default_factory is None else f"`{field.default_factory()}`"
    return "" if isinstance(field.default, Section) else f"`{'null' if field.default is None else field.default}`"


def table(section: type[Section], prefix: str) -> str:
    """One section as a table."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in section.model_fields.items():
        meaning = " ".join((field.description or "").split()).replace("|", "\\|")
        free = " *May change when a run is resumed.*" if name in section.free else ""
        default = default_of(field).replace("|", "\\|")
        rows.append(f"| `{prefix}{name}` | {type_name(field.annotation)} | {default} | {meaning}{free} |")
    return "\n".join(rows)


def sections_of(config: type[Section]) -> dict[str, type[Section]]:
    """The sections of the config, by key."""
    found: dict[str, type[Section]] = {}
    for name, field in config.model_fields.items():
        for option in (field.annotation, *get_args(field.annotation)):
            if isinstance(option, type) and issubclass(option, Section):
                found[name] = option
    return found


def config_page() -> str:
    """All settings."""
    text = "# Settings\n\n" + GENERATED
    text += (
        "A run is described by one YAML file. Values come from the file, then from environment variables such as "
        "`SKILLGRAD_TRAIN__EPOCHS=2`, then from dotted flags such as `--train.epochs 2`; later ones win. Unknown "
        "keys are errors. Relative paths in a file count from the folder of that file.\n\n"
    )
    sections = sections_of(TrainConfig)
    text += "`preset` is `default` or `paper`: values that lie below all others.\n"
    for name, section in sections.items():
        text += f"\n## {name}\n\n{inspect.getdoc(section)}\n\n{table(section, f'{name}.')}\n"
        if name == "env":
            text += f"\nOptions of `dataset`:\n\n{table(DatasetConfig, 'env.')}\n"
        if name == "agent":
            text += f"\nOptions of `chat`:\n\n{table(ChatOptions, 'agent.')}\n"
    return text + "\n## prompts\n\nPrompt name to a Markdown file that replaces it: see [prompts](prompts.md).\n"


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
    from skillgrad.cli.main import help_pages

    text = "# Command line\n\n" + GENERATED
    for title, page in help_pages():
        text += f"\n## {title}\n\n```text\n{page.strip()}\n```\n"
    return text


def main() -> int:
    """Write or check all pages."""
    pages = {"config": config_page, "prompts": prompts_page, "errors": errors_page, "cli": cli_page}
    stale: list[str] = []
    for name, page in pages.items():
        path = PAGES / f"{name}.md"
        text = page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(("not up to date, run scripts/docs: " if "--check" in sys.argv else "written: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
