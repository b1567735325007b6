"""What a person reads of a night in the first lines of `report.md`: what changes, why, what it rests on, the undo."""

from pathlib import Path

import pytest
from small_night import Small
from test_sleep_alone import obeying, rewriting, said_outright, tasks_that_want

from etude.sleep.report import NightReport
from etude.workbench import Given

STATISTICS = ("p =", "p-value", "interval", "noise", "confidence level", "[0.", "[+", "verdict")


def measured(small: Small) -> NightReport:
    return small.night()


def asked_for(small: Small) -> NightReport:
    said_outright(small, lambda _: "Always install with pnpm, never npm.", n=2)
    return small.night({"val_fraction": 0, "memory": True})


def nobody_asked_for(small: Small) -> NightReport:
    given = Given(target=obeying(("Say yes.", "yes")), optimizer=rewriting("- Say yes.\n"))
    return small.night(tasks_that_want(small, ["yes"]), given=given)


WITHOUT, UNTESTED = "Without this rule 0 of ", "Not tested: no task shows yet whether it helps."
NIGHTS = {
    "measured": (measured, 5, ("Key Risks", "You asked for it in 5 of 5 sessions", WITHOUT, "For example")),
    "asked for": (asked_for, 0, ("pnpm", "You asked for it in 2 of 2 sessions", UNTESTED)),
    "nobody asked for": (nobody_asked_for, 0, ("Say yes.", "No words of yours ask for this rule", WITHOUT)),
}


@pytest.mark.parametrize("name", NIGHTS)
def test_the_first_fifteen_lines_say_what_changes_why_and_how_to_undo_it(tmp_path: Path, name: str) -> None:
    night, sessions, said = NIGHTS[name]
    small = Small(tmp_path, n=sessions)
    report = night(small)
    assert report.status == "proposed"
    first = "\n".join((small.state.night(1) / "report.md").read_text().splitlines()[:15])
    for words in (
        "Night 1 proposes 1 new rule. Nothing changes before you say so.",
        "Decide rule by rule: etude sleep review",
        "Undo it later: etude sleep revert 1",
        "It goes into ",
        *said,
    ):
        assert words in first, words
    assert not [word for word in STATISTICS if word in first]


def test_a_night_without_a_proposal_says_why_in_its_first_line(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.night({"val_fraction": 0})
    line = (small.state.night(1) / "report.md").read_text().splitlines()[3]
    assert line == "Night 1 proposes nothing: what was made is unverified: there are no held-out tasks."
