"""The simulated target writes code where a prompt asks for it."""

from etude.records import ChatRequest, Reply, system, user
from etude.simulation import respond
from etude.simulation.coding import answer_in_code

TASK = "I have a cat, a dog, and a chair. How many objects do I have?"
BOOK = "The workbook is input.xlsx. Save the finished one as output.xlsx in the same folder.\nCells: 'Answers'!B2"


def said(prompt: str, task: str) -> Reply:
    return respond("target", ChatRequest(messages=(system(prompt), user(task)), seed=0))


def test_code_writes_and_prints_the_answer() -> None:
    assert answer_in_code(f"Reply with one Python code block.\n{BOOK}", "it's 3") == (
        "```python\n"
        "import openpyxl\n"
        "book = openpyxl.load_workbook('input.xlsx')\n"
        "book['Answers']['B2'] = \"it's 3\"\n"
        "book.save('output.xlsx')\n"
        'print("it\'s 3")\n'
        "```"
    )


def test_nothing_is_written_as_code_without_a_request_for_code_a_workbook_and_a_cell() -> None:
    assert answer_in_code(BOOK, "3") is None
    assert answer_in_code("Reply with one Python code block.", "3") is None
    assert answer_in_code(f"Reply with one Python code block.\n{BOOK.partition('Cells')[0]}", "3") is None


def test_the_target_answers_in_code_only_when_asked() -> None:
    assert "```python" in said("Answer with one Python code block.", f"{TASK}\n{BOOK}").text
    assert "```" not in said("Answer briefly.", f"{TASK}\n{BOOK}").text
