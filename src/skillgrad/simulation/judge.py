"""The simulated judge: it solves the task itself and compares; a text it reads."""

import re

from skillgrad.records import ChatRequest, Reply
from skillgrad.simulation.forms import reply_in_form, reply_with, wanted_form
from skillgrad.simulation.optimizer.reading import read_prompt


def judge(request: ChatRequest) -> Reply:
    """Score the answer that a prompt shows: 1 right, 0 wrong, 0.5 when it cannot tell."""
    score, reason = _verdict(request)
    form = wanted_form(request)
    if form is None:
        return reply_with(request, f"Score: {score}\n{reason}")
    return reply_in_form(request, form, {"score": score, "reason": reason})


_RUBRIC = re.compile(r"<(?P<tag>rubric(?:-\w+)?)(?:\s[^>]*)?>(?P<body>.*?)</(?P=tag)(?:\s[^>]*)?>", re.DOTALL)


def _verdict(request: ChatRequest) -> tuple[float, str]:
    prompt = read_prompt(request)
    seen = [one for one in prompt.observations if one.answer is not None]
    if not seen:
        return 0.5, "I do not know this kind of task, so I cannot tell whether the answer is right."
    last = seen[-1]
    assert last.answer is not None
    rubric, around = _RUBRIC.search(prompt.text), prompt.text.replace(last.answer, "")
    return last.task.family.grade(last.task.text, last.answer, rubric["body"] if rubric else around)
