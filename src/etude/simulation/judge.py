"""The simulated judge: it solves the task itself and compares; a text it reads."""

import re

from etude.records import ChatRequest, Reply
from etude.simulation.optimizer.reading import Prompt
from etude.simulation.schemas import WantedForm, reply_in_form, reply_with


def judge(request: ChatRequest, prompt: Prompt, form: WantedForm | None) -> Reply:
    """Score the answer that a prompt shows, by each criterion where they are numbered: 1 right, 0 wrong, 0.5 when it
    cannot tell."""
    if form is not None and "met" in form.names:
        return reply_in_form(request, form, {"findings": _findings(prompt)})
    score, reason = _verdict(prompt)
    if form is None:
        return reply_with(request, f"Score: {score}\n{reason}")
    return reply_in_form(request, form, {"score": score, "reason": reason})


_RUBRIC = re.compile(r"<(?P<tag>rubric(?:-\w+)?)(?:\s[^>]*)?>(?P<body>.*?)</(?P=tag)(?:\s[^>]*)?>", re.DOTALL)


_CRITERION = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


def _findings(prompt: Prompt) -> list[dict[str, object]]:
    """A decision on each criterion of the rubric."""
    rubric = _RUBRIC.search(prompt.text)
    found: list[dict[str, object]] = []
    for number, text in _CRITERION.findall(rubric["body"] if rubric else ""):
        score, reason = _verdict(prompt, text)
        found.append({"criterion": int(number), "evidence": reason, "met": score == 1})
    return found


def _verdict(prompt: Prompt, criterion: str = "") -> tuple[float, str]:
    seen = [one for one in prompt.observations if one.answer is not None]
    if not seen:
        return 0.5, "I do not know this kind of task, so I cannot tell whether the answer is right."
    last = seen[-1]
    assert last.answer is not None
    found = _RUBRIC.search(prompt.text)
    rubric = criterion or (found["body"] if found else "")
    family, text = last.task.family, last.task.text
    return family.grade(text, _own_words(last.answer, text, rubric) if family.prose else last.answer, rubric)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def _own_words(answer: str, task: str, rubric: str) -> str:
    """The answer without lines that only say again what is asked: what repeats a rubric does not fulfil it."""
    asked = [task.strip().rstrip(".?!"), *(part.strip() for part in _SENTENCE_END.split(rubric))]
    repeated = [text for text in asked if len(text.split()) > 3]
    return "\n".join(line for line in answer.split("\n") if not any(text in line for text in repeated))
