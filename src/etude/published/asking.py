"""Asking the optimizer about edits: how it reads them, and what follows when it gives no usable answer."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeVar

from etude.errors import UnusableReply
from etude.records import Edit, Patch
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

F = TypeVar("F", bound=ReplyForm)


async def ask_or_warn(
    optimizer: Optimizer, prompt: str, sections: Sequence[str], form: type[F], otherwise: str
) -> F | None:
    """The answer; None where it cannot be used, and the person is told what is done otherwise."""
    try:
        return await optimizer.ask(prompt, sections, form)
    except UnusableReply as error:
        optimizer.warn(f"{otherwise}: {error.message}")
        return None


def _row(edit: Edit) -> dict[str, object]:
    return {
        "op": edit.op,
        "target": edit.target,
        "content": edit.content,
        "reason": edit.reason,
        "cites": list(edit.cites),
    }


def edits_block(title: str, edits: Mapping[int, Edit]) -> str:
    """Numbered edits, one JSON object a line."""
    rows = ({"index": index, "support": edit.support} | _row(edit) for index, edit in edits.items())
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"# {title}\n\n{fence('edits', lines)}"


def patches_block(title: str, patches: Sequence[Patch]) -> str:
    """Patches as JSON, one after the other."""
    shown = ({"reasoning": patch.reasoning, "edits": [_row(edit) for edit in patch.edits]} for patch in patches)
    texts = (json.dumps(patch, ensure_ascii=False, indent=1) for patch in shown)
    return f"# {title}\n\n" + "\n\n".join(fence("patch", text) for text in texts)
