"""Edits as the optimizer reads and writes them."""

import json
from collections.abc import Sequence

from etude.records import Edit, Patch
from etude.stages.shared.render import fence


def edit_row(edit: Edit, index: int | None = None) -> dict[str, object]:
    """An edit as the optimizer reads and writes it."""
    row: dict[str, object] = {} if index is None else {"index": index, "support": edit.support}
    return row | {
        "op": edit.op,
        "target": edit.target,
        "content": edit.content,
        "reason": edit.reason,
        "cites": list(edit.cites),
    }


def patches_block(title: str, patches: Sequence[Patch]) -> str:
    """Patches as JSON, one after the other."""
    texts = [
        json.dumps(
            {"reasoning": patch.reasoning, "edits": [edit_row(edit) for edit in patch.edits]},
            ensure_ascii=False,
            indent=1,
        )
        for patch in patches
    ]
    return f"# {title}\n\n" + "\n\n".join(fence("patch", text) for text in texts)
