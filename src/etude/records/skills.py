"""A skill and its files."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from pydantic import SerializationInfo, field_serializer, field_validator

from etude.records.record import Record, brief, digest

_SAID = re.compile(r"\d+ bytes, sha256 [0-9a-f]{16}")


class File(Record):
    """A file next to SKILL.md, or in a workspace."""

    data: bytes
    executable: bool = False

    @field_validator("data", mode="before")
    @classmethod
    def _from_view(cls, data: object) -> object:
        """A view is read again as what it says: it does not hold the content."""
        return data.encode() if isinstance(data, str) and _SAID.fullmatch(data) else data

    @field_serializer("data", when_used="json")
    def _data(self, data: bytes, info: SerializationInfo) -> str:
        """As base64; in views, which are for people, only how much it is."""
        context = cast(Mapping[str, Any] | None, info.context)
        if context is not None and context.get("view"):
            return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
        return base64.b64encode(data).decode()


class Skill(Record):
    """A skill: the text of its SKILL.md, and the files around it."""

    name: str = "skill"
    text: str
    """The whole document, front matter and protected regions included."""
    files: Mapping[str, File] = {}
    """Relative POSIX path to file: `references/`, `scripts/`, assets."""

    @cached_property
    def hash(self) -> str:
        """16 hex digits over text and files; the name does not count."""
        files = {path: [hashlib.sha256(file.data).hexdigest(), file.executable] for path, file in self.files.items()}
        return digest([self.text, files])[:16]

    def __repr__(self) -> str:
        lines = f"{len(self.text.splitlines())} lines"
        return f"<Skill {brief(self.name)} {self.hash}: {lines}{f', {len(self.files)} files' if self.files else ''}>"

    def with_text(self, text: str) -> "Skill":
        """The same skill with another document."""
        return Skill(name=self.name, text=text, files=self.files)
