"""The page of a night: what it proposes, rule by rule, in plain words, for the terminal and for `report.md`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from etude.skill import token_count
from etude.sleep.adoption.proposal import Proposal
from etude.sleep.adoption.proposals import Item
from etude.sleep.adoption.rules import Answers, Rule
from etude.sleep.adoption.structure import doubts, plain
from etude.sleep.report import DocumentReport, NightReport

_LINE = 200
_ANSWER = 120
_BEFORE = 30
"""Characters that are shown of what two answers have in common, where they begin alike."""
_MOST_QUOTES = 2
UNTESTED = "Not tested: no task shows yet whether it helps."
OVERHEARD = "No words of yours ask for all of it, but a tool, a page or a file name does. Read it with care"
NO_WORDS = "No words of yours ask for this rule: it may come from a page or a tool. Read it with care."


def page(report: NightReport, proposal: Proposal, states: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The lines for a person. `states` has what became of rules since, by id, as in `adopted`."""
    night = f"{report.night:04d}"
    added = [(one, rule) for one in proposal.documents for rule in one.added]
    gone = [(one, rule) for one in proposal.documents for rule in one.leaving]
    new, older = ([pair for pair in added if (pair[1].night == night) is own] for own in (True, False))
    parts = [f"{len(new)} new rule{'' if len(new) == 1 else 's'}"] if new or not gone else []
    parts += [f"to take out {len(gone)}"] if gone else []
    lines = [f"Night {report.night} proposes {' and '.join(parts)}. Nothing changes before you say so."]
    if older:
        lines.append(f"{len(older)} of earlier nights wait{'s' if len(older) == 1 else ''} as well.")
    sessions = sum(report.sessions.values())
    for at, (one, rule) in enumerate((*new, *older), 1):
        since = [f"since night {int(rule.night)}"] if rule.night != night and rule.night.isdigit() else []
        state = ", ".join([*since, *filter(None, [states.get(rule.id, "")])])
        lines += ["", f"{at}. {plain(_said(rule), _LINE)}  [{rule.id}]{f' ({state})' if state else ''}"]
        often = sessions if rule.night == night else 0
        lines += [f"   {line}" for line in rule_lines(rule, proposal.name(one), often, one.instead(rule))]
    for one, rule in gone:
        lines += ["", *_leaving(rule, proposal.name(one))]
    return lines


def item_lines(item: Item, which: str, project: Path, sessions: int = 0) -> list[str]:
    """One change, for whoever decides on it; `which` says which of how many. `sessions` is how many the night read
    that made it, 0 when that is not known."""
    name = item.document.live.path.removeprefix(f"{project.absolute()}/")
    if item.leaving:
        return [f"{which}: {line}" if at == 0 else line for at, line in enumerate(_leaving(item.rule, name))]
    first = f"{which}: {plain(_said(item.rule), _LINE)}  [{item.rule.id}]"
    return [
        first,
        *(f"   {line}" for line in rule_lines(item.rule, name, sessions, item.document.instead(item.rule))),
    ]


def rule_lines(rule: Rule, document: str, sessions: int, instead: Rule | None = None) -> Iterator[str]:
    """What a rule rests on, what it does, what it costs: at most seven lines. It takes the place of `instead`."""
    behind = rule.evidence
    if instead is not None:
        yield f"In place of: {plain(_said(instead), _LINE)}"
    asked = {quote.session.name for quote in behind.quotes}
    if behind.overheard is not None:
        yield f'{OVERHEARD}: "{plain(behind.overheard.text, _ANSWER)}"'
    elif asked:
        words = list(dict.fromkeys(plain(quote.text, _ANSWER) for quote in behind.quotes))[:_MOST_QUOTES]
        many = max(sessions, len(asked))
        often = f"in {f'{len(asked)} of ' if sessions >= len(asked) else ''}{many} session{'s' if many > 1 else ''}"
        yield f"You asked for it {often}: " + ", ".join(f'"{text}"' for text in words)
    else:
        yield NO_WORDS
    trial = behind.trial
    if trial is None:
        yield UNTESTED
    else:
        yield (
            f"Without this rule {trial.without} of {trial.tasks} tasks came out right, with it {trial.with_it} of "
            f"{trial.tasks}."
        )
        if trial.example is not None:
            yield from _example(trial.example)
    yield f"It goes into {document} and costs about {token_count(rule.text)} tokens in every session."
    yield from (f"Look at this: it {doubt.rstrip('.')}." for doubt in doubts(rule.text))


def as_file(report: NightReport, proposal: Proposal | None) -> str:
    """`report.md`: the page, how to decide and to undo, and the statistics folded below. All of it is plain text in
    blocks of code, so that nothing in it is more than text."""
    if proposal is None:
        because = f": {plain(report.reason, 500)}" if report.reason else ""
        lines = [f"Night {report.night} proposes nothing{because}."]
    else:
        first, *rest = page(report, proposal)
        lines = [first, _how(report.night), *rest]
    statistics = [line for document in report.documents for line in document_lines(document)]
    blocks = [_block(lines)]
    if statistics:
        blocks += ["<details><summary>Statistics</summary>", _block(statistics), "</details>"]
    return f"# Night {report.night}\n\n" + "\n\n".join(blocks) + "\n"


def document_lines(document: DocumentReport) -> list[str]:
    """What was measured of a document as a whole."""
    lines = [f"{document.name}: {document.status}  ({plain(document.path, 300)})", f"  {plain(document.reason, 500)}"]
    if document.baseline is not None:
        after = "none made" if document.candidate is None else f"{document.candidate:.3f} (selected on)"
        lines.append(f"  held-out tasks: before {document.baseline:.3f}, candidate {after}, n={document.held_out}")
    if document.confirmed is not None:
        change = document.confirmed
        interval = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        lines.append(f"  fresh attempts: {interval}, verdict {document.verdict}")
    if document.fresh is not None:
        lines.append(f"  by luck alone: {document.fresh.text}")
    if document.settle:
        lines.append(f"  {document.settle}")
    if document.cost is not None:
        lines.append(f"  {document.cost.text}")
    return lines


def _how(night: int) -> str:
    verbs = {"Decide rule by rule": "review", "Take all": "adopt", "Undo it later": f"revert {night}"}
    return " ".join(f"{what}: etude sleep {verb}." for what, verb in verbs.items())


def _block(lines: Sequence[str]) -> str:
    text = "\n".join(lines).replace("```", "\u02cb\u02cb\u02cb")
    return f"```text\n{text}\n```"


def _example(answers: Answers) -> Iterator[str]:
    yield f'For example, "{plain(answers.asked, _ANSWER)}"'
    pairs = enumerate(zip(answers.before, answers.after, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(answers.before), len(answers.after)))
    start = 0 if same < _ANSWER // 2 else same - _BEFORE
    for when, text in (("before:", answers.before), ("after: ", answers.after)):
        cut = "…" if start else ""
        yield f'  {when} "{cut}{plain(text[start:], _ANSWER)}"'


def _leaving(rule: Rule, document: str) -> list[str]:
    why = rule.ablation or "The night wrote the document without it"
    return [f"Out: {plain(_said(rule), _LINE)}  [{rule.id}]", f"   {why}. It stands in {document}."]


def _said(rule: Rule) -> str:
    return rule.text.lstrip("-*+ ")
