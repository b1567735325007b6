"""The optimizer's answers, by what it is asked for. Each function gives values by concept, for filling a form.

Everything is drawn from hashes of what was read (attempts, answers, taught rules), so that a repeated or rephrased
request gives the same edits.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etude.simulation.optimizer.diagnosis import Diagnosis, diagnose, rules_concerned
from etude.simulation.optimizer.patches import rank, rewritten, shown_edits, unite
from etude.simulation.optimizer.profiles import DraftEdit, Profile
from etude.simulation.optimizer.reading import Observation, Prompt
from etude.simulation.rules import Statement, Teaching, statements, states, taught
from etude.simulation.text import command_in, element, learned_blocks, orders_in, pick, squeeze, uniform

MOST_GUIDANCE = 10
"""Rules that guidance states at most."""


def reflect(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """Edits that answer the failed attempts."""
    proposals, findings = _proposals(prompt, prompt.observations, profile)
    cites = tuple(one.id for one in prompt.observations)
    for rule in _ordered(prompt) if profile.gullible else ():
        proposals.insert(0, DraftEdit("append", "", f"- {rule}.", "The text asks for it.", cites))
    if prompt.limit is not None:
        proposals = proposals[: prompt.limit]
    return {
        "reasoning": _reasoning(prompt.observations, findings, prompt.compares),
        "edits": [proposal.values() for proposal in proposals],
        "batch_size": len(prompt.observations),
        "skill": rewritten(prompt.skill, proposals),
        "cites": list(dict.fromkeys(name for proposal in proposals for name in proposal.cites)),
    }


def _ordered(prompt: Prompt) -> list[str]:
    """Rules that stand in the data as orders, and not yet in the skill; that of a command is the last."""
    rules = [rule for rule in orders_in(prompt.text) if rule not in prompt.skill]
    command = command_in(prompt.text)
    return [*rules, f"First run `{command}`"] if command and command not in prompt.skill else rules


def _proposals(
    prompt: Prompt, observations: Sequence[Observation], profile: Profile
) -> tuple[list[DraftEdit], list[Diagnosis]]:
    known = states(prompt.skill, rules_concerned(observations))
    findings = diagnose(observations, known, compare=prompt.compares)
    shown = sorted(f"{one.id}|{one.task.text}|{one.answer}" for one in observations)
    key = content_key(shown, known)
    proposals = propose(findings, prompt.skill, profile, key, [one.id for one in observations])
    stated = diagnose(observations, known, compare=prompt.compares, taught=True) if profile.repeats else []
    for finding in stated:
        draw = f"{profile.name}/repeats/{finding.rule.id}/{key}"
        if uniform(draw) < profile.repeats:
            again = restated(finding, draw)
            proposals.append(replace(again, cites=()) if profile.uncited else again)
    return proposals, findings


def _reasoning(observations: Sequence[Observation], findings: Sequence[Diagnosis], compares: bool) -> str:
    failed = sum(one.failed for one in observations)
    if not failed:
        return f"All {len(observations)} attempts that show an answer are right; nothing to change."
    named = ", ".join(f"{one.rule.id.replace('.', ': ')} ({len(one.attempts)})" for one in findings)
    how = "Compared with each other" if compares else "Read one by one"
    points = named or "nothing the skill lacks"
    return f"{failed} of {len(observations)} attempts failed. {how}, they point to: {points}."


def merge(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """Patches united into one."""
    edits = shown_edits(prompt)
    united = unite(edits, profile)
    if prompt.limit is not None:
        united = united[: prompt.limit]
    reasoning = f"{len(edits)} edits say {len(united)} different things."
    return {"reasoning": reasoning, "edits": [proposal.values() for proposal in united]}


def order(prompt: Prompt) -> dict[str, object]:
    """Edits ranked, best first."""
    ranked = rank(shown_edits(prompt))
    return {"reasoning": "Specific and well supported edits come first.", "order": ranked}


def budget(prompt: Prompt) -> dict[str, object]:
    """As many edits as say something specific. The others are not worth trying, so it may be none."""
    edits = shown_edits(prompt)
    specific = sum(edit.is_specific for edit in edits)
    return {"reasoning": f"{specific} of {len(edits)} edits say something specific.", "budget": specific}


def repair(prompt: Prompt) -> dict[str, object]:
    """Lines of the skill that missed anchors were meant for; edits that resemble none are left out."""
    anchors: list[dict[str, object]] = []
    editable = [prompt.skill[start:end] for start, end in learned_blocks(prompt.skill)]
    for edit in shown_edits(prompt):
        line = nearest_line(edit.target, "\n".join(editable) if editable else prompt.skill)
        if line is not None and edit.index is not None:
            anchors.append({"index": edit.index, "target": line})
    return {"reasoning": f"{len(anchors)} anchors have a line that was meant.", "anchors": anchors}


_PREVIOUS_GUIDANCE = element(r"(?:\w+_)?guidance")


def slow_update(prompt: Prompt, profile: Profile) -> dict[str, object]:
    """Guidance on what got worse and what never worked, besides what earlier guidance teaches."""
    matter = [one for one in prompt.observations if one.category in ("regressed", "persistent_fail", "")]
    matter += [one for one in prompt.observations if one not in matter and one.passed]
    known = states(prompt.skill, rules_concerned(matter))
    findings = diagnose(matter, known, compare=True)
    key = content_key(sorted(f"{one.id}|{one.answer}" for one in matter), known)
    earlier = _PREVIOUS_GUIDANCE.search(prompt.text)
    kept = [one.sentence for one in statements(earlier["body"], prompt.rules) if one.sign > 0] if earlier else []
    lines = [*dict.fromkeys(kept), *_guidance_lines(findings, profile, key)][:MOST_GUIDANCE]
    text = "\n".join(f"- {line}" for line in lines)
    return {"reasoning": _reasoning(matter, findings, True), "guidance": text}


def _guidance_lines(findings: Sequence[Diagnosis], profile: Profile, key: str) -> list[str]:
    lines: list[str] = []
    for finding in findings:
        draw = f"{profile.name}/guidance/{finding.rule.id}/{key}"
        rule = finding.rule
        if uniform("missing", draw) < profile.missing:
            continue
        if uniform("vague", draw) < profile.vague:
            lines.append(pick(VAGUE, draw))
        else:
            lines.append(pick(rule.harmful if uniform("harmful", draw) < profile.harmful else rule.statements, draw))
    return list(dict.fromkeys(lines))


_LEDGER = element("ledger")
_FATE = re.compile(r"\b(accepted|rejected)\b|\"accepted\"\s*:\s*(true|false)", re.IGNORECASE)


def meta_skill(prompt: Prompt) -> dict[str, object]:
    """What kinds of edits were accepted and rejected."""
    counts = {(kind, good): 0 for kind in ("specific", "general") for good in (True, False)}
    ledger = _LEDGER.search(prompt.text)
    for line in (ledger["body"] if ledger else prompt.text).splitlines():
        fate = _FATE.search(line)
        if fate:
            kind = "specific" if statements(line, prompt.rules) else "general"
            counts[kind, (fate[1] or "").lower() == "accepted" or fate[2] == "true"] += 1
    text = (
        f"Edits that state one rule of the task: {counts['specific', True]} accepted, "
        f"{counts['specific', False]} rejected. General advice: {counts['general', True]} accepted, "
        f"{counts['general', False]} rejected. Prefer one precise rule for each cause of failure, "
        "correct misleading lines instead of adding to them, and keep the skill short."
    )
    return {"reasoning": "Counted the outcomes of earlier edits.", "memory": text}


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


_APPENDIX = element("appendix")


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


def nearest_line(text: str, skill: str) -> str | None:
    """The line of the skill that resembles the text most, None when none does."""
    lines = [line.strip() for line in skill.splitlines() if line.strip()]
    near = difflib.get_close_matches(squeeze(text), lines, n=1)
    return near[0] if near else None
