"""What a night proposes: the rules that passed and those that users asked for, beside those that wait already."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from etude.envs.splits import fold
from etude.envs.wording import bare, wording
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.proposal import DocumentChange, Proposal, fitted, stage
from etude.sleep.adoption.rules import (
    Answers,
    Evidence,
    Rule,
    Rules,
    Trial,
    active,
    forgotten,
    render,
    revised,
    rules_in,
    said,
)
from etude.sleep.adoption.splice import insert, rules_now
from etude.sleep.adoption.structure import plain
from etude.sleep.config import SleepSection
from etude.sleep.improve.changes import DocumentOutcome
from etude.sleep.improve.documents import TrainingOutcome
from etude.sleep.improve.groups import DocumentGroup, kept_from_models
from etude.sleep.improve.wishes import OVERRULED, UserWishes, refused
from etude.sleep.live_documents import LiveDocument
from etude.sleep.state import SleepState
from etude.sleep.tasks.mined import MinedTask, Quote
from etude.sleep.tasks.overheard import says_the_same

_SHOWN, _LONGEST = 3, 60
"""Rules that a note names, and characters of each."""


def propose(
    sleep: SleepSection,
    state: SleepState,
    number: int,
    waiting: Mapping[str, DocumentChange],
    trained: TrainingOutcome,
    wanted: UserWishes,
) -> tuple[Proposal | None, tuple[str, ...]]:
    """Stage what passes the gate, and the rules that users asked for besides, with what waits; None where the night
    adds nothing to that. Left out is what a person has rejected or taken back, and what the agent reads already:
    notes say how much."""
    kept, night = kept_rules(state.folder), f"{number:04d}"
    offers = {real: _heard(one, wanted) for real, one in waiting.items()}
    for group, change in trained.changes:
        if change.proposed:
            live = group.live(change.place)
            base = offers.get(live.real) or _unchanged(live, kept)
            offers[live.real] = _changed(base, group, change, wanted, night)
    if wanted.wishes and wanted.document is not None:
        live = wanted.document
        base = offers.get(live.real) or _unchanged(live, kept)
        offers[live.real] = _with_wishes(base, wanted.wishes, night)
    notes = {why: list(texts) for why, texts in wanted.left.items()}
    known = {rule.id for one in waiting.values() for rule in one.added}
    for real, one in offers.items():
        why = {rule.id: _refused(rule, kept.turned_down, wanted) for rule in one.added}
        gone = {name for name, reason in why.items() if reason and (name not in known or reason == OVERRULED)}
        for rule in one.added:
            if rule.id in gone:
                notes.setdefault(why[rule.id], []).append(rule.text)
        left = _marked(one.model_copy(update={"rules": forgotten(one.rules, gone)}) if gone else one, wanted)
        offers[real] = left.model_copy(update={"rules": fitted(left.rules, left.before, left.live)})
    said = tuple(_left_out(reason, texts) for reason, texts in notes.items())
    documents = tuple(one for one in offers.values() if one.added or one.removed)
    if not documents or offers == waiting:
        return None, said
    project = str(Path(sleep.project).absolute())
    agent = "" if sleep.memory_path else sleep.agent
    found = Proposal(night=night, project=project, agent=agent, documents=documents)
    stage(state.night(number), found)
    return found, said


def _left_out(reason: str, texts: Sequence[str]) -> str:
    apart = list({wording(bare(text)): bare(text) for text in texts}.values())
    shown = [f'"{plain(text, _LONGEST)}"' for text in apart[:_SHOWN]]
    more = [f"{len(apart) - _SHOWN} more"] if len(apart) > _SHOWN else []
    return f"rules left out, since {reason}: {', '.join([*shown, *more])}"


def _refused(rule: Rule, rejected: Sequence[Rule], wanted: UserWishes) -> str:
    """Why a new rule is not proposed; empty where it is."""
    if said(rule.text) in wanted.overruled:
        return OVERRULED
    return refused(rule.text, (one.text for one in rejected), wanted.known)


def _heard(offer: DocumentChange, wanted: UserWishes) -> DocumentChange:
    """The rules that wait, with what users said about them since."""

    def one(rule: Rule) -> Rule:
        more = wanted.by_rule.get(said(rule.text), ())
        return rule.resting_on(quotes=tuple(dict.fromkeys((*rule.evidence.quotes, *more))))

    return offer.with_new(one)


def _marked(offer: DocumentChange, wanted: UserWishes) -> DocumentChange:
    """With a mark on each new rule that has words of what users did not say, whichever quotes are said to ask for
    it, since a model that believes a page believes that, too; and on one that contradicts a document."""

    def one(rule: Rule) -> Rule:
        behind = rule.evidence
        pieces = [*wanted.overheard, *filter(None, [behind.overheard])]
        heard = [fold(piece.text) for piece in pieces]  # what stands in a mail vouches for nothing
        own = [quote.text for quote in behind.quotes if not any(fold(quote.text) in each for each in heard)]
        found = next((piece for piece in pieces if says_the_same(said(rule.text), piece.text, own)), None)
        against = wanted.against.get(said(rule.text)) or wanted.against.get(bare(rule.text)) or behind.against
        against = against or wanted.known.against(rule.text)
        return rule.resting_on(overheard=found, against=against)

    return offer.with_new(one)


def _changed(
    base: DocumentChange, group: DocumentGroup, change: DocumentOutcome, wanted: UserWishes, night: str
) -> DocumentChange:
    """What waits, and on top of it what the night changed in the document."""
    order, kept = active(base.rules), kept_from_models(render(base.rules))
    known = {rule.id: rule for rule in base.rules}
    tasks = {task.id: task for task in group.tasks}
    there = {rule.id for rule in active(base.rules)}

    def one(rule: Rule) -> Rule:
        if rule.id in there or rule.id in known:
            return rule
        rule = _measured(rule, tasks, change, wanted.by_rule.get(said(rule.text), ()))
        instead = known.get(rule.replaces)
        if instead is None or instead.id not in {each.id for each in base.added}:
            return rule
        # It has other words than what waits, so only quotes that ask for these are its own.
        both = rule.model_copy(update={"evidence": instead.evidence})
        return both.resting_on(quotes=rule.evidence.quotes, trial=rule.evidence.trial or instead.evidence.trial)

    apart = {order[at].id for at in kept}
    sent = [rule for rule in base.rules if rule.id not in apart]
    rules = rules_in(change.after.text, sent, night)
    placed = list(active(rules))
    for at in sorted(kept):
        insert(placed, order, at)
    gone = [rule for rule in rules if rule.status == "retired"]
    return base.model_copy(update={"rules": tuple(map(one, (*placed, *gone)))})


def _measured(rule: Rule, tasks: Mapping[str, MinedTask], change: DocumentOutcome, quotes: tuple[Quote, ...]) -> Rule:
    """A new rule with what was measured of it on its own, and the words that ask for it."""
    trial = change.alone.get(said(rule.text))
    if trial is not None:
        measured = {"example": _example(trial, tasks, change), "verdict": change.verdict}
        trial = trial.model_copy(update=measured)
    return rule.model_copy(update={"evidence": Evidence(quotes=quotes, trial=trial)})


def _example(trial: Trial, tasks: Mapping[str, MinedTask], change: DocumentOutcome) -> Answers | None:
    """Answers to the first held-out task that does worse without a rule."""
    before, after = change.held_out.before, change.held_out.after
    for name in trial.missed:
        if name in before and name in after and name in tasks:
            return Answers(asked=tasks[name].intent, before=before[name], after=after[name])
    return None


def _unchanged(live: LiveDocument, known: Rules) -> DocumentChange:
    rules = rules_now(known, live)
    return DocumentChange(live=live, rules=rules, before=rules)


def _with_wishes(proposed: DocumentChange, wishes: Mapping[str, tuple[Quote, ...]], night: str) -> DocumentChange:
    """With a rule for each wish behind the others."""
    block = render(proposed.rules)
    block += ("" if not block or block.endswith("\n") else "\n") + "".join(f"- {text}\n" for text in wishes)
    known = {rule.id: rule for rule in proposed.rules}

    def one(rule: Rule) -> Rule:
        behind = Evidence(quotes=wishes.get(said(rule.text).removeprefix("- "), ()))
        return known.get(rule.id) or rule.model_copy(update={"evidence": behind})

    return proposed.model_copy(update={"rules": tuple(map(one, revised(proposed.rules, block, night)))})
