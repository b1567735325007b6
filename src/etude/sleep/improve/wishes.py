"""What users said outright: which new rules their words ask for, and which rules they ask for besides.

A wish that is said needs no proof by held-out tasks. It is proposed with the user's words and marked as untested, for
a person to take or leave.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import NamedTuple

from etude.envs.splits import fold
from etude.envs.wording import bare, contrary, same
from etude.errors import UnusableReply
from etude.readable import counted, cut_middle
from etude.sleep.adoption.known_words import KnownWords
from etude.sleep.adoption.rules import Rule, said
from etude.sleep.live_documents import LiveDocument
from etude.sleep.tasks.mined import MinedTask, Quote, Wish
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

MOST_QUOTES = 300
"""That one request has, those said most often."""
MOST_WISHES = 20
"""Rules that are proposed in one night because somebody asked for them."""
TOO_MANY = f"a night proposes no more than {MOST_WISHES} of them, and the next one goes on"
OVERRULED = "a later wish says otherwise"
LONGEST_RULE = 300
LONGEST_DOCUMENT = 12_000
_NEVER = datetime.min.replace(tzinfo=UTC)
_OCCASION = (
    r"(?:demo|démo|meeting|presentation|présentation|presentación|präsentation|talk|workshop|interview|release|launch"
    r"|sprint|task|pr|pull request|ticket|session|freeze|réunion|reunión|riunione|besprechung|vortrag)"
)
_NAMES_MORE = (
    r"(?!-|\s+(?:notes?|reviews?|plans?|planning|runs?|runner|branch(?:es)?|templates?|descriptions?|titles?|systems?"
    r"|scripts?|trackers?|boards?|names?|numbers?|logs?|tokens?|cookies?|stor(?:e|age)|managers?|queues?|minutes|agendas?"
    r"|apps?|manuals?|pages?|sites?|data|rooms?|folders?|code)\b)"
)
"""Not behind an occasion: "for our release" is one, "for our release notes" is none."""
ONCE = re.compile(
    r"\b(?:(?:today|tomorrow)(?!['’]s)|tonight|this (?:time|once|one|morning|afternoon|evening|week|month|sprint)"
    r"|on this branch|(?:just|only) (?:this )?once|just (?:for )?this|for now|right now|for the (?:time being|moment)"
    r"|temporarily|as (?:an exception|a one-off)|while i(?: am|['’]m)|for the next (?:\w+ )?(?:hour|day|week|month)s?"
    r"|until (?:next|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:i|we|they)\b|v?\d"
    r"|the (?:end|next|demo|release|launch|review|meeting))"
    rf"|(?:for|in|during) (?:this|the|our|my|[\w]+['’]s) {_OCCASION}\b{_NAMES_MORE}"
    rf"|heute|diese woche|bis (?:morgen|\w+tag)|diesmal|dieses mal|fürs erste|vorerst|vorläufig|ausnahmsweise"
    rf"|für (?:die|das|den|diese[ns]?) {_OCCASION}"
    rf"|aujourd['’]hui|cette fois|pour (?:l['’]instant|le moment|(?:la|le|cette|ce) {_OCCASION})"
    rf"|hoy|esta vez|por (?:ahora|el momento)|para (?:la|el|esta|este) {_OCCASION}"
    rf"|oggi|questa volta|per (?:ora|il momento|(?:la|il|questa|questo) {_OCCASION}))\b",
    re.IGNORECASE,
)
"""What somebody says who speaks of one occasion only."""


class _AskedReply(ReplyForm):
    rule: str
    quotes: tuple[str, ...]


class _AgainstReply(ReplyForm):
    rule: str
    line: str


class _OverruledReply(ReplyForm):
    one: str
    other: str


class _Reply(ReplyForm):
    asked_by: tuple[_AskedReply, ...]
    wishes: tuple[_AskedReply, ...]
    against: tuple[_AgainstReply, ...] = ()
    contradict: tuple[_OverruledReply, ...] = ()
    once: tuple[str, ...] = ()


class UserWishes(NamedTuple):
    """Rules, and the words of users that ask for each."""

    by_rule: Mapping[str, tuple[Quote, ...]] = {}
    """Of tonight's new rules, by what they say."""
    wishes: Mapping[str, tuple[Quote, ...]] = {}
    """By the text of the rule that is asked for besides."""
    notes: tuple[str, ...] = ()
    overheard: tuple[Quote, ...] = ()
    """What no user said, and tasks or wishes have words of."""
    against: Mapping[str, str] = {}
    """Lines of documents, by what the rule says that contradicts each."""
    overruled: frozenset[str] = frozenset()
    """What rules say that only words ask for which the user took back later."""
    known: KnownWords = KnownWords(())
    """What the agent reads already."""
    document: LiveDocument | None = None
    """Where wishes belong."""
    left: Mapping[str, Sequence[str]] = {}
    """What the rules say that were left out, by reason."""
    later: Collection[tuple[str, str]] = ()
    """Source and id of sessions with wishes that the night has no room for: the next one is to read them again."""


async def asked(
    optimizer: Optimizer,
    rules: Sequence[Rule],
    documents: Iterable[str],
    heard: Sequence[tuple[str, Quote]],
    rejected: Sequence[Rule] = (),
) -> UserWishes:
    """Ask the optimizer once which quotes ask for what. No call where nobody said anything.

    Args:
        rules: tonight's new ones, and those that wait since earlier nights.
        documents: texts that the agent reads already.
        heard: the wish that was read in a quote, or nothing, and the quote (`what_was_said`).
        rejected: what a person has turned down.
    """
    numbered, read = _numbered(heard), [text for text in documents if text.strip()]
    known = KnownWords(read)
    if not numbered:
        return UserWishes(known=known)
    by_id = {f"r{at}": said(rule.text) for at, rule in enumerate(rules, 1)}
    turned_down = [said(rule.text) for rule in rejected]
    sections = [
        _section("New rules", "rules", [f"{name}: {text}" for name, text in by_id.items()] or ["none"]),
        _section(
            "Documents that the agent reads", "documents", [cut_middle(text, LONGEST_DOCUMENT) for text in read]
        ),
        *([_section("Rules that were turned down", "rejected", turned_down)] if turned_down else []),
        _section(
            "What users said, in order of time", "quotes", [f"{name}: {one.text}" for name, one in numbered.items()]
        ),
    ]
    try:
        reply = await optimizer.ask("sleep_wishes", sections, _Reply)
    except UnusableReply as error:
        return UserWishes(notes=(f"wishes of users were not looked at: {error.message}",), known=known)
    back, once = _taken_back(reply, numbered), frozenset(reply.once)

    def quotes(names: Iterable[str]) -> tuple[Quote, ...]:
        there = [name for name in names if name in numbered and name not in back]
        found = ((name in once or ONCE.search(one.text), one) for name in there for one in numbered[name].quotes)
        marked = (quote.model_copy(update={"once": bool(for_once)}) for for_once, quote in found)
        return tuple(dict.fromkeys(marked))

    named = [one for one in reply.asked_by if one.rule in by_id]
    by_rule = {by_id[one.rule]: found for one in named if (found := quotes(one.quotes))}
    overruled = {by_id[one.rule] for one in named if back & set(one.quotes)} - by_rule.keys()
    wishes: dict[str, tuple[Quote, ...]] = {}
    left, later = dict[str, list[str]](), set[tuple[str, str]]()
    for one in reply.wishes:
        text, found = " ".join(bare(one.rule).split()), quotes(one.quotes)
        if any(same(text, each) for each in (*by_id.values(), *wishes)):
            continue
        unsaid = OVERRULED if back & set(one.quotes) else "no quote asks for them"
        why = (text and refused(text, turned_down, known)) or ("" if text and found else unsaid)
        why = why or (f"they have more than {LONGEST_RULE} characters" if len(text) > LONGEST_RULE else "")
        why = why or (TOO_MANY if len(wishes) == MOST_WISHES else "")
        later |= {(one.session.source, one.session.id) for one in found if why == TOO_MANY}
        if why:
            left.setdefault(why, []).append(text or one.rule)
        else:
            wishes[text] = found
    against = {by_id.get(one.rule, said(one.rule)): known.line(one.line) for one in reply.against}
    against |= {text: line for text in (*by_id.values(), *wishes) if (line := known.against(text))}
    more = len({fold(quote.text) for _, quote in heard}) - len(numbered)
    notes = (f"quotes of users that one request has no room for: {more}",) if more else ()
    return UserWishes(by_rule, wishes, notes, (), against, frozenset(overruled), known, left=left, later=later)


def refused(text: str, rejected: Iterable[str], known: KnownWords) -> str:
    """Why a rule is not proposed; empty where it is."""
    if any(same(text, one) for one in rejected):
        return "they were turned down"
    return "the agent reads the same already" if known.says(text) else ""


def what_was_said(wishes: Sequence[Wish], tasks: Sequence[MinedTask]) -> list[tuple[str, Quote]]:
    """Wishes and quotes of a night: what was read in the quote, empty where it only tells what an answer lacks."""
    return [
        *((wish.rule, wish.quote) for wish in wishes),
        *(("", quote) for task in tasks if task.origin == "real" and task.split != "test" for quote in task.quotes),
    ]


class _Said(NamedTuple):
    """The same words, wherever they were said."""

    text: str
    """As the optimizer reads it."""
    quotes: tuple[Quote, ...]


def _taken_back(reply: _Reply, numbered: Mapping[str, _Said]) -> frozenset[str]:
    """Of each two quotes that contradict each other the earlier one. Quotes are numbered in order of time."""
    order = {name: at for at, name in enumerate(numbered)}
    said = {name: each.quotes[0].text for name, each in numbered.items()}
    pairs = [{one.one, one.other} for one in reply.contradict]
    pairs += [{one, other} for one, other in combinations(said, 2) if contrary(said[one], said[other])]
    return frozenset(min(pair, key=order.__getitem__) for pair in pairs if len(pair) == 2 and pair <= order.keys())


def _numbered(heard: Sequence[tuple[str, Quote]]) -> dict[str, _Said]:
    """By number, in order of time: equal words are one quote, which was last said when the latest of them was."""
    found: dict[str, tuple[set[str], set[Quote]]] = {}
    last: dict[str, tuple[datetime, int]] = {}  # in one turn, what stands behind comes later
    for at, (rule, quote) in enumerate(heard):
        words = fold(quote.text)
        rules, quotes = found.setdefault(words, (set(), set()))
        last[words] = max(last.get(words, (_NEVER, at)), (quote.at or _NEVER, at))
        quotes.add(quote)
        if rule:
            rules.add(rule)
    often = sorted(found, key=lambda words: -len(found[words][1]))[:MOST_QUOTES]
    result: dict[str, _Said] = {}
    for number, words in enumerate(sorted(often, key=lambda words: last[words]), 1):
        rules, quotes = found[words]
        ordered = tuple(sorted(quotes, key=lambda quote: (quote.session.source, quote.session.id, quote.text)))
        when = "" if last[words][0] == _NEVER else f", last on {last[words][0]:%Y-%m-%d}"
        wish = f" (a wish: {min(rules)})" if rules else ""
        result[f"q{number}"] = _Said(
            f'"{ordered[0].text}", said in {counted(len(ordered), "session")}{when}{wish}', ordered
        )
    return result


def _section(title: str, tag: str, lines: Sequence[str]) -> str:
    return f"# {title}\n\n{fence(tag, chr(10).join(lines))}"
