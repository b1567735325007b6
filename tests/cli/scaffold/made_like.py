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
    """A file, and what `init` is to make of it."""

    file: str
    rows: Callable[[int], dict[str, Any]]
    scorer: str
    input: str
    """A part of the first input."""
    all_a: float = 0.0
    """What the answer A scores on average."""
    words: tuple[str, ...] = ()
    """Options of `init`."""

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
        "gsm8k.jsonl",
        lambda n: {"question": f"Ann has {n} apples and gets 7 more. How many?", "answer": f"{n}+7\n#### {n + 7}"},
        "numeric",
        "Ann has ",
    ),
    "MATH": Case(
        "math.jsonl",
        lambda n: {
            "problem": f"Compute one half to the power {n + 2}.",
            "solution": f"We get $\\boxed{{\\frac{{1}}{{{2 ** (n + 2)}}}}}$.",
            "level": "Level 3",
            "type": "Algebra",
        },
        "math",
        "Compute one half",
    ),
    "MMLU": Case(
        "mmlu.jsonl",
        lambda n: {"question": _ask(n), "choices": _four(n), "answer": n % 4, "subject": "law"},
        "choice",
        "\n\n(A) ",
        0.25,
    ),
    "ARC": Case("arc.jsonl", _arc, "choice", "\n\n(A) ", 0.25),
    "HellaSwag": Case(
        "hellaswag.jsonl",
        lambda n: {"ind": n, "ctx": f"A man picks {n} fruits. He", "endings": _four(n), "label": str(n % 4)},
        "choice",
        "He\n\n(A) ",
        0.25,
    ),
    "GPQA": Case(
        "gpqa.csv",
        lambda n: {
            "Record ID": f"rec{n}",
            "Question": _ask(n),
            "Correct Answer": f"{_FRUITS[n % 5]} {n}",
            **{f"Incorrect Answer {k}": f"stone {n}{k}" for k in (1, 2, 3)},
        },
        "choice",
        "\n\n(A) ",
        0.25,
    ),
    "TruthfulQA mc1": Case(
        "truthfulqa.jsonl",
        lambda n: {
            "question": _ask(n),
            "mc1_targets": {"choices": [f"fig {n}", f"stone {n}", f"sand {n}", f"mud {n}"], "labels": [1, 0, 0, 0]},
        },
        "choice",
        "\n\n(A) ",
        0.25,
    ),
    "TriviaQA": Case(
        "triviaqa.jsonl",
        lambda n: {
            "question_id": f"tc_{n}",
            "question": f"What is the capital of land {n}?",
            "answer": {"value": _town(n), "aliases": [f"City of {_town(n)}"], "normalized_aliases": []},
        },
        "exact",
        "capital of land",
        words=("--gold", "answer.aliases"),
    ),
    "SQuAD": Case("squad.json", _squad, "exact", "opened in 19", words=("--gold", "answers.text")),
    "BoolQ": Case(
        "boolq.jsonl",
        lambda n: {"question": f"is river {n} long", "passage": f"River {n} is known.", "answer": n % 2 == 0},
        "exact",
        "Answer with one of: false, true",
    ),
    "BBH": Case(
        "bbh.json",
        lambda n: {"input": f"Question {n}?\nOptions:\n(A) one\n(B) two", "target": f"({'AB'[n % 2]})"},
        "choice",
        "Options:",
        0.5,
    ),
    "DocVQA": Case(
        "docvqa.csv",
        lambda n: {
            "questionId": n,
            "question": f"What is the date on page {n}?",
            "answers": f"['{n + 1} May 1977', 'May {n + 1}']",
        },
        "anls",
        "date on page",
        words=("--scorer", "anls"),
    ),
    "SearchQA": Case(
        "searchqa.json",
        lambda n: {"id": n, "question": f"Town {n}?", "context": f"[DOC] {_town(n)} is old.", "answers": [_town(n)]},
        "exact",
        "[DOC]",
    ),
    "Alpaca": Case(
        "alpaca.json",
        lambda n: {"instruction": f"Reverse the word {n}.", "input": "" if n % 2 else f"w{n}", "output": f"{n}w"},
        "exact",
        "Reverse the word",
    ),
    "OpenAI chat": Case(
        "chat.jsonl",
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
        "sharegpt.json",
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
    ),
    "classification": Case(
        "mails.csv",
        lambda n: {
            "mail": f"Dear all, my bill number {n} is wrong.",
            "category": ("billing", "tech", "other")[n % 3],
        },
        "exact",
        "Answer with one of: billing, other, tech",
    ),
    "labels as numbers": Case(
        "labels.jsonl",
        lambda n: {"text": f"The film number {n} was something.", "label": n % 2},
        "exact",
        "Answer with one of: 0, 1",
    ),
    "two texts and a label": Case(
        "nli.jsonl",
        lambda n: {
            "premise": f"Man {n} sleeps.",
            "hypothesis": f"Man {n} is awake.",
            "label": ("entailment", "neutral", "contradiction")[n % 3],
        },
        "exact",
        "Premise: Man",
    ),
    "options in columns": Case(
        "exam.csv",
        lambda n: {"Question": _ask(n), **dict(zip("ABCD", _four(n), strict=True)), "Answer": "ABCD"[n % 4]},
        "choice",
        "\n\n(A) ",
        0.25,
    ),
    "options as text, answer as text": Case(
        "texts.csv",
        lambda n: {"question": _ask(n), "options": str(_four(n)), "answer": _four(n)[n % 4]},
        "choice",
        "\n\n(A) ",
        0.25,
    ),
    "numbers with leading zeros": Case(
        "codes.csv", lambda n: {"question": f"The code of part {n}?", "answer": f"{n:03}"}, "exact", "code of part"
    ),
    "several answers in one cell": Case(
        "aliases.csv",
        lambda n: {"question": f"Capital of {n}?", "answer": f"{_town(n)}|City of {_town(n)}"},
        "exact",
        "Capital",
        words=("--gold", "answer[|]"),
    ),
    "ids in a column of their own": Case(
        "tickets.tsv",
        lambda n: {"ticket": f"T-{n:04}", "question": f"Who has case {n}?", "answer": f"agent {n}"},
        "exact",
        "Who has case",
    ),
}
