"""The skill: its document, edits on it, and its folder on disk."""

from skillgrad.skill.document import Document, Region, token_count
from skillgrad.skill.edits import apply_edit, apply_edits
from skillgrad.skill.folder import load_skill, save_skill, validate_skill

__all__ = [
    "Document",
    "Region",
    "apply_edit",
    "apply_edits",
    "load_skill",
    "save_skill",
    "token_count",
    "validate_skill",
]
