"""What a person reads of a night in the first lines of `report.md`: what changes, why, what it rests on, the undo."""

from pathlib import Path

import pytest
from scripted import obeying, rewriting, said_outright, tasks_that_want
from sleep_proposals import project, proposed
from small_night import Finished, Small

from etude.sleep.adoption.rules import Evidence, Trial
from etude.sleep.page import DELIVERED, OPENED, rule_lines
from etude.sleep.report import NightReport
from etude.workbench import Given

STATISTICS = ("p =", "p-value", "interval", "noise", "confidence level", "[0.", "[+", "verdict")


def asked_for(small: Small) -> NightReport:
    said_outright(small, lambda _: "Always install with pnpm, never npm.", n=2)
    return small.night({"val_fraction": 0, "memory": True})


def nobody_asked_for(small: Small) -> NightReport:
    given = Given(target=obeying(("Say yes.", "yes")), optimizer=rewriting("- Say yes.\n"))
    return small.night(tasks_that_want(small, ["yes"]), given=given)


WITHOUT, UNTESTED = "Without this rule 0 of ", "Not tested: no task shows yet whether it helps."
NIGHTS = {
    "asked for": (asked_for, "pnpm", "You asked for it in 2 of 2 sessions", UNTESTED),
    "nobody asked for": (nobody_asked_for, "Say yes.", "No words of yours ask for this rule", WITHOUT),
}


@pytest.mark.parametrize("name", NIGHTS)
def test_the_first_fifteen_lines_say_what_changes_why_and_how_to_undo_it(tmp_path: Path, name: str) -> None:
    night, *said = NIGHTS[name]
    small = Small(tmp_path, n=0)
    report = night(small)
    assert report.status == "proposed"
    tells(small, *said)


def test_what_was_measured_is_told_without_statistics(finished: Finished) -> None:
    tells(finished.small, "Key Risks", "You asked for it in 5 of 5 sessions", WITHOUT, "For example")


@pytest.mark.parametrize("delivered", [True, False])
def test_of_a_skill_it_is_told_whether_its_rule_was_tried_as_it_will_be_read(tmp_path: Path, delivered: bool) -> None:
    place = project(tmp_path)
    behind = Evidence(trial=Trial(tasks=2, without=0, with_it=2, missed=("t",), delivered=delivered))
    change = proposed(place, place.skill, "- Cite.\n", evidence={"- Cite.": behind})
    lines = list(rule_lines(change.added[0], change, "SKILL.md", 1))
    assert lines[2] == (DELIVERED if delivered else OPENED)
    assert lines[3].startswith("It goes into SKILL.md: about 2 tokens, read only when your agent opens that skill. ")


def tells(small: Small, *said: str) -> None:
    first = "\n".join((small.state.night(1) / "report.md").read_text().splitlines()[:15])
    for words in (
        "Nothing changes before you say so.",
        "Decide rule by rule: etude sleep review",
        "Undo it later: etude sleep revert 1",
        "It goes into ",
        *said,
    ):
        assert words in first, words
    assert not [word for word in STATISTICS if word in first]
