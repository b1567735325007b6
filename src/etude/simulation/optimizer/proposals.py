"""Turning findings into edits, with the imperfections of a profile.

Everything is drawn from hashes of what was read (attempts, answers, taught rules), so that a repeated or rephrased
request gives the same edits.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etude.simulation.optimizer.diagnosis import Diagnosis
from etude.simulation.optimizer.profiles import DraftEdit, Profile
from etude.simulation.rules import Statement, Teaching, statements, taught
from etude.simulation.text import learned_blocks, pick, squeeze, uniform

VAGUE = (
    "Be careful and check your work before you answer.",
    "Think step by step and double-check the result.",
    "Pay close attention to the details of the task.",
    "Take your time; accuracy matters more than speed.",
    "Read the question twice and make sure you understood it.",
)
_PROTECTED = re.compile(r"<!--\s*(?P<who>[\w-]+):begin .*?<!--\s*(?P=who):end [^>]*-->", re.DOTALL)
"""Regions that no edit may touch."""
_ALTERED = ("As a rule, {}", "{} (see above)", "Please note the following: {}")


def content_key(parts: Sequence[object], known: Mapping[str, Teaching]) -> str:
    """What draws depend on: the parts, and what the skill teaches."""
    return "\x1e".join([*map(str, parts), *sorted(taught(known))])


def propose(
    findings: Sequence[Diagnosis], skill: str, profile: Profile, key: str, ids: Sequence[str]
) -> list[DraftEdit]:
    """Edits for the findings. `ids` are all attempts that were shown."""
    blocks = learned_blocks(skill)
    skill = "\n".join(skill[start:end] for start, end in blocks) if blocks else _PROTECTED.sub("", skill)
    proposals: list[DraftEdit] = []
    for finding in findings:
        draw = f"{profile.name}/{finding.rule.id}/{key}"
        if uniform("missing", draw) < profile.missing:
            continue
        main = _main(finding, skill, profile, draw)
        if uniform("miscited", draw) < profile.miscited:
            main = replace(main, cites=_wrong_cites(finding, ids, draw))
        proposals.append(main)
        if uniform("duplicate", draw) < profile.duplicate:
            proposals.append(restated(finding, draw, main.content))
        if main.content.removeprefix("- ") not in VAGUE:
            proposals += profile.besides(finding, skill, draw)
    if profile.uncited:
        proposals = [replace(proposal, cites=()) for proposal in proposals]
    return proposals


def restated(finding: Diagnosis, draw: str, said: str = "") -> DraftEdit:
    """The rule of a finding, in another wording than the one that was said."""
    others = tuple(text for text in finding.rule.statements if text not in said)
    return DraftEdit("append", "", f"- {pick(others, 'again', draw)}", "Worth saying clearly.", finding.attempts)


def _main(finding: Diagnosis, skill: str, profile: Profile, draw: str) -> DraftEdit:
    rule = finding.rule
    if uniform("vague", draw) < profile.vague:
        text = pick(VAGUE, draw)
        return DraftEdit("append", "", f"- {text}", "The attempts were careless.", finding.attempts)
    attempts = "1 attempt" if len(finding.attempts) == 1 else f"{len(finding.attempts)} attempts"
    reason = f"{attempts} went wrong at the same step ({rule.id.partition('.')[2]})."
    if rule.gaming and uniform("gaming", draw) < profile.gaming:
        return DraftEdit("append", "", f"- {pick(rule.gaming, draw)}", reason, finding.attempts)
    if misstated := profile.misstated(rule, draw):
        return DraftEdit("append", "", f"- {misstated}", reason, finding.attempts)
    if uniform("harmful", draw) < profile.harmful:
        wrong = pick(rule.harmful, draw)
        return DraftEdit("append", "", f"- {wrong}", reason, finding.attempts)
    proposal = _correct(finding, skill, draw, reason)
    if uniform("misanchored", draw) < profile.misanchored:
        return _misanchored(proposal, skill, draw)
    return proposal


def _correct(finding: Diagnosis, skill: str, draw: str, reason: str) -> DraftEdit:
    rule, cites = finding.rule, finding.attempts
    said: Sequence[Statement] = statements(skill, finding.family.rules)
    text = pick(rule.statements, "wording", draw)
    wrong = next((one.sentence for one in said if one.rule == rule.id and one.sign < 0), None)
    if wrong is not None:
        if any(one.rule == rule.id and one.sign > 0 for one in said):
            return DraftEdit("delete", wrong, "", "This line contradicts another one and misleads.", cites)
        return DraftEdit("replace", wrong, text, "This line misleads: the attempts did what it says.", cites)
    first = next((one.sentence for one in said if one.sign > 0), None)
    anchor = next((line.strip() for line in skill.splitlines() if first is not None and first in line), None)
    if anchor is not None and uniform("anchored", draw) < 0.5:
        return DraftEdit("insert_after", anchor, f"- {text}", reason, cites)
    return DraftEdit("append", "", f"- {text}", reason, cites)


def _misanchored(proposal: DraftEdit, skill: str, draw: str) -> DraftEdit:
    """The anchor is altered a little, or taken from nowhere."""
    lines = [line.strip() for line in skill.splitlines() if len(line.strip()) > 20 and ":" not in line[:14]]
    anchor = proposal.target or (pick(tuple(lines), "anchor", draw) if lines else "")
    if not anchor or uniform("nowhere", draw) < 0.4:
        missing = "## Checklist before answering"
    else:
        words = anchor.split()
        missing = (
            " ".join(words[:-2] + words[-1:]) if uniform("cut", draw) < 0.5 else pick(_ALTERED, draw).format(anchor)
        )
    op = "insert_after" if proposal.op == "append" else proposal.op
    return replace(proposal, op=op, target=missing)


def _wrong_cites(finding: Diagnosis, ids: Sequence[str], draw: str) -> tuple[str, ...]:
    others = tuple(one for one in ids if one not in finding.attempts)
    if others and uniform("others", draw) < 0.5:
        return (pick(others, draw),)
    return (f"a-{int(uniform('invented', draw) * 16**8):08x}",)


def nearest_line(text: str, skill: str, cutoff: float = 0.6) -> str | None:
    """The line of the skill that resembles the text most, None when none does."""
    lines = [line.strip() for line in skill.splitlines() if line.strip()]
    near = difflib.get_close_matches(squeeze(text), lines, n=1, cutoff=cutoff)
    return near[0] if near else None
