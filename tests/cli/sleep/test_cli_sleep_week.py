"""A week of one person, and an optimizer that proposes every sentence with always, never or every, wherever it
stands: `init`, `run` and `review` bring the wishes of that person, and code refuses the rest."""

import json
import re

import pytest
from small_night import run_night
from week_sessions import ELSEWHERE, MONDAY, WISHED, week

from at_terminal import at_a_terminal
from etude.cli.main import main
from etude.records import ChatRequest
from etude.sleep.config import load_sleep_config
from etude.sleep.review import Reviews
from etude.sleep.state import Surroundings, state_in
from etude.testing import ScriptedModel

_SENTENCE = re.compile(r"[^.!?\n\"<>:]*\b(?:always|never|every)\b[^.!?\n\"<>]*[.!?]", re.IGNORECASE)
_QUOTE = re.compile(r'^(q\d+): "(.*)", said in', re.MULTILINE)
STAND = {"Please always use pnpm here!", "Never commit to main.", "Always answer in English."}
"""They stand in documents."""


def eager(request: ChatRequest) -> str:
    """An optimizer without judgement; but it sees that tabs are no spaces."""
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
    tabs, spaces = ([name for name, said in quotes.items() if word in said] for word in ("tabs", "spaces"))
    pairs = [{"one": spaces[0], "other": tabs[0]}] if tabs and spaces else []
    return json.dumps({"asked_by": [], "wishes": wishes, "contradict": pairs})


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What the night proposes: the lines of each rule, and what a review shows; by what it says."""
    root = tmp_path_factory.mktemp("week")
    home, shop = root / "home", root / "shop"
    for folder in (home / ".claude", shop):
        folder.mkdir(parents=True)
    (shop / "AGENTS.md").write_text("# Shop\n\n- Always use pnpm here.\n- Never name the customer in the title.\n")
    (home / ".claude" / "CLAUDE.md").write_text("Always answer in English. Never commit to main.\n")
    week(home, shop, [root / "bakery", root / "museum"])
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
        before = (shop / "AGENTS.md").read_text()
        nights = Reviews(shop, state_in(shop, Surroundings()))
        rules = [rule.model_dump(mode="json") for rule in nights.night(1).rules]
        shown = at_a_terminal(["sleep", "review"], ["n"] * (len(rules) - 1) + ["t"])
        assert f"taken: 1, rejected: {len(rules) - 1}, wait: 0" in shown
        after = (shop / "AGENTS.md").read_text()
        assert after.startswith(before)
        assert not (shop / "CLAUDE.md").exists()
    return {rule["text"].removeprefix("- "): {**rule, "shown": shown} for rule in rules}


def test_the_wishes_of_the_person_are_proposed_and_nothing_that_stands_in_a_document(
    proposed: dict[str, dict[str, str]],
) -> None:
    assert proposed.keys() >= WISHED
    assert not (STAND | {"Always use pnpm here."}) & proposed.keys()
    assert "Always indent with tabs." not in proposed  # taken back later
    assert not any("archive of our" in rule and "partner" not in rule for rule in proposed)
    assert not any(word in rule for rule in proposed for word in ("keys of the project", "street"))


def test_each_rule_says_where_it_goes_what_it_costs_and_what_is_doubtful(proposed: dict[str, dict[str, str]]) -> None:
    lines = {rule: "\n".join(found["lines"]) for rule, found in proposed.items()}
    assert all("It goes into AGENTS.md, and costs about " in lines[rule] for rule in WISHED)
    once = {rule for rule in WISHED if "It may have been meant for one occasion only." in lines[rule]}
    assert once == {"For the demo today always show the prices in euro."}
    title = "Always name the customer in the title."
    assert '"Always name the customer in the title." (2026-11-25)' in lines[title]
    beside = 'It contradicts a line that your agent reads: "Never name the customer in the title."'
    assert {rule for rule in WISHED if beside in lines[rule]} == {title}
    assert beside in proposed[title]["shown"]


def test_what_is_typed_elsewhere_is_heard_and_what_no_person_typed_is_not(
    proposed: dict[str, dict[str, str]],
) -> None:
    assert proposed.keys() >= ELSEWHERE
    assert "Always output only the message." not in proposed
    pasted = [rule for rule in proposed if "invoice" in rule]
    assert pasted
    assert all("No words of yours ask for all of it" in proposed[rule]["lines"][0] for rule in pasted)
