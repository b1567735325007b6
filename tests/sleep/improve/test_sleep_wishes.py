"""Wishes have their dates, and of two that contradict each other the later one counts."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from etude.models import Structured
from etude.prompts import Prompts
from etude.sleep.adoption.rules import Rule
from etude.sleep.config import SleepSection
from etude.sleep.improve.documents import TrainingOutcome
from etude.sleep.improve.propose import propose
from etude.sleep.improve.wishes import MOST_QUOTES, MOST_WISHES, ONCE, UserWishes, asked
from etude.sleep.state import SleepState
from etude.sleep.tasks.mined import Quote, SessionRef
from etude.stages.shared.optimizer import Optimizer
from etude.testing import ScriptedModel
from rows import rows

START = datetime(2026, 11, 23, 9, tzinfo=UTC)
TABS, SPACES = "Always indent with tabs.", "From now on always indent with four spaces."
RULE = Rule(id="00000001", text="- Cite.")


def said(text: str, day: int | None, session: str = "s") -> tuple[str, Quote]:
    at = None if day is None else START + timedelta(days=day)
    return text, Quote(session=SessionRef(source="claude-code", id=f"{session}{day}"), text=text, at=at)


async def sorted_out(
    heard: Sequence[tuple[str, Quote]],
    reply: Mapping[str, Any],
    rules: Sequence[Rule] = (),
    documents: Sequence[str] = (),
) -> tuple[UserWishes, str]:
    """What comes of a reply, and what the optimizer was shown."""
    model = ScriptedModel(lambda _: json.dumps({"asked_by": [], "wishes": [], **reply}), name="x:optimizer")
    optimizer = Optimizer(Structured(model), Prompts(), lambda event: None)
    found = await asked(optimizer, rules, documents, heard)
    return found, model.requests[0].messages[-1].text


@pytest.mark.parametrize("named", [("q1", "q2"), ("q2", "q1")])
@pytest.mark.parametrize("order", [1, -1])
async def test_the_later_of_two_wishes_counts_however_they_are_named(named: tuple[str, str], order: int) -> None:
    heard = [said(SPACES, 2), said(TABS, 0)][::order]
    wishes = [{"rule": TABS, "quotes": ["q1"]}, {"rule": SPACES, "quotes": ["q2"]}]
    contradict = [{"one": named[0], "other": named[1]}]
    found, shown = await sorted_out(heard, {"wishes": wishes, "contradict": contradict})
    assert list(found.wishes) == [SPACES]
    first, second = (line for line in shown.splitlines() if line.startswith(("q1:", "q2:")))
    assert first == f'q1: "{TABS}", said in 1 session, last on 2026-11-23 (a wish: {TABS})'
    assert second == f'q2: "{SPACES}", said in 1 session, last on 2026-11-25 (a wish: {SPACES})'


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Every call waits 30 seconds.", "Every call waits ten seconds."),
        ("Never mock the database.", "Please always mock the database!"),
        ("Name every file.", "Name no file."),
    ],
)
async def test_the_later_of_two_wishes_counts_that_differ_in_a_number_or_a_no_though_nobody_names_them(
    earlier: str, later: str
) -> None:
    wishes = [{"rule": earlier, "quotes": ["q1"]}, {"rule": later, "quotes": ["q2"]}]
    found, _ = await sorted_out([said(later, 3), said(earlier, 1)], {"wishes": wishes})
    assert (list(found.wishes), list(found.left)) == ([later], ["a later wish says otherwise"])


async def test_wishes_beyond_the_most_of_a_night_wait_with_their_sessions() -> None:
    words = [f"Always polish part {chr(97 + at)}{chr(97 + at)}." for at in range(MOST_WISHES + 2)]
    wishes = [{"rule": text, "quotes": [f"q{at}"]} for at, text in enumerate(words, 1)]
    found, _ = await sorted_out([said(text, at) for at, text in enumerate(words)], {"wishes": wishes})
    assert list(found.wishes) == words[:MOST_WISHES]
    assert set(found.later) == {("claude-code", f"s{at}") for at in (MOST_WISHES, MOST_WISHES + 1)}
    assert [*found.left.values()] == [words[MOST_WISHES:]]


async def test_what_was_said_again_after_all_is_the_later_one() -> None:
    heard = [said(TABS, 0), said(SPACES, 2), said(TABS, 4)]
    wishes = [{"rule": TABS, "quotes": ["q2"]}, {"rule": SPACES, "quotes": ["q1"]}]
    found, _ = await sorted_out(heard, {"wishes": wishes, "contradict": [{"one": "q1", "other": "q2"}]})
    assert list(found.wishes) == [TABS]
    assert sorted(quote.at for quote in found.wishes[TABS] if quote.at) == [START, START + timedelta(days=4)]


async def test_a_rule_that_only_words_ask_for_which_were_taken_back_is_named() -> None:
    reply = {"asked_by": [{"rule": "r1", "quotes": ["q1"]}], "contradict": [{"one": "q1", "other": "q2"}]}
    found, _ = await sorted_out([said("Cite.", 0), said("Stop citing.", 1)], reply, [RULE])
    assert (found.overruled, found.by_rule) == ({"- Cite."}, {})
    both = {**reply, "asked_by": [{"rule": "r1", "quotes": ["q1", "q2"]}]}
    found, _ = await sorted_out([said("Cite.", 0), said("Stop citing.", 1)], both, [RULE])
    assert found.overruled == frozenset()


@pytest.mark.parametrize(
    "pair", [{"one": "q1", "other": "q1"}, {"one": "q1", "other": "q9"}, {"one": "", "other": ""}]
)
async def test_a_pair_that_is_none_takes_nothing_back(pair: dict[str, str]) -> None:
    wishes = [{"rule": TABS, "quotes": ["q1"]}]
    found, _ = await sorted_out([said(TABS, 0)], {"wishes": wishes, "contradict": [pair]})
    assert list(found.wishes) == [TABS]


async def test_words_without_a_date_come_first() -> None:
    wishes = [{"rule": TABS, "quotes": ["q1"]}, {"rule": SPACES, "quotes": ["q2"]}]
    found, _ = await sorted_out(
        [said(SPACES, 0), said(TABS, None)], {"wishes": wishes, "contradict": [{"one": "q1", "other": "q2"}]}
    )
    assert list(found.wishes) == [SPACES]


async def test_a_wish_for_one_occasion_is_marked_by_its_words_or_by_the_optimizer() -> None:
    texts = ["Show euros for the demo today.", "Show pounds.", "Show all."]
    wishes = [{"rule": f"- {text}", "quotes": [f"q{at}"]} for at, text in enumerate(texts, 1)]
    heard = [said(text, at) for at, text in enumerate(texts)]
    found, _ = await sorted_out(heard, {"wishes": wishes, "once": ["q2"]})
    assert [[quote.once for quote in found.wishes[text]] for text in texts] == [[True], [True], [False]]


@rows(
    ("words", "once"),
    [
        ("Only this time leave the tests out.", True),
        ("for now, skip the docs", True),
        ("Just once, in French.", True),
        ("Nur heute auf Englisch.", True),
        ("Leave the tests out until the release.", True),
        ("Just for this PR never squash.", True),
        ("For tomorrow's talk use big fonts.", True),
        ("Never merge during the freeze.", True),
        ("Ask me until I am back.", True),
        ("Für die Demo immer in Euro.", True),
        ("Vorerst npm.", True),
        ("Pour la démo, en euros.", True),
        ("Por ahora npm.", True),
        ("Per ora npm.", True),
        ("In this session no comments.", True),
        ("For our release notes always use the past tense.", False),
        ("This session-based login always needs tests.", False),
        ("In this ticket system always link the PR.", False),
        ("Always run the tests in this task runner.", False),
        ("During our sprint reviews write in English.", False),
        ("Always write today's date.", False),
        ("Run the tests before a release.", False),
        ("In this project use pnpm.", False),
        ("Keep the old layer until the new one is shown.", False),
        ("From now on answer in French.", False),
        ("Every time name the date.", False),
        ("Always run the demo script.", False),
        ("This sprint we use mocks.", True),
        ("On this branch use npm.", True),
        ("As a one-off, use npm.", True),
        ("Until we upgrade, use npm.", True),
        ("While I am on holiday always ask Bob.", True),
        ("Use npm for the moment.", True),
        ("Use the old API until v3 is out.", True),
        ("Just this file: use tabs.", True),
        ("For the next hour never push.", True),
        ("Diese Woche immer fragen.", True),
        ("Bis Freitag immer fragen.", True),
        ("For the demo always show euro.", True),
        ("For the meeting minutes use bullets.", False),
        ("For the demo app always use sqlite.", False),
        ("In our workshop manual use the metric system.", False),
        ("Use only this logger.", False),
        ("Each sprint ends with a report.", False),
        ("Don't commit until the tests pass.", False),
    ],
)
def test_words_about_one_occasion(words: str, once: bool) -> None:
    assert (ONCE.search(words) is not None) is once


async def test_a_line_that_a_rule_contradicts_is_named_if_it_stands_there() -> None:
    against = [{"rule": "r1", "line": "- name no source"}, {"rule": "Be brief.", "line": "Invented."}]
    found, _ = await sorted_out([said("Cite.", 0)], {"against": against}, [RULE], ["# House\n\n- Name no source.\n"])
    assert {rule: line for rule, line in found.against.items() if line} == {"- Cite.": "Name no source."}


async def test_no_wish_takes_the_place_of_another_because_it_is_known_already() -> None:
    names = [f"Always use tool {number}." for number in range(30)]
    document = "".join(f"- {name}\n" for name in names[:25])
    wishes = [{"rule": name, "quotes": ["q1"]} for name in names]
    found, _ = await sorted_out([said("Always use the tools.", 0)], {"wishes": wishes}, (), [document])
    assert list(found.wishes) == names[25:]
    assert found.left == {"the agent reads the same already": names[:25]}


async def test_what_is_not_proposed_is_counted_with_its_reason() -> None:
    heard = [said(TABS, 0), said(SPACES, 1), *(said(f"Name page {at}.", 2) for at in range(MOST_QUOTES))]
    rules = {TABS: "q1", "Be kind.": "q999", "x" * 301: "q2", SPACES: "q2", f"Please {SPACES}": "q2"}
    wishes = [{"rule": rule, "quotes": [quote]} for rule, quote in rules.items()]
    found, shown = await sorted_out(heard, {"wishes": wishes, "contradict": [{"one": "q1", "other": "q2"}]})
    assert list(found.wishes) == [SPACES]
    assert found.left == {
        "a later wish says otherwise": [TABS],
        "no quote asks for them": ["Be kind."],
        "they have more than 300 characters": ["x" * 301],
    }
    assert found.notes == ("quotes of users that one request has no room for: 2",)
    assert f"q{MOST_QUOTES}:" in shown


def test_a_rule_that_is_left_out_several_times_is_named_once(tmp_path: Path) -> None:
    left = {
        "they were turned down": ["- Be kind.", "Cite.", "- Please cite!", "Always cite.", "Name it.", "Sort it."]
    }
    sleep, state = SleepSection(project=str(tmp_path)), SleepState(tmp_path / "state")
    _, notes = propose(sleep, state, 1, {}, TrainingOutcome(), UserWishes(left=left))
    named = '"Be kind.", "Always cite.", "Name it.", 1 more'
    assert notes == (f"rules left out, since they were turned down: {named}",)


async def test_of_two_wishes_in_one_turn_the_one_that_stands_behind_is_the_later() -> None:
    wishes = [{"rule": TABS, "quotes": ["q2"]}, {"rule": SPACES, "quotes": ["q1"]}]
    heard = [said(SPACES, 2), said(TABS, 2)]
    found, _ = await sorted_out(heard, {"wishes": wishes, "contradict": [{"one": "q1", "other": "q2"}]})
    assert list(found.wishes) == [TABS]


async def test_a_rule_that_stands_already_is_left_out_for_that_whatever_quote_is_named() -> None:
    wishes = [{"rule": "Be brief.", "quotes": ["q1"]}]
    contradict = [{"one": "q1", "other": "q2"}]
    reply = {"wishes": wishes, "contradict": contradict}
    found, _ = await sorted_out([said(TABS, 0), said(SPACES, 2)], reply, documents=["Be brief.\n"])
    assert found.left == {"the agent reads the same already": ["Be brief."]}
