"""What the Agent Skills format asks of front matter."""

import re
from collections.abc import Mapping
from typing import Any, cast

from etude.readable import token_count
from etude.skill.document import Document

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_BODY_LINES = 500
MAX_BODY_TOKENS = 5_000

MAX_LISTED = 1_536
"""Characters of `description` and `when_to_use` together that Claude Code shows."""
RESERVED = ("anthropic", "claude")
"""Words that agent programs keep for skills of their own."""

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_WHEN = re.compile(r"\b(?:use|used|using|when|whenever|if)\b", re.IGNORECASE)
_TEXTS = ("name", "description", "license", "compatibility")
_KEYS = (*_TEXTS, "metadata", "allowed-tools")
_REQUIRED = ("name", "description")


def faults(meta: Mapping[str, Any]) -> list[str]:
    """What makes front matter plainly invalid, each starting with its key: absent, of the wrong type, a bad name."""
    return [f"{key}: {fault}" for key in (*_TEXTS, "metadata") if (fault := _fault(key, meta))]


def disagreements(document: Document, strict: bool) -> list[str]:
    """What the format asks for beyond that, and with `strict` what it recommends."""
    meta = document.meta
    found: list[str] = []
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        value = meta.get(key)
        if isinstance(value, str) and len(value) > most:
            found.append(f"{key}: has {len(value)} characters; at most {most} are allowed")
    if meta.get("compatibility") == "":
        found.append("compatibility: is empty; leave it out")
    if not isinstance(meta.get("allowed-tools", ""), str):
        found.append("allowed-tools: is not text; write the names with spaces between them")
    metadata = meta.get("metadata")
    if isinstance(metadata, dict):
        for key, value in cast("dict[object, object]", metadata).items():
            if not isinstance(key, str) or not isinstance(value, str):
                found.append(f"metadata: {key!r} and its value must both be text; put them in quotes")
    if not strict:
        return found
    found += [f"{key}: is not a key of the format" for key in meta if key not in _KEYS]
    lines, tokens = len(document.body.splitlines()), token_count(document.body)
    if lines > MAX_BODY_LINES:
        found.append(f"body: has {lines} lines; at most {MAX_BODY_LINES} are recommended")
    if tokens > MAX_BODY_TOKENS:
        found.append(f"body: has about {tokens:,} tokens; at most {MAX_BODY_TOKENS:,} are recommended")
    return found


def unlisted(meta: Mapping[str, Any]) -> list[str]:
    """What keeps agent programs from listing a skill, or from choosing it, though the format allows it."""
    name, description, when = (str(meta.get(key) or "") for key in ("name", "description", "when_to_use"))
    found = [f"name: {word!r} is reserved by some programs" for word in RESERVED if word in name]
    if _TAG.search(description):
        found.append("description: has a tag in angle brackets, which some programs refuse")
    if len(description) + len(when) > MAX_LISTED:
        found.append(
            f"description: with when_to_use it has {len(description) + len(when):,} characters; what is over "
            f"{MAX_LISTED:,} is not shown"
        )
    if description.strip() and not when.strip() and not _WHEN.search(description):
        found.append("description: does not say when to use the skill; programs choose by it")
    return found


def _fault(key: str, meta: Mapping[str, Any]) -> str:
    if key not in meta:
        return "is missing" if key in _REQUIRED else ""
    value = meta[key]
    if value is None:
        return "is empty"
    if key == "metadata":
        return "" if isinstance(value, dict) else f"is a {type(value).__name__}, not a mapping of text to text"
    if not isinstance(value, str):
        return f"{value!r} is not text; put it in quotes" if isinstance(value, int | float) else "is not text"
    if key in _REQUIRED and not value.strip():
        return "is empty"
    if key == "name" and not (NAME.fullmatch(value) and len(value) <= MAX_NAME):
        return f"{value!r} must be 1 to {MAX_NAME} lowercase letters and digits with single hyphens inside"
    return ""
