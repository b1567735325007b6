"""Whose fault a failure was: the skill lacks the rule, or the agent ignored a rule that stands there."""

import re

from etude.simulation.optimizer.diagnosis import Diagnosis, diagnose, rules_concerned
from etude.simulation.optimizer.profiles import Profile
from etude.simulation.optimizer.proposals import VAGUE, content_key
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.rules import statements, states
from etude.simulation.text import pick, squeeze, uniform


def route(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """The cause of every failure, and reminders of the taught rules that were broken. A failure that no rule explains
    is called a lapse."""
    known = states(prompt.skill, rules_concerned(prompt.observations))
    defects = diagnose(prompt.observations, known, compare=prompt.compares)
    blamed = {name for finding in defects for name in finding.attempts}
    routes = [
        {"attempt": one.id, "cause": "skill_defect" if one.id in blamed else "execution_lapse"}
        for one in prompt.observations
        if one.failed
    ]
    lapses = diagnose(prompt.observations, known, compare=prompt.compares, taught=True)
    key = content_key(sorted(f"{one.id}|{one.answer}" for one in prompt.observations), known)
    reminders = [
        row for finding in lapses if (row := _reminder(finding, blamed, f"{profile.name}/{key}", profile)) is not None
    ]
    return {"routes": routes, "reminders": reminders}


def _reminder(finding: Diagnosis, blamed: set[str], key: str, profile: Profile) -> dict[str, object] | None:
    draw = f"reminder/{finding.rule.id}/{key}"
    cites = [name for name in finding.attempts if name not in blamed]
    if not cites or uniform("missing", draw) < profile.missing:
        return None
    rule = finding.rule
    vague = uniform("vague", draw) < profile.vague
    text = pick(VAGUE if vague else rule.statements, "wording", draw)
    return {"content": text, "reason": "The skill says so, and it was not done.", "cites": cites}


_APPENDIX = re.compile(r"<(?P<tag>appendix)\b[^>]*>(?P<body>.*?)</(?P=tag)\b", re.DOTALL | re.IGNORECASE)


def consolidate(prompt: Prompt) -> dict[str, object]:
    """One reminder for each rule, the shortest one; advice that says nothing is dropped."""
    shown = _APPENDIX.search(prompt.text)
    best: dict[object, str] = {}
    for line in shown["body"].splitlines() if shown else ():
        text = squeeze(line).removeprefix("- ")
        says = frozenset((one.rule, one.sign) for one in statements(text, prompt.rules))
        if says and len(text) < len(best.get(says, text + " ")):
            best[says] = text
    return {"reasoning": f"{len(best)} different rules are meant.", "reminders": list(best.values())}
