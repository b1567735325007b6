"""The simulated target writes code where a prompt asks for it."""

from etude.records import ChatRequest, Reply, system, user
from etude.simulation import respond

TASK = "I have a cat, a dog, and a chair. How many objects do I have?"
BOOK = "The workbook is input.xlsx. Save the finished one as output.xlsx in the same folder.\nCells: 'Answers'!B2"


def said(prompt: str, task: str) -> Reply:
    return respond("target", ChatRequest(messages=(system(prompt), user(task)), seed=0))


def test_the_target_answers_in_code_only_when_asked() -> None:
    assert "```python" in said("Answer with one Python code block.", f"{TASK}\n{BOOK}").text
    assert "```" not in said("Answer briefly.", f"{TASK}\n{BOOK}").text
