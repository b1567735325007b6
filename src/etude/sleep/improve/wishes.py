"""What users said outright: which new rules their words ask for, and which rules they ask for besides.

A wish that is said needs no proof by held-out tasks. It is proposed with the user's words and marked as untested, for
a person to take or leave.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from etude.envs.splits import fold
from etude.errors import UnusableReply
from etude.sleep.adoption.rules import Rule, said
from etude.sleep.tasks.mined import MinedTask, Quote, Wish
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

MOST_QUOTES = 60
MOST_WISHES = 5
"""Rules that are proposed in one night because somebody asked for them."""
LONGEST_RULE = 300
_WORD = re.compile(r"\w+")
_IDLE = frozenset(("please", "always", "a", "an", "the"))
"""Words that may be there or not."""


class _AskedReply(ReplyForm):
    rule: str
    quotes: tuple[str, ...]


class _Reply(ReplyForm):
    asked_by: tuple[_AskedReply, ...]
    wishes: tuple[_AskedReply, ...]


class UserWishes(NamedTuple):
    """Rules, and the words of users that ask for each."""

    by_rule: Mapping[str, tuple[Quote, ...]] = {}
    """Of tonight's new rules, by what they say."""
    wishes: Mapping[str, tuple[Quote, ...]] = {}
    """By the text of the rule that is asked for besides."""
    notes: tuple[str, ...] = ()
    overheard: tuple[Quote, ...] = ()
    """What no user said, and tasks or wishes have words of."""


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
    numbered = _numbered(heard)
    if not numbered:
        return UserWishes()
    by_id = {f"r{at}": said(rule.text) for at, rule in enumerate(rules, 1)}
    turned_down = [said(rule.text) for rule in rejected]
    sections = [
        _section("New rules", "rules", [f"{name}: {text}" for name, text in by_id.items()] or ["none"]),
        _section("Documents that the agent reads", "documents", [text for text in documents if text.strip()]),
        *([_section("Rules that were turned down", "rejected", turned_down)] if turned_down else []),
        _section("What users said", "quotes", [f"{name}: {text}" for name, (text, _) in numbered.items()]),
    ]
    try:
        reply = await optimizer.ask("sleep_wishes", sections, _Reply)
    except UnusableReply as error:
        return UserWishes(notes=(f"wishes of users were not looked at: {error.message}",))

    def quotes(names: Iterable[str]) -> tuple[Quote, ...]:
        found = (quote for name in names if name in numbered for quote in numbered[name][1])
        return tuple(dict.fromkeys(found))

    by_rule = {
        by_id[one.rule]: found for one in reply.asked_by if one.rule in by_id and (found := quotes(one.quotes))
    }
    wishes: dict[str, tuple[Quote, ...]] = {}
    for one in reply.wishes:
        text, found = " ".join(one.rule.lstrip("-*• \t").split()), quotes(one.quotes)
        if (
            found
            and 0 < len(text) <= LONGEST_RULE
            and not any(same(text, other) for other in (*by_id.values(), *wishes))
        ):
            wishes[text] = found
    return UserWishes(by_rule, dict(list(wishes.items())[:MOST_WISHES]))


def what_was_said(wishes: Sequence[Wish], tasks: Sequence[MinedTask]) -> list[tuple[str, Quote]]:
    """Wishes and quotes of a night: what was read in the quote, empty where it only tells what an answer lacks."""
    return [
        *((wish.rule, wish.quote) for wish in wishes),
        *(("", quote) for task in tasks if task.origin == "real" and task.split != "test" for quote in task.quotes),
    ]


def same(one: str, other: str) -> bool:
    """Whether two rules say the same, words apart that change nothing. The order of words counts: tabs instead of
    spaces is not spaces instead of tabs."""
    a, b = ([word for word in _WORD.findall(fold(said(text))) if word not in _IDLE] for text in (one, other))
    return a == b


def _numbered(heard: Sequence[tuple[str, Quote]]) -> dict[str, tuple[str, list[Quote]]]:
    """By number: what is shown of a quote, and where it was said. Equal words are one quote, in any order of
    sessions."""
    found: dict[str, tuple[set[str], set[Quote]]] = {}
    for rule, quote in heard:
        rules, quotes = found.setdefault(fold(quote.text), (set(), set()))
        quotes.add(quote)
        if rule:
            rules.add(rule)
    result: dict[str, tuple[str, list[Quote]]] = {}
    often = sorted(found, key=lambda text: (-len(found[text][1]), text))
    for at, text in enumerate(often[:MOST_QUOTES], 1):
        rules, quotes = found[text]
        ordered = sorted(quotes, key=lambda quote: (quote.session.source, quote.session.id, quote.text))
        wish = f" (a wish: {min(rules)})" if rules else ""
        result[f"q{at}"] = f'"{ordered[0].text}", said in {len(ordered)} sessions{wish}', ordered
    return result


def _section(title: str, tag: str, lines: Sequence[str]) -> str:
    return f"# {title}\n\n{fence(tag, chr(10).join(lines))}"
