"""Weeks of three people, and an optimizer that proposes every sentence with always, never or every, wherever it
stands: `init`, `run` and `review` bring the wishes of that person, and code refuses the rest."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import other_week
import pytest
import third_week
import week_sessions
from small_night import run_night
from week_sessions import MONDAY

from at_terminal import at_a_terminal
from etude.cli.main import main
from etude.records import ChatRequest
from etude.sleep.config import load_sleep_config
from etude.sleep.page import Reviews
from etude.sleep.state import Surroundings, state_in
from etude.testing import ScriptedModel

_SENTENCE = re.compile(r"[^.!?\n\"<>:]*\b(?:always|never|every)\b[^.!?\n\"<>]*[.!?]", re.IGNORECASE)
_QUOTE = re.compile(r'^(q\d+): "(.*)", said in', re.MULTILINE)
OVER = (("tabs", "spaces"), ("day first", "year first"), ("10 cents", "50 cents"))
"""What no optimizer takes for the same: the words of a wish, and of a later one."""


DRAWERS = (
    "ash beech birch cedar elm fir hazel holly larch lime maple oak olive pear pine plum rowan spruce teak walnut "
    "willow yew"
)


class Week(NamedTuple):
    """A week, and what is to come of it."""

    write: Callable[..., None]
    documents: Mapping[str, str]
    """By their paths below a folder that has the home and the project `shop`."""
    wished: set[str]
    elsewhere: set[str]
    """Said in five other places."""
    stand: set[str]
    """They stand in documents."""
    over: str
    """It was taken back later."""
    once: str
    """It is about one occasion."""
    again: str
    """It was said in two sessions, and contradicts a line."""
    line: str
    unsaid: tuple[str, ...]
    """Words of a page, of a script and of other projects."""
    mail: str
    file: str = "AGENTS.md"
    """What the agent of that person reads."""


FIRST = Week(
    write=week_sessions.week,
    documents={
        "shop/AGENTS.md": "# Shop\n\n- Always use pnpm here.\n- Never name the customer in the title.\n",
        "home/.claude/CLAUDE.md": "Always answer in English. Never commit to main.\n",
    },
    wished=week_sessions.WISHED,
    elsewhere=week_sessions.ELSEWHERE,
    stand={
        "Please always use pnpm here!",
        "Always use pnpm here.",
        "Never commit to main.",
        "Always answer in English.",
    },
    over="Always indent with tabs.",
    once="For the demo today always show the prices in euro.",
    again="Always name the customer in the title.",
    line="Never name the customer in the title.",
    unsaid=("keys of the project", "output only the message", "street"),
    mail="invoice",
)
SECOND = Week(
    write=other_week.week,
    documents={
        "shop/AGENTS.md": "# Atlas\n\n* Use `uv` here.\n* No overview ends with the open questions.\n",
        "home/.codex/AGENTS.md": "Do not push to main.\n",
    },
    wished=other_week.WISHED,
    elsewhere=other_week.ELSEWHERE,
    stand={"From now on always use `uv` here!", "Please never ever push to main.", "Do not push to main."},
    over="Always write the day first.",
    once="Just this once always show them in dollars.",
    again="Every overview ends with the open questions.",
    line="No overview ends with the open questions.",
    unsaid=("tiles to the archive", "print only its name", "evening"),
    mail="Archiv",
)
THIRD = Week(
    write=third_week.week,
    documents={
        "shop/.github/copilot-instructions.md": (
            "# Diner\n\n- Every order has a number.\n- No dish names its allergens.\n"
            "- Ana wrote: Never put more than 6 guests at a table.\n\n"
            "## How it was until 2024\n\n- Always use bun, never npm.\n\n"
            "## Tests\n\nNever mock the clock.\n\n```\nAlways close the till at 22:30.\n```\n"
        )
    },
    wished=third_week.WISHED,
    elsewhere=third_week.ELSEWHERE,
    stand={"Every order has a number.", "Never mock the clock."},
    over="Always round prices to 10 cents.",
    once="Just for today always write it in Spanish.",
    again="Every dish names its allergens.",
    line="No dish names its allergens.",
    unsaid=("recipes to the archive", "print only the total", "tulips"),
    mail="logo",
    file=".github/copilot-instructions.md",
)


def eager(request: ChatRequest) -> str:
    """An optimizer without judgement; but it sees that tabs are no spaces, and a day is no year."""
    task, text = request.messages[0].text, re.sub(r"^\[\w+\] ", "", request.messages[-1].text, flags=re.MULTILINE)
    sentences = [found[0].strip(" -[]") for found in _SENTENCE.finditer(text)]
    if '"self_contained"' in task:
        return json.dumps({"tasks": [], "wishes": [{"rule": one, "quote": one} for one in dict.fromkeys(sentences)]})
    if '"asked_by"' not in task:
        return "OK"
    quotes = dict(_QUOTE.findall(text))
    wishes = [
        {"rule": one, "quotes": [name for name, said in quotes.items() if one in said] or list(quotes)[:1]}
        for one in dict.fromkeys(sentences)
    ]
    named = [[name for words in pair for name, said in quotes.items() if words in said][::-1] for pair in OVER]
    pairs = [{"one": pair[0], "other": pair[1]} for pair in named if len(pair) == 2]
    return json.dumps({"asked_by": [], "wishes": wishes, "contradict": pairs})


class Proposed(NamedTuple):
    """What the night proposes."""

    week: Week
    rules: dict[str, dict[str, Any]]
    """By what each says, with its lines."""
    shown: str
    """What a review shows."""


@pytest.fixture(scope="module", params=[FIRST, SECOND, THIRD], ids=["first", "second", "third"])
def proposed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Proposed:
    root, week = tmp_path_factory.mktemp("week"), request.param
    home, shop = root / "home", root / "shop"
    for name, text in week.documents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    week.write(home, shop, [root / "bakery", root / "museum"])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setattr("etude.programs.program.Program._in_checkout", lambda self: None)
        monkeypatch.chdir(shop)
        assert main(["sleep", "init", "--target", "simulated:target", "--optimizer", "simulated:optimizer"]) == 0
        around = Surroundings(now=lambda: MONDAY.replace(day=28))
        models = {role: ScriptedModel(eager, name=f"x:{role}") for role in ("target", "optimizer")}
        report = run_night(load_sleep_config("sleep.yaml"), around, given=models)
        assert report.status == "proposed", report
        before = (shop / week.file).read_text()
        nights = Reviews(shop, state_in(shop, Surroundings()))
        rules = [rule.model_dump(mode="json") for rule in nights.night(1).rules]
        shown = at_a_terminal(["sleep", "review"], ["n"] * (len(rules) - 1) + ["t"])
        assert f"taken: 1, rejected: {len(rules) - 1}, wait: 0" in shown
        assert (shop / week.file).read_text().startswith(before)
        assert sorted(str(path.relative_to(shop)) for path in shop.rglob("*") if path.is_file()) == [
            week.file,
            "sleep.yaml",
        ]
    return Proposed(week, {rule["text"].removeprefix("- "): rule for rule in rules}, shown)


def test_all_that_the_person_wished_is_proposed_and_what_stands_in_a_document_is_not(proposed: Proposed) -> None:
    week, rules = proposed.week, proposed.rules
    assert rules.keys() >= week.wished | week.elsewhere
    assert not (week.stand | {week.over}) & rules.keys()
    assert not any(words in rule for rule in rules for words in week.unsaid)
    pasted = [rule for rule in rules if week.mail in rule]
    assert pasted
    assert all("No words of yours ask for all of it" in rules[rule]["lines"][0] for rule in pasted)
    assert rules.keys() == week.wished | week.elsewhere | set(pasted)


def test_each_rule_says_where_it_goes_what_it_costs_and_what_is_doubtful(proposed: Proposed) -> None:
    week, lines = proposed.week, {rule: "\n".join(found["lines"]) for rule, found in proposed.rules.items()}
    assert all(f"It goes into {week.file}, and costs about " in lines[rule] for rule in week.wished)
    once = {rule for rule in week.wished if "It may have been meant for one occasion only." in lines[rule]}
    assert once == {week.once}
    assert "You asked for it in 2 of " in lines[week.again]
    beside = f'It contradicts a line that your agent reads: "{week.line}"'
    assert {rule for rule in week.wished if beside in lines[rule]} == {week.again}
    assert beside in proposed.shown


def test_of_more_wishes_than_one_night_proposes_the_next_night_proposes_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    shop.mkdir()
    wished = [f"Always polish the {name} drawer." for name in re.findall(r"\w+", DRAWERS)]
    for at in range(0, len(wished), 4):
        session = week_sessions.Writer(home, shop, f"drawers {at}", 1)
        for words in wished[at : at + 4]:
            session.turn(f"Look at it. {words}")
        session.write()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(shop)
    (shop / "sleep.yaml").write_text("target: {model: simulated:target}\noptimizer: {model: simulated:optimizer}\n")
    around = Surroundings(now=lambda: MONDAY.replace(day=26))
    models = {role: ScriptedModel(eager, name=f"x:{role}") for role in ("target", "optimizer")}
    nights = Reviews(shop, state_in(shop, Surroundings()))
    found = list[set[str]]()
    for number in (1, 2):
        report = run_night(load_sleep_config("sleep.yaml"), around, given=models)
        assert report.status == "proposed", report
        found.append({rule.text.removeprefix("- ") for rule in nights.night(number).rules})
    assert (len(found[0]), found[1]) == (20, set(wished))
    assert run_night(load_sleep_config("sleep.yaml"), around, given=models).status == "nothing to do"
