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


@dataclass(frozen=True)
class Messy:
    """A table, and what `init` says of it and writes."""

    name: str
    content: str
    says: Sequence[str] = ()
    """All that is noted about the data, or the error and its hint."""
    labels: Sequence[str] = TEAMS
    """What the tasks let the agent choose from."""
    tasks: int = len(ROWS)
    """How many there are; 0 where the table is refused."""
    kept: bool = True
    """The settings name the file as it is; where not, tasks are written anew."""
    words: Sequence[str] = field(default=())
    """Options of `init`."""


def relabelled(name: str, change: Callable[[int, str], str], *says: str, **more: Any) -> Messy:
    """The teams in other spellings."""
    return Messy(
        name, table([(text, change(number, team)) for number, (text, team) in enumerate(ROWS)]), says, **more
    )


def refused(name: str, content: str, *says: str) -> Messy:
    """A table of which no tasks are made."""
    return Messy(name, content, says, tasks=0)


def added(*more: Sequence[Any]) -> list[Sequence[Any]]:
    """Further rows behind the fifth."""
    return [*ROWS[:5], *more, *ROWS[5:]]


def columns(make: Callable[[int, str, str], Sequence[Any]], names: Sequence[str] = NAMES) -> str:
    """Other columns, made of number, text and team."""
    return table([make(number, text, team) for number, (text, team) in enumerate(ROWS)], names)


_TOWNS = ("Berlin", "Rome", "Oslo")
_TRAINS = [
    (f"{text}: it was on the train to {_TOWNS[n % 3]}", _TOWNS[n % 3]) for n, (text, _) in enumerate(ROWS[:18])
]
_PETS = [("Meow", "cats"), ("Who is up at night", "owls"), ("Honey", "bees"), ("A hill", "ants")]
_ONE = "labels that differ in case, blanks, hyphens or a last sign are one: "
_ONCE = "occurs once, at data.csv:7"
_SLIP = "correct the row if it is a slip"
_LEFT_OUT = "left out, with nothing in "
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
_HEAD = "left out, as it is a head of the table"
_SUM = "left out, as it sums up the others"
_NONE = "label 'N/A' occurs 2 times, as at data.csv:6, and may stand for no label: if so, remove these rows"
_TWICE = "the same input occurs more than once within a split: train data.csv:2 = data.csv:7"
_UNNAMED = "data.csv has no line of column names: they are called column 1, column 2 here"
_URGENT = sorted([*TEAMS, *(f"{team}, urgent" for team in TEAMS)])

MESSY = (
    # labels
    Messy("clean", table()),
    relabelled("case", lambda n, team: team if n % 5 else team.upper(), f"{_ONE}'billing', 'tech', 'delivery'"),
    relabelled("blanks around", lambda n, team: f" {team} " if n in (1, 4) else team, f"{_ONE}'tech'"),
    relabelled(
        "blanks within",
        lambda n, team: ("tech help", "Tech  help")[n % 2] if team == "tech" else team,
        f"{_ONE}'Tech help'",
        labels=("Tech help", "billing", "delivery"),
    ),
    relabelled(
        "hyphens within",
        lambda n, team: ("tech-help", "tech_help")[n % 2] if team == "tech" else team,
        f"{_ONE}'tech_help'",
        labels=("billing", "delivery", "tech_help"),
        kept=False,
    ),
    relabelled("hard blanks", lambda n, team: team if n else f"{team}\u00a0", f"{_ONE}'billing'"),
    relabelled("unseen signs", lambda n, team: f"\u200b{team}" if n in (1, 4) else team, f"{_ONE}'tech'"),
    relabelled("a full stop", lambda n, team: f"{team}." * (n in (0, 3, 9)) or team, f"{_ONE}'billing'", kept=False),
    relabelled("no label, in a word", lambda n, team: "N/A" * (n in (1, 4)) or team, _NONE, labels=("N/A", *TEAMS)),
    relabelled("labels as numbers", lambda n, team: str(len(team)), labels=("4", "7", "8")),
    relabelled(
        "labels with commas",
        lambda n, team: f"{team}, urgent" if n % 2 else team,
        "3 labels seem to be several in one cell, as 'billing, urgent': an answer has to be just that text",
        labels=_URGENT,
    ),
    Messy(
        "yes, Yes and YES",
        table(
            [(f"Is {n} even or odd?", ("yes", "No", "YES", "no")[n % 4]) for n in range(20)], ("question", "answer")
        ),
        [f"{_ONE}'yes', 'no'"],
        ("no", "yes"),
        20,
    ),
    Messy(
        "a slip",
        table(added(("Bill is far too high", "biling"))),
        [f"label 'biling' {_ONCE}, beside 'billing': {_SLIP}"],
        ("biling", *TEAMS),
        22,
    ),
    Messy(
        "a rare label",
        table(added(("Hello there", "smalltalk"))),
        [f"label 'smalltalk' {_ONCE}: {_SLIP}"],
        ("billing", "delivery", "smalltalk", "tech"),
        22,
    ),
    Messy("many rare labels", table([*ROWS, *_PETS]), labels=sorted([*TEAMS, *(pet for _, pet in _PETS)]), tasks=25),
    Messy("answers in their inputs", table(_TRAINS, ("text", "label")), [_FEW], (), 18),
    Messy(
        "labels that inputs list",
        columns(lambda n, text, team: (f"{text}: billing, delivery or tech?", team)),
        labels=(),
    ),
    # rows
    *(
        Messy(name, content, says, kept=False)
        for name, content, says in (
            ("a row without text", table(added(("", "tech"))), [f"{_LEFT_OUT}'mail': data.csv:7"]),
            ("a row of blanks for text", table(added((" \t ", "tech"))), [f"{_LEFT_OUT}'mail': data.csv:7"]),
            ("a row without text in JSON", lines(added((None, "tech"))), [f"{_LEFT_OUT}'mail': data.jsonl:6"]),
            ("a row without a label", table(added(("Hello there", ""))), [f"{_LEFT_OUT}'team': data.csv:7"]),
            (
                "both",
                table(added(("Hello there", ""), ("", "tech"))),
                [f"{_LEFT_OUT}'mail': data.csv:8", f"{_LEFT_OUT}'team': data.csv:7"],
            ),
        )
    ),
    *(
        Messy(name, content, [f"{says}: data.csv:{line}"], kept=False)
        for name, content, says, line in (
            ("names again", table(added(NAMES)), _HEAD, 7),
            ("names of names", table([("message", "department"), *ROWS]), _HEAD, 2),
            ("a line of Markdown", table([(":---", "---"), *ROWS]), _HEAD, 2),
            ("a total", table([*ROWS, ("Total", len(ROWS))]), _SUM, 23),
            ("a sum in words", table([*ROWS, ("Grand total:", "")]), _SUM, 23),
        )
    ),
    Messy("a sum among others", table(added(("Total", "tech"))), tasks=22),
    Messy(
        "an error of Excel",
        table(added(("Hello there", "#REF!"), ("#N/A", "tech"))),
        [
            "2 cells hold errors of a spreadsheet, as '#REF!' at data.csv:7: taken for empty",
            f"{_LEFT_OUT}'mail': data.csv:8",
            f"{_LEFT_OUT}'team': data.csv:7",
        ],
        kept=False,
    ),
    Messy(
        "decimal commas",
        table([(f"How much is {n} by 2?", f"{n},5") for n in range(21)], ("question", "answer"), ";"),
        ["21 gold answers have a decimal comma, as '0,5', and are compared as texts: with a point they are numbers"],
        (),
        kept=False,
    ),
    refused(
        "merged cells",
        columns(lambda n, text, team: (text, team if n % 7 == 0 else "")),
        "18 of 21 rows have no right answer in 'team', as data.csv:3",
        "fill down what stood in merged cells",
    ),
    refused(
        "half of the texts",
        columns(lambda n, text, team: ("" if n % 2 else text, team)),
        "data.csv:3: nothing is asked: 'mail' is empty",
        "name the column with --input",
    ),
    refused(
        "half of the labels",
        columns(lambda n, text, team: (text, "" if n % 2 else team)),
        "10 of 21 rows have no right answer in 'team', as data.csv:3",
    ),
    Messy("blank rows", table(added(("", ""), (" ", ""))), ["data.csv: 2 blank rows were skipped"]),
    Messy("a blank row of commas", table() + "\n\n,,,\n", ["data.csv: 1 blank row was skipped"]),
    Messy(
        "blank objects",
        f'{lines(ROWS)}{{}}\n{{"mail": "", "team": null}}\n',
        ["data.jsonl: 2 blank rows were skipped"],
    ),
    refused("nothing but blanks", table([("", ""), ("", " ")]), "data.csv: the file holds no tasks"),
    refused(
        "a row that is too short",
        table(added(("Only one",))),
        "data.csv:7: 1 value for 2 columns (mail, team)",
        "add what is missing",
    ),
    refused("a row that is too long", table(added(("Two", "of", "three"))), "3 values for 2", "in double quotes"),
    Messy("the same twice", table(added(ROWS[0])), [_TWICE], tasks=22),
    Messy(
        "the same twice with two labels",
        table(added((ROWS[0][0], "tech"))),
        [f"{_TWICE}; 1 of 1 with different gold answers, which no skill can solve"],
        tasks=22,
    ),
    # columns
    refused("a title above", "Tickets\n" + table(), "begin the file with the line of column names"),
    Messy("no names", table(names=()), [_UNNAMED], kept=False),
    Messy("no names, semicolons", table(names=(), sign=";"), [_UNNAMED], kept=False),
    Messy(
        "no names, numbers",
        table([(f"What is {n} and {n}?", 2 * n) for n in range(21)], ()),
        [_UNNAMED],
        (),
        kept=False,
        words=["--input", "column 1"],
    ),
    refused(
        "no names and nothing alike",
        columns(lambda n, text, team: (text, f"{team}{n}"), ()),
        "no column looks like the input of a task",
        "(does the file begin with a line of column names?)",
    ),
    Messy("names in another language", table(names=("Nachricht", "Abteilung"))),
    Messy("a ticket is a text", table(names=("ticket", "priority"))),
    Messy("empty columns behind", columns(lambda n, *row: (*row, "", ""), (*NAMES, "", ""))),
    Messy("an empty column", columns(lambda n, text, team: (text, "", team), ("mail", "", "team")), [_TAKEN]),
    Messy(
        "other columns",
        columns(lambda n, text, team: (n, text, "x", team), ("nr", "mail", "agent", "team")),
        [_TAKEN],
    ),
    refused(
        "a name twice",
        columns(lambda n, text, team: (text, text, team), ("mail", "mail", "team")),
        "two columns have the same name: mail, mail, team",
    ),
    # splits
    Messy("a test of three", table(ROWS[:9]), [_THREE], tasks=9),
    Messy("four rows", table(ROWS[:4]), [_FOUR], (), 4),
)
