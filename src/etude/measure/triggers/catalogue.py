"""Skills as an agent program lists them: by name and description, cut to what the program shows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from etude.errors import SkillError
from etude.skill.document import Document
from etude.skill.folder import DOCUMENT, skills_in

Catalogue = Mapping[str, str]
"""Name of a skill to its description, in one line."""
Listing = Literal["claude-code", "codex", "whole"]
"""Whose limits cut the descriptions; `whole` cuts nothing."""

_CLAUDE_CHARS = 8_000
"""For all entries together: a hundredth of the context of 200,000 tokens, at 4 characters a token."""
_CLAUDE_LONGEST = 1_536
_CLAUDE_OWN = 276
"""Characters of the one skill that the program brings and lists first among equals."""
_CODEX_TOKENS = 5_440
"""For all entries together: a fiftieth of the context of 272,000 tokens, 4 bytes a token, rounded up line by line."""
_CODEX_LONGEST = 1_024
# Measured with Claude Code 2.1.328 and Codex 0.169.0 (docs/skills.md); a test compares the entries with what these
# programs send.


def read_catalogue(folder: Path, unread: list[str] | None = None) -> dict[str, str]:
    """The skills in a folder of skill folders, by name.

    Args:
        unread: where given, why a skill cannot be read is added to it, and the skill is passed over.

    Raises:
        SkillError: one cannot be read, or two have one name.
    """
    found, places = dict[str, str](), dict[str, str]()
    for place in skills_in(folder):
        try:
            name, description = read_entry(place / DOCUMENT)
        except SkillError as error:
            if unread is None:
                raise
            unread.append(error.message)
            continue
        if name in found:
            raise SkillError(
                f"two skills in {str(folder)!r} are called {name!r}: {places[name]!r} and {place.name!r}",
                hint="give each a name of its own",
            )
        found[name], places[name] = description, place.name
    return found


def read_entry(document: Path) -> tuple[str, str]:
    """Name and description of a skill. Raises SkillError: the document cannot be read."""
    try:
        meta = Document.parse(document.read_bytes().decode()).meta
    except (OSError, UnicodeDecodeError, SkillError) as error:
        problem = error.message if isinstance(error, SkillError) else error
        raise SkillError(f"{str(document)!r} cannot be read: {problem}", hint="correct the file") from None
    return str(meta.get("name") or document.parent.name), one_line(str(meta.get("description") or ""))


def one_line(text: str) -> str:
    """A description as programs list it: white space folded."""
    return " ".join(text.split())


def shown(catalogue: Catalogue, listing: Listing) -> dict[str, str]:
    """What is left of the descriptions, by name in the order of the list; empty for a skill that is listed by its
    name alone. A skill that is not listed at all is not there."""
    skills = {name: catalogue[name] for name in sorted(catalogue)}
    return _CUTS[listing](skills)


def entries(visible: Catalogue, listing: Listing) -> list[str]:
    """The lines of the list, as the program writes them."""
    if listing == "codex":
        return [_codex_line(name, text) for name, text in visible.items()]
    return [f"- {name}: {text}" if text else f"- {name}" for name, text in visible.items()]


def _cut_as_claude(skills: dict[str, str]) -> dict[str, str]:
    """All names first; then, in order, each description that still fits, whole."""
    left = _CLAUDE_CHARS - _CLAUDE_OWN - sum(len(f"- {name}\n") for name in skills)
    visible = dict.fromkeys(skills, "")
    for name, text in skills.items():
        text = text[:_CLAUDE_LONGEST]
        if text and len(f": {text}") <= left:
            visible[name] = text
            left -= len(f": {text}")
    return visible


def _cut_as_codex(skills: dict[str, str]) -> dict[str, str]:
    """Names that fit, in order; then a character for each in turn, as long as any fits."""
    left, visible = _CODEX_TOKENS, dict[str, str]()
    for name in skills:
        if (cost := _codex_cost(name, "")) <= left:
            visible[name], left = "", left - cost
    growing = list(visible)
    while growing:
        rest: list[str] = []
        for name in growing:
            whole = skills[name][:_CODEX_LONGEST]
            longer = whole[: len(visible[name]) + 1]
            more = _codex_cost(name, longer) - _codex_cost(name, visible[name])
            if longer != visible[name] and more <= left:
                visible[name], left = longer, left - more
                rest.append(name)
        growing = rest
    return visible


def _codex_line(name: str, text: str) -> str:
    return f"- {name}: {text}{' ' if text else ''}(file: r0/{name}/{DOCUMENT})"


def _codex_cost(name: str, text: str) -> int:
    return -(-len(f"{_codex_line(name, text)}\n".encode()) // 4)


_CUTS: Mapping[Listing, Callable[[dict[str, str]], dict[str, str]]] = {
    "claude-code": _cut_as_claude,
    "codex": _cut_as_codex,
    "whole": dict,
}
