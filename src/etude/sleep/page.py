"""The page of a night: what it found and proposes, rule by rule, in plain words. One record, which the terminal,
`report.md` and the page in a browser draw; and the nights of a project, for whoever looks at them and decides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from etude.envs.splits import fold
from etude.envs.wording import bare, unsaid
from etude.errors import DataError, InputError
from etude.readable import counted
from etude.records import Record
from etude.skill import Document, token_count
from etude.sleep.adoption.adopt import RULES, Receipt, receipts
from etude.sleep.adoption.proposal import DocumentChange
from etude.sleep.adoption.proposals import Item, ProjectProposals
from etude.sleep.adoption.rules import Answers, Rule
from etude.sleep.adoption.splice import RuleState
from etude.sleep.adoption.structure import doubts, from_word, plain
from etude.sleep.live_documents import without_secrets
from etude.sleep.report import DocumentReport, NightReport, read_report, unfinished
from etude.sleep.state import REPORT
from etude.sleep.tasks.mined import Quote
from etude.sleep.transcripts.ledger import under_way
from etude.stages.shared.contest import ERROR

Decision = Literal["take", "reject"]
_LINE = 200
_ANSWER = 120
_BEFORE = 30
"""Characters that are shown of what two answers have in common, where they begin alike."""
_MOST_QUOTES = 2
ONCE = "It may have been meant for one occasion only."
OPENED = "It was tested with the skill open, not whether your agent opens it: `agent.delivery: install` tests that."
DELIVERED = "It was tested as it will be read: your agent had to open the skill by itself."
UNTESTED = "Not tested: no task shows yet whether it helps."
OVERHEARD = "No words of yours ask for all of it, but a tool, a page, a mail or a file name does. Read it with care"
NO_WORDS = "No words of yours ask for this rule: it may come from a page or a tool. Read it with care."


class ReviewedRule(Record):
    """A change of one rule."""

    id: str
    text: str
    document: str
    state: RuleState
    leaving: bool
    """The rule is to be taken out."""
    lines: tuple[str, ...]
    """What it rests on, what it does and what it costs, as in the report."""
    tasks: int | None
    """Tasks that were attempted with it and without it; None where it was not tested."""
    without: int | None
    """Those of them that came out right without it."""
    with_it: int | None
    since: int | None
    """The earlier night that proposed it first."""
    tokens: int
    each_session: bool
    """Every session reads it; else only those in which the agent opens its skill."""


class NightPage(Record):
    """A night with what it proposes."""

    night: int
    status: str
    reason: str
    """Why it proposes nothing, where it does not."""
    newest: bool
    rules: tuple[ReviewedRule, ...]
    statistics: tuple[str, ...]
    """What was measured of each document as a whole."""


def night_page(
    number: int, report: NightReport | None, items: Sequence[Item], project: Path, *, newest: bool = True
) -> NightPage:
    """A night with changes as they stand; None where it has no report that can be read."""
    sessions = 0 if report is None else sum(report.sessions.values())
    return NightPage(
        night=number,
        status="" if report is None else report.status,
        reason="" if report is None else report.reason,
        newest=newest,
        rules=tuple(_reviewed(item, number, sessions, project) for item in items),
        statistics=() if report is None else tuple(line for one in report.documents for line in document_lines(one)),
    )


def page(found: NightPage) -> list[str]:
    """The lines for a person."""
    gone = [rule for rule in found.rules if rule.leaving]
    new = [rule for rule in found.rules if not rule.leaving and rule.since is None]
    older = [rule for rule in found.rules if not rule.leaving and rule.since is not None]
    parts = [several(new, "new rule")] if new or not gone else []
    parts += [f"to take out {several(gone, 'rule')}"] if gone else []
    lines = [f"Night {found.night} proposes {' and '.join(parts)}. Nothing changes before you say so."]
    if older:
        lines.append(f"As well waits: {several(older, 'rule')} of earlier nights.")
    for at, rule in enumerate((*new, *older), 1):
        since = "" if rule.since is None else f"since night {rule.since}"
        state = ", ".join(filter(None, [since, "" if rule.state == "waits" else rule.state]))
        lines += ["", f"{at}. {heading(rule)}{f' ({state})' if state else ''}", *_indented(rule)]
    for rule in gone:
        lines += ["", heading(rule), *_indented(rule)]
    return lines


def several(rules: Iterable[ReviewedRule], what: str) -> str:
    """How many rules these are: one that goes into two documents is one."""
    return counted(len({rule.id for rule in rules}), what)


def heading(rule: ReviewedRule) -> str:
    """What a rule says, in one line, with its id."""
    return f"{'Out: ' if rule.leaving else ''}{plain(bare(rule.text), _LINE)}  [{rule.id}]"


def _indented(rule: ReviewedRule) -> Iterator[str]:
    return (f"   {line}" for line in rule.lines)


def _reviewed(item: Item, night: int, sessions: int, project: Path) -> ReviewedRule:
    rule, trial = item.rule, item.rule.evidence.trial
    made = int(rule.night) if rule.night.isdigit() else night
    name = item.document.live.path.removeprefix(f"{project.absolute()}/")
    often = sessions if made == night else 0
    lines = rule_lines(rule, item.document, name, often, item.document.instead(rule))
    return ReviewedRule(
        id=rule.id,
        text=without_secrets(rule.text),
        document=name,
        state=item.state,
        leaving=item.leaving,
        lines=(f"The night wrote the document without it. It stands in {name}.",) if item.leaving else tuple(lines),
        tasks=None if trial is None else trial.tasks,
        without=None if trial is None else trial.without,
        with_it=None if trial is None else trial.with_it,
        since=made if made != night and not item.leaving else None,
        tokens=token_count(rule.text),
        each_session=item.document.live.kind == "memory",
    )


def rule_lines(
    rule: Rule, document: DocumentChange, name: str, sessions: int, instead: Rule | None = None
) -> Iterator[str]:
    """What a rule rests on, what it does, what it costs. It takes the place of `instead`."""
    behind = rule.evidence
    if instead is not None:
        yield f"In place of: {plain(bare(instead.text), _LINE)}"
    asked = {quote.session.name for quote in behind.quotes}
    if asked and behind.overheard is None:
        many = max(sessions, len(asked))
        often = f"in {f'{len(asked)} of ' if sessions >= len(asked) else ''}{counted(many, 'session')}"
        yield f"You asked for it {often}: " + ", ".join(_words(behind.quotes))
    yield from _concerns(rule)
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
        if document.live.kind == "skill":
            yield DELIVERED if trial.delivered else OPENED
    yield _cost(rule, document, name)
    if document.live.room is not None and _reach(rule, document) > document.live.room:
        yield f"Your agent reads only the first {document.live.room:,} bytes of {name}, and so not this rule."


def _concerns(rule: Rule) -> Iterator[str]:
    """What a person should look at."""
    behind = rule.evidence
    if behind.overheard is not None:
        yield f'{OVERHEARD}: "{plain(behind.overheard.text, _ANSWER)}"'
    elif not behind.quotes:
        yield NO_WORDS
    if behind.quotes and (parts := unsaid(bare(rule.text), [quote.text for quote in behind.quotes])):
        yield "No words of yours ask for this part: " + ", ".join(f'"{plain(part, _ANSWER)}"' for part in parts)
    if behind.quotes and all(quote.once for quote in behind.quotes):
        yield ONCE
    if behind.against:
        yield f'It contradicts a line that your agent reads: "{plain(behind.against, _ANSWER)}"'
    yield from (f"Look at this: it {doubt.rstrip('.')}." for doubt in doubts(rule.text))


def why_it_waits(rule: Rule) -> tuple[str, ...]:
    """Why a new rule is not adopted without a person; empty when it may be."""
    trial, reasons = rule.evidence.trial, tuple(_concerns(rule))
    if trial is None or not trial.missed:
        return ("It was not tested on its own.", *reasons)
    if trial.verdict != "ship":
        said = "there is no verdict" if trial.verdict is None else f"the verdict is {trial.verdict!r}"
        return (f"Its gain may be luck: {said}, and only 'ship' is adopted without a person.", *reasons)
    return reasons


def _words(quotes: Sequence[Quote]) -> list[str]:
    """Quotes in order of time, with their dates."""
    ordered = sorted(quotes, key=lambda quote: (quote.at is None, quote.at))
    found = {fold(quote.text): quote for quote in ordered}  # of equal words the latest
    return [
        f'"{plain(quote.text, _ANSWER)}"{"" if quote.at is None else f" ({quote.at:%Y-%m-%d})"}'
        for quote in list(found.values())[-_MOST_QUOTES:]
    ]


def _cost(rule: Rule, document: DocumentChange, name: str) -> str:
    tokens = f"{token_count(rule.text)} tokens"
    if document.live.kind == "memory":
        begins = f", a new file that begins with {document.live.begins.strip()}" if document.live.begins else ""
        return f"It goes into {name}{begins}, and costs about {tokens} in every session."
    about = str(Document.parse(document.live.opening).meta.get("description", ""))
    return (
        f"It goes into {name}: about {tokens}, read only when your agent opens that skill. Every session reads its "
        f"description, about {token_count(about)} tokens."
    )


def _reach(rule: Rule, document: DocumentChange) -> int:
    """The bytes of the document up to the end of a new rule."""
    before, _, _ = document.text.rpartition(rule.text)
    return len(f"{before}{rule.text}".encode())


def as_file(found: NightPage) -> str:
    """`report.md`: the page, how to decide and to undo, and the statistics folded below. All of it is plain text in
    blocks of code, so that nothing in it is more than text."""
    if found.rules:
        first, *rest = page(found)
        lines = [first, _how(found.night), *rest]
    else:
        because = f": {plain(found.reason, 500)}" if found.reason else ""
        lines = [f"Night {found.night} proposes nothing{because}."]
    blocks = [_block(lines)]
    if found.statistics:
        blocks += ["<details><summary>Statistics</summary>", _block(found.statistics), "</details>"]
    return f"# Night {found.night}\n\n" + "\n\n".join(blocks) + "\n"


def document_lines(document: DocumentReport) -> list[str]:
    """What was measured of a document as a whole."""
    lines = [f"{document.name}: {document.status}  ({plain(document.path, 300)})", f"  {plain(document.reason, 500)}"]
    if document.baseline is not None:
        after = "" if document.candidate is None else f", candidate {document.candidate:.3f} (selected on)"
        lines.append(f"  held-out tasks: before {document.baseline:.3f}{after}, n={document.held_out}")
    if document.confirmed is not None:
        change = document.confirmed
        interval = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        lines.append(f"  fresh attempts: {interval}, verdict {document.verdict}")
    if document.by_luck is not None:
        side = "not above" if document.by_luck <= ERROR else "above"
        lines.append(f"  by luck alone: p = {document.by_luck:.2g}, {side} the significance level {ERROR:g}")
    if document.settle:
        lines.append(f"  {document.settle}")
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
        yield f'  {when} "{cut}{plain(from_word(text, start), _ANSWER)}"'


class NightLine(Record):
    """A night in a list."""

    night: int
    started: str | None
    status: str
    """How it stands now: `Reviews.stands`."""
    resumes: bool
    tasks: int
    documents: Mapping[str, str]
    """How each ended, by its name."""
    proposal: str
    newest: bool
    """Only the newest proposal waits for a person."""


class Reviews(ProjectProposals):
    """The nights of a project, and what a person decides on them."""

    def nights(self) -> tuple[NightLine, ...]:
        """All nights, the last one first."""
        last, done, resumes = self.newest(), receipts(self.state.folder), unfinished(self.state)
        found = ((number, read_report(self.state, number)) for number in reversed(self.state.numbers()))
        return tuple(
            NightLine(
                night=number,
                started=None if report is None else report.started.isoformat(timespec="minutes"),
                status=self._stands(number, done),
                resumes=number == resumes,
                tasks=0 if report is None else sum(report.tasks.values()),
                documents={} if report is None else {one.name: one.status for one in report.documents},
                proposal="" if report is None else report.proposal,
                newest=number == last,
            )
            for number, report in found
        )

    def stands(self, number: int) -> str:
        """How a night stands now: as it ended, or what has become of its rules since."""
        return self._stands(number, receipts(self.state.folder))

    def _stands(self, number: int, done: Sequence[Receipt]) -> str:
        mine = [receipt for receipt in done if receipt.night == f"{number:04d}"]
        if mine and all(receipt.reverted for receipt in mine):
            return "reverted"
        if mine:
            return self._decided(number)
        report = read_report(self.state, number)
        if report is None and (self.state.night(number) / REPORT).exists():
            return "unreadable"
        if report is None or report.status == "running":
            latest = number == self.state.numbers()[-1]
            return "under way" if latest and under_way(self.state.ledger) else "killed"
        if report.status == "proposed" and self.has_proposal(number):
            return self._decided(number)
        return "stopped" if report.status == "error" and report.resumes else report.status

    def _decided(self, number: int) -> str:
        """What became of a proposal. What waits of an earlier one is part of the newest."""
        with suppress(InputError):
            states = {item.state for item in self.pending(number).items}
            last = self.newest()
            if "waits" in states and number != last:
                return f"in night {last}"
            if "waits" in states:
                return "partly adopted" if "adopted" in states else "proposed"
            order = {"adopted": "adopted", "taken out": "reverted", "rejected": "rejected"}
            return next((stands for state, stands in order.items() if state in states), "outdated")
        return "proposed"

    def night(self, number: int) -> NightPage:
        """A night as it stands now. Raises DataError: there is none of that number, or it cannot be read."""
        if number not in self.state.numbers():
            raise DataError(f"there is no night {number}", hint="`etude sleep status` shows the nights")
        items = self.pending(number).items if self.has_proposal(number) else ()
        return night_page(
            number, read_report(self.state, number), items, self.project, newest=number == self.newest()
        )

    def decide(
        self, number: int, rules: Sequence[str], what: Decision, words: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Take these rules, in other words where `words` has some by id, or turn them down. Raises InputError: a
        newer night proposes what waits; else as `adopt` and `reject`."""
        last = self.newest()
        if number != last:
            hint = f"decide on the page of night {last}"
            raise InputError(f"what waits of night {number} is part of what night {last} proposes", hint=hint)
        if what == "reject":
            self.reject(number, rules)
        else:
            self.adopt(number, rules, words)

    def stamp(self) -> str:
        """Changes when a night or a decision does."""
        files = (self.state.folder / RULES, self.state.nights, *self.state.nights.glob(f"*/{REPORT}"))
        return "-".join(f"{file.stat().st_mtime_ns:x}" for file in files if file.exists())
