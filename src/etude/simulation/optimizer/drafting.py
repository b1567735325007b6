"""The simulated drafter: tasks for a skill, by what the skill says it is for. It is as imperfect as its profile: some
drafts copy the skill, some come twice, some let any answer pass, and some have a wrong answer."""

import random
import re

from etude.simulation.families import FAMILIES
from etude.simulation.families.family import Family, relevant, right_answer
from etude.simulation.miner import RUBRICS
from etude.simulation.optimizer.profiles import Profile
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.text import sentences, uniform

_WANTED = re.compile(r"^# Tasks wanted: (\d+)$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: *(.+)$", re.MULTILINE)
_LONG = 8
"""Words of a sentence that is known again when it is copied."""


def draft(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """Values by name for filling the form: tasks of the families that the skill is about, none where it is about no
    known one. Each question has other tasks."""
    wanted = _WANTED.search(prompt.text)
    about = _families(prompt.skill)
    rng, drafts = random.Random(f"drafts/{prompt.text}"), list[dict[str, object]]()
    for number in range(int(wanted[1]) if wanted and about else 0):
        family = about[number % len(about)]
        text = family.make(rng)
        if uniform("missing", text) < profile.missing:
            continue
        if drafts and uniform("duplicate", text) < profile.duplicate:
            drafts.append(drafts[-1])
            continue
        copied = [each for each in sentences(prompt.skill) if len(each.split()) >= _LONG]
        said = f" {rng.choice(copied)}" if copied and uniform("copied", text) < profile.misanchored else ""
        drafts.append({"request": text + said, "kind": family.kind(text), **_criteria(family, text, profile)})
    return {"drafts": drafts}


def _families(skill: str) -> list[Family]:
    """Those that the description speaks of; without one, the whole text."""
    described = _DESCRIPTION.search(skill)
    about = described[1] if described else skill
    return [family for family in FAMILIES if re.search(family.subject, about, re.IGNORECASE)]


def _criteria(family: Family, text: str, profile: Profile) -> dict[str, object]:
    if uniform("vague", text) < profile.vague:
        short = {"op": "max_chars", "arg": "4000", "requirement": "is not too long"}
        return {"checks": [short], "rubric": ""}
    if family.prose:
        return {"checks": [], "rubric": " ".join(RUBRICS.values())}
    answer = right_answer(family, text)
    if uniform("harmful", text) < profile.harmful and (steps := relevant(family, text)):
        answer = family.solve(text, frozenset((steps[0].id,))).answer
    whole = {"op": "regex", "arg": rf"(?i)\A\s*{re.escape(answer)}\.?\s*\Z"}
    return {"checks": [{**whole, "requirement": "nothing is missing, added or out of place"}], "rubric": ""}
