"""The skill: its document, edits on it, and its folder on disk."""

from etude.readable import token_count
from etude.skill.document import Document
from etude.skill.edits import apply_edit, apply_edits, revised
from etude.skill.folder import load_skill, save_skill, validate_skill

__all__ = [
    "Document",
    "apply_edit",
    "apply_edits",
    "load_skill",
    "revised",
    "save_skill",
    "token_count",
    "validate_skill",
]
