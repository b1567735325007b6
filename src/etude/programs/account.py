"""What is kept of an attempt by a program: the same whatever folders and ids the attempt happened to have."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etude.records import Message, Skill, TextPart
from etude.skill import Document

SHORTEST_LINE = 16
"""A shorter line of a skill may stand in a conversation by chance."""


@dataclass(frozen=True)
class Account:
    """What an attempt came to."""

    answer: str
    messages: tuple[Message, ...]
    exit_codes: dict[str, int]


def neutral(account: Account, folders: Mapping[Path, str]) -> Account:
    """The same with other names for folders of this machine, and calls numbered in their order."""
    rename = _renaming(folders)
    ids: dict[str, str] = {}
    for message in account.messages:
        for call in message.tool_calls:
            ids.setdefault(call.id, f"call-{len(ids) + 1}")
    return Account(
        rename(account.answer),
        tuple(_renamed(message, rename, ids) for message in account.messages),
        {ids[id]: code for id, code in account.exit_codes.items() if id in ids},
    )


def _renamed(message: Message, rename: Callable[[str], str], ids: Mapping[str, str]) -> Message:
    content = tuple(
        TextPart(text=rename(part.text)) if isinstance(part, TextPart) else part for part in message.content
    )
    calls = tuple(
        call.model_copy(update={"id": ids[call.id], "arguments": rename(call.arguments)})
        for call in message.tool_calls
    )
    answered = message.tool_call_id and ids.get(message.tool_call_id, message.tool_call_id)
    return message.model_copy(update={"content": content, "tool_calls": calls, "tool_call_id": answered})


def _renaming(folders: Mapping[Path, str]) -> Callable[[str], str]:
    names = {str(path): name for path, name in folders.items()}
    names |= {str(path.resolve()): name for path, name in folders.items()}
    if not names:
        return lambda text: text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])")
    return lambda text: pattern.sub(lambda found: names[found[0]], text)


def after_the_prompt(conversation: Sequence[Message]) -> tuple[Message, ...]:
    """What happened in a conversation as the gateway saw it: from the first word of the model on."""
    first = next((i for i, message in enumerate(conversation) if message.role == "assistant"), len(conversation))
    return tuple(message for message in conversation[first:] if message.role != "system")


def has_read(skill: Skill, conversation: Sequence[Message]) -> bool | None:
    """Whether the text of the skill was before the model, None when the skill has no text to tell it by.

    The line with the most characters stands for the text: programs show files with line numbers, or parts of them.
    """
    lines = [line.strip() for line in Document.parse(skill.text).body.splitlines()]
    longest = max(lines, key=len, default="")
    if len(longest) < SHORTEST_LINE:
        return None
    return any(longest in message.text for message in conversation)
