"""Rows made like those of data sets that people bring: names, nesting and types are theirs, the content is not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Rows = list[dict[str, Any]]
COUNT = 20
_FRUITS = ("apple", "pear", "plum", "fig", "grape")
_TOWNS = ("Bern", "Oslo", "Rome", "Riga", "Bonn", "Cork", "Nice", "Lima")


@dataclass(frozen=True)
class Case:
    """Rows, and what `init` is to make of them; what is not said is so for questions with four options."""

    rows: Callable[[int], dict[str, Any]]
    scorer: str = "choice"
    input: str = "\n\n(A) "
    """A part of the first input."""
    file: str = "data.jsonl"
    words: tuple[str, ...] = ()
    """Options of `init`."""

    @property
    def all_a(self) -> float:
        """What the answer A scores on average."""
        return 0.0 if self.scorer != "choice" else 0.5 if "Options" in self.input else 0.25

    def table(self) -> Rows:
        """The rows of the file."""
        return [self.rows(number) for number in range(COUNT)]


def _ask(n: int) -> str:
    return f"Which of these is fruit number {n}?"


def _four(n: int) -> list[str]:
    """Four options; the right one, which is fruit number n, is at place n % 4."""
    wrong = [f"stone {n}{k}" for k in range(3)]
    return [*wrong[: n % 4], f"{_FRUITS[n % 5]} {n}", *wrong[n % 4 :]]


def _arc(n: int) -> dict[str, Any]:
    labels = ["1", "2", "3", "4"] if n % 10 == 9 else ["A", "B", "C", "D"]
    choices = {"text": _four(n), "label": labels}
    return {"id": f"Mercury_{n}", "question": _ask(n), "choices": choices, "answerKey": labels[n % 4]}


def _squad(n: int) -> dict[str, Any]:
    year = str(1900 + n)
    texts = [year, f"in {year}"]
    return {
        "id": f"5{n:03}",
        "title": "History",
        "context": f"The bridge number {n} was opened in {year} by the mayor.",
        "question": f"When was bridge {n} opened?",
        "answers": {"text": texts, "answer_start": [3] * len(texts)},
    }


def _town(n: int) -> str:
    return f"{_TOWNS[n % 8]} {n}"


LONG = "The report should be sent on Monday, because the office is closed on day {} of the month, as it says."

CASES: dict[str, Case] = {
    "GSM8K": Case(
        lambda n: {"question": f"Ann has {n} apples and gets 7 more. How many?", "answer": f"{n}+7\n#### {n + 7}"},
        "numeric",
        "Ann has ",
    ),
    "MATH": Case(
        lambda n: {
            "problem": f"Compute one half to the power {n + 2}.",
            "solution": f"We get $\\boxed{{\\frac{{1}}{{{2 ** (n + 2)}}}}}$.",
            "level": "Level 3",
            "type": "Algebra",
        },
        "math",
        "Compute one half",
    ),
    "MMLU": Case(lambda n: {"question": _ask(n), "choices": _four(n), "answer": n % 4, "subject": "law"}),
    "ARC": Case(_arc),
    "HellaSwag": Case(
        lambda n: {"ind": n, "ctx": f"A man picks {n} fruits. He", "endings": _four(n), "label": str(n % 4)},
        input="He\n\n(A) ",
    ),
    "GPQA": Case(
        lambda n: {
            "Record ID": f"rec{n}",
            "Question": _ask(n),
            "Correct Answer": f"{_FRUITS[n % 5]} {n}",
            **{f"Incorrect Answer {k}": f"stone {n}{k}" for k in (1, 2, 3)},
        },
        file="data.csv",
    ),
    "TruthfulQA mc1": Case(
        lambda n: {
            "question": _ask(n),
            "mc1_targets": {"choices": [f"fig {n}", f"stone {n}", f"sand {n}", f"mud {n}"], "labels": [1, 0, 0, 0]},
        }
    ),
    "TriviaQA": Case(
        lambda n: {
            "question_id": f"tc_{n}",
            "question": f"What is the capital of land {n}?",
            "answer": {"value": _town(n), "aliases": [f"City of {_town(n)}"], "normalized_aliases": []},
        },
        "exact",
        "capital of land",
        words=("--gold", "answer.aliases"),
    ),
    "SQuAD": Case(_squad, "exact", "opened in 19", file="data.json", words=("--gold", "answers.text")),
    "BoolQ": Case(
        lambda n: {"question": f"is river {n} long", "passage": f"River {n} is known.", "answer": n % 2 == 0},
        "exact",
        "Answer with one of: false, true",
    ),
    "BBH": Case(
        lambda n: {"input": f"Question {n}?\nOptions:\n(A) one\n(B) two", "target": f"({'AB'[n % 2]})"},
        input="Options:",
        file="data.json",
    ),
    "DocVQA": Case(
        lambda n: {
            "questionId": n,
            "question": f"What is the date on page {n}?",
            "answers": f"['{n + 1} May 1977', 'May {n + 1}']",
        },
        "anls",
        "date on page",
        file="data.csv",
        words=("--scorer", "anls"),
    ),
    "SearchQA": Case(
        lambda n: {"id": n, "question": f"Town {n}?", "context": f"[DOC] {_town(n)} is old.", "answers": [_town(n)]},
        "exact",
        "[DOC]",
        file="data.json",
    ),
    "Alpaca": Case(
        lambda n: {"instruction": f"Reverse the word {n}.", "input": "" if n % 2 else f"w{n}", "output": f"{n}w"},
        "exact",
        "Reverse the word",
        file="data.json",
    ),
    "OpenAI chat": Case(
        lambda n: {
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": f"Name town {n}."},
                {"role": "assistant", "content": _town(n)},
            ]
        },
        "exact",
        "Be short.\n\nName town",
    ),
    "ShareGPT": Case(
        lambda n: {
            "conversations": [
                {"from": "human", "value": f"Hello {n}"},
                {"from": "gpt", "value": "Hello."},
                {"from": "human", "value": "When is the report sent?"},
                {"from": "gpt", "value": LONG.format(n)},
            ]
        },
        "f1",
        "Assistant: Hello.",
        file="data.json",
    ),
    "classification": Case(
        lambda n: {
            "mail": f"Dear all, my bill number {n} is wrong.",
            "category": ("billing", "tech", "other")[n % 3],
        },
        "exact",
        "Answer with one of: billing, other, tech",
        file="data.csv",
    ),
    "labels as numbers": Case(
        lambda n: {"text": f"The film number {n} was something.", "label": n % 2}, "exact", "Answer with one of: 0, 1"
    ),
    "two texts and a label": Case(
        lambda n: {
            "premise": f"Man {n} sleeps.",
            "hypothesis": f"Man {n} is awake.",
            "label": ("entailment", "neutral", "contradiction")[n % 3],
        },
        "exact",
        "Premise: Man",
    ),
    "options in columns": Case(
        lambda n: {"Question": _ask(n), **dict(zip("ABCD", _four(n), strict=True)), "Answer": "ABCD"[n % 4]},
        file="data.csv",
    ),
    "options as text, answer as text": Case(
        lambda n: {"question": _ask(n), "options": str(_four(n)), "answer": _four(n)[n % 4]}, file="data.csv"
    ),
    "numbers with leading zeros": Case(
        lambda n: {"question": f"The code of part {n}?", "answer": f"{n:03}"},
        "exact",
        "code of part",
        file="data.csv",
    ),
    "several answers in one cell": Case(
        lambda n: {"question": f"Capital of {n}?", "answer": f"{_town(n)}|City of {_town(n)}"},
        "exact",
        "Capital",
        file="data.csv",
        words=("--gold", "answer[|]"),
    ),
    "ids in a column of their own": Case(
        lambda n: {"ticket": f"T-{n:04}", "question": f"Who has case {n}?", "answer": f"agent {n}"},
        "exact",
        "Who has case",
        file="data.tsv",
    ),
}
