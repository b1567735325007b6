"""A skill that SkillOpt has trained: its protected parts are regions here."""

import re
from pathlib import Path

from etude.errors import SkillError
from etude.published.slow_update import REGION as SLOW_UPDATE
from etude.published.update_modes.appendix import REGION as APPENDIX
from etude.skill import Document
from etude.skill.lines import without_blank_edges

_MARKER = re.compile(r"<!--\s*(\w*(?:SLOW_UPDATE|APPENDIX))_(START|END)\s*-->")


def converted(text: str, path: Path) -> str:
    """The text with regions in the place of such parts; empty ones are left out, and several of a kind become one.
    Raises SkillError: one of them is not closed."""
    parts: dict[str, list[str]] = {}
    rest, at, opened = "", 0, ""
    for marker in _MARKER.finditer(text):
        name, begins = marker[1], marker[2] == "START"
        if begins == bool(opened) or (opened and name != opened):
            line = text.count("\n", 0, marker.start()) + 1
            raise SkillError(
                f"{str(path)!r}, line {line}: {marker[0]!r} has no partner",
                hint="remove it, or close what begins with it",
            )
        between = text[at : marker.start()]
        if begins:
            rest += between
        elif content := without_blank_edges(between):
            parts.setdefault(APPENDIX if "APPENDIX" in name else SLOW_UPDATE, []).append(content)
        opened, at = name if begins else "", marker.end()
    if opened:
        raise SkillError(
            f"{str(path)!r}: '{opened}_START' has no end", hint="remove it, or close what begins with it"
        )
    if not at:
        return text
    document = Document.parse((rest + text[at:]).rstrip() + "\n")
    for region, contents in parts.items():
        document = document.with_region(region, "\n\n".join(contents))
    return document.text
