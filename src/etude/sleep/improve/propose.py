"""What a night proposes: the rules that passed and those that users asked for, beside those that wait already."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from etude.envs.splits import fold
from etude.sleep.adoption.adopt import kept_rules
from etude.sleep.adoption.proposal import DocumentChange, Proposal, stage
from etude.sleep.adoption.rules import (
    Answers,
    Evidence,
    Rule,
    Rules,
    Trial,
    active,
    block_of,
    forgotten,
    render,
    revised,
    said,
)
from etude.sleep.adoption.splice import rules_now
from etude.sleep.config import SleepConfig
from etude.sleep.improve.changes import DocumentOutcome
from etude.sleep.improve.documents import TrainingOutcome
from etude.sleep.improve.groups import DocumentGroup
from etude.sleep.improve.wishes import UserWishes, same
from etude.sleep.live_documents import LiveDocument, documents_of
from etude.sleep.state import SleepState
from etude.sleep.tasks.mined import MinedTask, Quote
from etude.sleep.tasks.overheard import says_the_same


def propose(
    config: SleepConfig,
    state: SleepState,
    number: int,
    waiting: Mapping[str, DocumentChange],
    trained: TrainingOutcome,
    wanted: UserWishes,
) -> Proposal | None:
    """Stage what passes the gate, and the rules that users asked for besides, with what waits. What a person has
    rejected is left out. None where the night adds nothing to what waits."""
    kept, night = kept_rules(state.folder), f"{number:04d}"
    offers = {real: _heard(one, wanted) for real, one in waiting.items()}
    for group, change in trained.changes:
        if change.proposed:
            live = group.live(change.place)
            base = offers.get(live.real) or _unchanged(live, kept)
            offers[live.real] = _wanted(_changed(base, group, change, wanted, night), base, kept.turned_down)
    if wanted.wishes:
        live = _place_of_wishes(config)
        base = offers.get(live.real) or _unchanged(live, kept)
        offers[live.real] = _wanted(_with_wishes(base, wanted.wishes, night), base, kept.turned_down)
    offers = {real: _marked(one, wanted.overheard) for real, one in offers.items()}
    documents = tuple(one for one in offers.values() if one.added or one.removed)
    if not documents or offers == waiting:
        return None
    found = Proposal(night=night, project=str(Path(config.sleep.project).absolute()), documents=documents)
    stage(state.night(number), found)
    return found


def _heard(offer: DocumentChange, wanted: UserWishes) -> DocumentChange:
    """The rules that wait, with what users said about them since."""
    mine = {rule.id for rule in offer.added}

    def one(rule: Rule) -> Rule:
        quotes = wanted.by_rule.get(said(rule.text), ()) if rule.id in mine else ()
        more = Evidence(quotes=quotes, sessions=_sessions(quotes))
        return rule.model_copy(update={"evidence": rule.evidence.joined(more)}) if quotes else rule

    return offer.model_copy(update={"rules": tuple(map(one, offer.rules))})


def _marked(offer: DocumentChange, overheard: Sequence[Quote]) -> DocumentChange:
    """With a mark on each new rule that has words of what users did not say, whichever quotes are said to ask for
    it: a model that believes a page believes that, too."""
    mine = {rule.id for rule in offer.added}

    def one(rule: Rule) -> Rule:
        behind = rule.evidence
        pieces = [*overheard, *filter(None, [behind.overheard])] if rule.id in mine else []
        heard = [fold(piece.text) for piece in pieces]  # what stands in a mail vouches for nothing
        own = [quote.text for quote in behind.quotes if not any(fold(quote.text) in each for each in heard)]
        found = next((piece for piece in pieces if says_the_same(said(rule.text), piece.text, own)), None)
        if found == behind.overheard:
            return rule
        return rule.model_copy(update={"evidence": behind.model_copy(update={"overheard": found})})

    return offer.model_copy(update={"rules": tuple(map(one, offer.rules))})


def _changed(
    base: DocumentChange, group: DocumentGroup, change: DocumentOutcome, wanted: UserWishes, night: str
) -> DocumentChange:
    """What waits, and on top of it what the night changed in the document."""
    block = group.as_in_file(change.place, block_of(change.after.text))
    known = {rule.id: rule for rule in base.rules}
    tasks = {task.id: task for task in group.tasks}
    there = {rule.id for rule in active(base.rules)}

    def one(rule: Rule) -> Rule:
        if rule.id in there:
            return rule.model_copy(update={"ablation": change.retired.get(rule.id, rule.ablation)})
        if rule.id in known:
            return rule
        rule = _measured(rule, tasks, change, wanted.by_rule.get(said(rule.text), ()))
        instead = known.get(rule.replaces)
        if instead is None or instead.id not in {each.id for each in base.added}:
            return rule
        # It has other words than what waits, so only quotes that ask for these are its own.
        own = {"note": rule.evidence.note, "quotes": rule.evidence.quotes}
        return rule.model_copy(update={"evidence": instead.evidence.joined(rule.evidence).model_copy(update=own)})

    rules = map(one, revised(base.rules, block, night, _evidence(group, change)))
    return base.model_copy(update={"rules": tuple(rules)})


def _wanted(offer: DocumentChange, base: DocumentChange, rejected: Sequence[Rule]) -> DocumentChange:
    """Without new rules that say what a person has rejected."""
    known = {rule.id for rule in base.rules}
    again = {
        rule.id
        for rule in active(offer.rules)
        if rule.id not in known and any(same(rule.text, one.text) for one in rejected)
    }
    return offer.model_copy(update={"rules": forgotten(offer.rules, again)}) if again else offer


def _measured(rule: Rule, tasks: Mapping[str, MinedTask], change: DocumentOutcome, quotes: tuple[Quote, ...]) -> Rule:
    """A new rule with what was measured of it on its own, and the words that ask for it."""
    behind, trial = rule.evidence, change.alone.get(said(rule.text))
    if trial is not None:
        own = [tasks[name] for name in trial.missed if name in tasks]
        sessions = dict.fromkeys(one.name for task in own for one in task.sessions)
        found = Evidence(tasks=tuple(dict.fromkeys(task.id for task in own)), sessions=tuple(sessions))
        # What a rewrite cites stands behind all of its rules: what misses this one is its own.
        behind = behind.joined(found) if len(change.alone) == 1 else found.joined(Evidence(note=behind.note))
        measured = {"example": _example(trial, tasks, change), "verdict": change.verdict}
        behind = behind.model_copy(update={"trial": trial.model_copy(update=measured)})
    return rule.model_copy(update={"evidence": behind.model_copy(update={"quotes": quotes})})


def _example(trial: Trial, tasks: Mapping[str, MinedTask], change: DocumentOutcome) -> Answers | None:
    """Answers to the first held-out task that does worse without a rule."""
    before, after = (
        {one.task: one.response for one in seen} for seen in (change.held_out.initial, change.held_out.candidate)
    )
    for name in trial.missed:
        if name in before and name in after and name in tasks:
            return Answers(asked=tasks[name].intent, before=before[name], after=after[name])
    return None


def _place_of_wishes(config: SleepConfig) -> LiveDocument:
    """The memory file, which is read in every session; the skill where that is not to be changed."""
    skill, memory = documents_of(config.sleep)
    return memory if config.sleep.memory else skill


def _unchanged(live: LiveDocument, known: Rules) -> DocumentChange:
    rules = rules_now(known, live)
    return DocumentChange(live=live, rules=rules, before=rules)


def _with_wishes(proposed: DocumentChange, wishes: Mapping[str, tuple[Quote, ...]], night: str) -> DocumentChange:
    """With a rule for each wish behind the others."""
    behind = {
        f"- {text}": Evidence(quotes=quotes, sessions=_sessions(quotes), note="asked for outright")
        for text, quotes in wishes.items()
    }
    block = render(proposed.rules)
    block += ("" if not block or block.endswith("\n") else "\n") + "".join(f"{text}\n" for text in behind)
    known = {rule.id: rule for rule in proposed.rules}
    rules = revised(proposed.rules, block, night, behind)
    return proposed.model_copy(update={"rules": tuple(known.get(rule.id, rule) for rule in rules)})


def _sessions(quotes: Sequence[Quote]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.session.name for one in quotes))


def _evidence(group: DocumentGroup, change: DocumentOutcome) -> Mapping[str, Evidence]:
    """By the text of each accepted edit: the attempts behind it, their tasks, and the sessions of these."""
    by_id = {task.id: task for task in group.tasks}
    found: dict[str, Evidence] = {}
    for edit in [entry.edit for entry in change.held_out.ledger if entry.accepted]:
        tried = change.held_out.cited
        cited = [name for name in edit.cites if name in tried]
        tasks = [by_id[tried[name]] for name in cited]
        sessions = [one.name for task in tasks for one in task.sessions]
        behind = Evidence(
            sessions=tuple(dict.fromkeys(sessions)),
            tasks=tuple(dict.fromkeys(task.id for task in tasks)),
            attempts=tuple(cited),
            note=edit.reason,
        )
        found[edit.content] = found.get(edit.content, Evidence()).joined(behind)
    return found
