"""Tables as people have them: invented rows with the faults of real ones, and what `init` is to make of them."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

_MAILS = {
    "billing": "My bill is wrong again|You charged me twice|Send the invoice please|I want my money back|"
    "The refund is missing|Card was charged wrongly|Which fee is this",
    "tech": "The screen stays black|Cannot log in since noon|App crashes at the start|Printer prints nothing|"
    "No sound from the phone|Update fails with a code|Wifi drops every hour",
    "delivery": "Where is my parcel|Order did not arrive|Left at the neighbour|Box arrived open|Driver never rang|"
    "Came two days late|Wrong address on it",
}
TEAMS = ("billing", "delivery", "tech")
ROWS = [
    (text, team)
    for group in zip(*([(text, team) for text in texts.split("|")] for team, texts in _MAILS.items()), strict=True)
    for text, team in group
]
NAMES = ("mail", "team")
Cells = Sequence[Sequence[Any]]


def table(rows: Cells = ROWS, names: Sequence[str] = NAMES, sign: str = ",") -> str:
    """As CSV."""
    text = StringIO()
    csv.writer(text, delimiter=sign).writerows([*([names] if names else []), *rows])
    return text.getvalue()


def lines(rows: Cells) -> str:
    """As JSONL."""
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in rows)


def _labels(change: Callable[[int, str], str]) -> list[tuple[str, str]]:
    return [(text, change(number, team)) for number, (text, team) in enumerate(ROWS)]


def _with(*more: Sequence[Any], at: int = 5) -> list[Sequence[Any]]:
    return [*ROWS[:at], *more, *ROWS[at:]]


_TOWNS = ("Berlin", "Rome", "Oslo")
_TRAINS = [
    (f"{text}: it was on the train to {_TOWNS[n % 3]}", _TOWNS[n % 3]) for n, (text, _) in enumerate(ROWS[:18])
]


@dataclass(frozen=True)
class Messy:
    """A table, and what `init` says of it and writes."""

    name: str
    content: str
    tasks: int = 0
    """How many there are; 0 where the table is refused."""
    labels: Sequence[str] = TEAMS
    """What the tasks let the agent choose from."""
    says: Sequence[str] = ()
    """All that is noted about the data, or the error and its hint."""
    kept: bool = True
    """The settings name the file as it is; where not, tasks are written anew."""
    words: Sequence[str] = field(default=())
    """Options of `init`."""


_ONE = "labels that differ in case, blanks or a last sign are one: "
_TAKEN = "'team' is taken for the right answer; --gold COLUMN names another"
_FEW = "18 tasks show only a large difference: `etude plan` says how large"
_THREE = (
    "a test of 3 has no verdict on tasks like these, which takes 5: bring more, or only compare skills, with "
    "--split 0,0,1"
)
_FOUR = (
    "4 tasks are too few to train on: all are for `etude evaluate` and `etude compare`, which can show that a skill "
    "helps on just these"
)
_TWICE = "the same input occurs more than once within a split: train data.csv:2 = data.csv:7"
_UNNAMED = "data.csv has no line of column names: they are called column 1, column 2 here"

MESSY = (
    # labels
    Messy("clean", table(), 21),
    Messy(
        "case",
        table(_labels(lambda n, team: team.upper() if n % 5 == 0 else team)),
        21,
        says=[f"{_ONE}'billing', 'tech', 'delivery'"],
    ),
    Messy(
        "blanks around",
        table(_labels(lambda n, team: f" {team} " if n in (1, 4) else team)),
        21,
        says=[f"{_ONE}'tech'"],
    ),
    Messy(
        "blanks within",
        table(_labels(lambda n, team: ("tech help", "Tech  help")[n % 2] if team == "tech" else team)),
        21,
        ("Tech help", "billing", "delivery"),
        [f"{_ONE}'Tech help'"],
    ),
    Messy(
        "hard blanks",
        table(_labels(lambda n, team: f"{team}\u00a0" if n == 0 else team)),
        21,
        says=[f"{_ONE}'billing'"],
    ),
    Messy(
        "yes, Yes and YES",
        table(
            [(f"Is {n} even or is it odd?", ("yes", "No", "YES", "no")[n % 4]) for n in range(20)],
            ("question", "answer"),
        ),
        20,
        ("no", "yes"),
        [f"{_ONE}'yes', 'no'"],
    ),
    Messy(
        "a full stop",
        table(_labels(lambda n, team: f"{team}." if n in (0, 3, 9) else team)),
        21,
        says=[f"{_ONE}'billing'"],
        kept=False,
    ),
    Messy(
        "no label, in a word",
        table(_labels(lambda n, team: "N/A" if n in (1, 4) else team)),
        21,
        ("N/A", *TEAMS),
        ["label 'N/A' occurs 2 times, as at data.csv:6, and may stand for no label: if so, remove these rows"],
    ),
    Messy(
        "a slip",
        table(_with(("Bill is far too high", "biling"))),
        22,
        ("biling", *TEAMS),
        ["label 'biling' occurs once, at data.csv:7, beside 'billing': correct the row if it is a slip"],
    ),
    Messy(
        "a rare label",
        table(_with(("Hello there", "smalltalk"))),
        22,
        ("billing", "delivery", "smalltalk", "tech"),
        ["label 'smalltalk' occurs once, at data.csv:7: correct the row if it is a slip"],
    ),
    Messy(
        "a mark of spreadsheets",
        table(_with(("Hello there", "#N/A"))),
        22,
        ("#N/A", *TEAMS),
        ["label '#N/A' occurs once, at data.csv:7: correct the row if it is a slip"],
    ),
    Messy(
        "many rare labels",
        table(
            [
                *ROWS,
                *(
                    (text, pet)
                    for text, pet in (
                        ("Meow", "cats"),
                        ("Who is up at night", "owls"),
                        ("Honey", "bees"),
                        ("A hill", "ants"),
                    )
                ),
            ]
        ),
        25,
        ("ants", "bees", "billing", "cats", "delivery", "owls", "tech"),
    ),
    Messy(
        "labels with commas",
        table(_labels(lambda n, team: f"{team}, urgent" if n % 2 else team)),
        21,
        sorted([*TEAMS, *(f"{team}, urgent" for team in TEAMS)]),
    ),
    Messy(
        "labels with signs that are not seen",
        table(_labels(lambda n, team: f"\u200b{team}" if team == "tech" and n % 2 else team)),
        21,
        says=[f"{_ONE}'tech'"],
    ),
    Messy("labels as numbers", table(_labels(lambda n, team: str(len(team)))), 21, ("4", "7", "8")),
    Messy("answers in their inputs", table(_TRAINS, ("text", "label")), 18, (), [_FEW]),
    Messy(
        "labels that inputs list",
        table([(f"{text}: billing, delivery or tech?", team) for text, team in ROWS]),
        21,
        (),
    ),
    # rows
    Messy(
        "a row without text",
        table(_with(("", "tech"))),
        21,
        says=["left out, with nothing in 'mail': data.csv:7"],
        kept=False,
    ),
    Messy(
        "a row of blanks for text",
        table(_with((" \t ", "tech"))),
        21,
        says=["left out, with nothing in 'mail': data.csv:7"],
        kept=False,
    ),
    Messy(
        "a row without text in JSON",
        lines(_with((None, "tech"))),
        21,
        says=["left out, with nothing in 'mail': data.jsonl:6"],
        kept=False,
    ),
    Messy(
        "a row without a label",
        table(_with(("Hello there", ""))),
        21,
        says=["left out, with nothing in 'team': data.csv:7"],
        kept=False,
    ),
    Messy(
        "both",
        table(_with(("Hello there", ""), ("", "tech"))),
        21,
        says=["left out, with nothing in 'mail': data.csv:8", "left out, with nothing in 'team': data.csv:7"],
        kept=False,
    ),
    Messy(
        "half of the texts",
        table([("" if n % 2 else text, team) for n, (text, team) in enumerate(ROWS)]),
        says=["data.csv:3: nothing is asked: 'mail' is empty", "name the column with --input"],
    ),
    Messy(
        "half of the labels",
        table([(text, "" if n % 2 else team) for n, (text, team) in enumerate(ROWS)]),
        says=["10 of 21 rows have no right answer in 'team', as data.csv:3"],
    ),
    Messy("blank rows", table(_with(("", ""), (" ", ""))), 21, says=["data.csv: 2 blank rows were skipped"]),
    Messy("a blank row of commas", table() + "\n\n,,,\n", 21, says=["data.csv: 1 blank row was skipped"]),
    Messy(
        "blank objects",
        lines(ROWS) + '{}\n{"mail": "", "team": null}\n',
        21,
        says=["data.jsonl: 2 blank rows were skipped"],
    ),
    Messy("nothing but blanks", table([("", ""), ("", " ")]), says=["data.csv: the file holds no tasks"]),
    Messy(
        "a row that is too short",
        table(_with(("Only one",))),
        says=["data.csv:7: 1 value for 2 columns (mail, team)"],
    ),
    Messy("the same twice", table(_with(ROWS[0])), 22, says=[_TWICE]),
    Messy(
        "the same twice with two labels",
        table(_with((ROWS[0][0], "tech"))),
        22,
        says=[f"{_TWICE}; 1 of 1 with different gold answers, which no skill can solve"],
    ),
    # columns
    Messy("a title above", "Tickets\n" + table(), says=["begin the file with the line of column names"]),
    Messy("no names", table(names=()), 21, says=[_UNNAMED], kept=False),
    Messy("no names, semicolons", table(names=(), sign=";"), 21, says=[_UNNAMED], kept=False),
    Messy(
        "no names, numbers",
        table([(f"What is {n} and {n}?", 2 * n) for n in range(21)], ()),
        21,
        (),
        [_UNNAMED],
        kept=False,
        words=["--input", "column 1"],
    ),
    Messy(
        "no names and nothing alike",
        table([(text, f"{team}{n}") for n, (text, team) in enumerate(ROWS)], ()),
        says=["no column looks like the input of a task", "(does the file begin with a line of column names?)"],
    ),
    Messy("names in another language", table(names=("Nachricht", "Abteilung")), 21),
    Messy("empty columns behind", table([(*row, "", "") for row in ROWS], (*NAMES, "", "")), 21),
    Messy(
        "an empty column between",
        table([(text, "", team) for text, team in ROWS], ("mail", "", "team")),
        21,
        says=[_TAKEN],
    ),
    Messy(
        "other columns",
        table([(n, text, "x", team) for n, (text, team) in enumerate(ROWS)], ("nr", "mail", "agent", "team")),
        21,
        says=[_TAKEN],
    ),
    Messy(
        "a name twice",
        table([(text, text, team) for text, team in ROWS], ("mail", "mail", "team")),
        says=["two columns have the same name: mail, mail, team"],
    ),
    # splits
    Messy("a test of three", table(ROWS[:9]), 9, says=[_THREE]),
    Messy("four rows", table(ROWS[:4]), 4, (), [_FOUR]),
)
