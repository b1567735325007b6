"""Dotted flags: `--section.key VALUE` and `--section.key=VALUE` set any setting."""

import re
from collections.abc import Sequence

from etude.cli.parsing.usage import UsageError

Flags = list[tuple[str, str]]

_DOTTED = re.compile(r"--([A-Za-z_]\w*(?:\.[\w-]+)+)(?:=(.*))?", re.DOTALL)


def take_dotted(words: Sequence[str]) -> tuple[list[str], Flags]:
    """(the other words, the flags as (dotted key, YAML text)), both in their order. `--` ends the flags.
    Raises UsageError: a flag has no value."""
    rest: list[str] = []
    flags: Flags = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*rest, word, *waiting], flags
        match = _DOTTED.fullmatch(word)
        if match is None:
            rest.append(word)
            continue
        key, value = match[1], match[2]
        if value is None:
            if not waiting or waiting[0].startswith("--"):
                raise UsageError(f"--{key} needs a value", hint=f"as in --{key}=VALUE")
            value = waiting.pop(0)
        flags.append((key, value))
    return rest, flags
