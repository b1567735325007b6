"""How two texts differ, line by line."""

import difflib
from pathlib import Path

from etude.records import Record, Skill, brief
from etude.skill.folder import load_skill


class SkillDiff(Record):
    """How two skills differ. Printed it is a unified diff."""

    before: Skill
    after: Skill

    def __repr__(self) -> str:
        lines = str(self).split("\n")[2:]  # the first two name files
        plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        return f"<SkillDiff {brief(self.before.name, 30)} -> {brief(self.after.name, 30)}: +{plus} -{minus} lines>"

    def __str__(self) -> str:
        return unified_diff(self.before.text, self.after.text, "before/SKILL.md", "after/SKILL.md")


def diff_skills(before: Skill | Path | str, after: Skill | Path | str) -> SkillDiff:
    """How the texts of two skills, or of skills at these paths, differ. Raises SkillError: there is none."""
    a, b = (skill if isinstance(skill, Skill) else load_skill(skill) for skill in (before, after))
    return SkillDiff(before=a, after=b)


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """A unified diff with three lines of context, as `patch` reads it; empty for equal texts."""
    lines: list[str] = []
    for line in difflib.unified_diff(_lines(before), _lines(after), before_name, after_name):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
