"""The rules that a night brought or took out, as data: the ids that `revert --rule` takes, and what they rest on."""

from collections.abc import Collection
from typing import Any

from etude.sleep.adoption.rules import Rules

__all__ = ["rules_data"]

_SHOWN = {"id", "text", "status", "evidence", "replaces", "ablation"}


def rules_data(rules: Rules, night: str, documents: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Each with the real path of its document: active ones that the night wrote, retired ones that it took out.

    Args:
        documents: only the rules of these; by default of all.
    """
    return [
        {"document": document, **rule.model_dump(mode="json", include=_SHOWN)}
        for document, those in rules.documents.items()
        for rule in those
        if (documents is None or document in documents)
        and (rule.night if rule.status == "active" else rule.retired) == night
    ]
