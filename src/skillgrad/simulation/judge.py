"""The simulated judge: it solves the task itself and compares."""

from skillgrad.records import ChatRequest, Reply
from skillgrad.simulation.forms import reply_in_form, reply_with, wanted_form
from skillgrad.simulation.optimizer.reading import read_prompt
from skillgrad.simulation.text import same_answer


def judge(request: ChatRequest) -> Reply:
    """Score the answer that a prompt shows: 1 right, 0 wrong, 0.5 when it cannot tell."""
    score, reason = _verdict(request)
    form = wanted_form(request)
    if form is None:
        return reply_with(request, f"Score: {score}\n{reason}")
    return reply_in_form(request, form, {"score": score, "reason": reason})


def _verdict(request: ChatRequest) -> tuple[float, str]:
    seen = [one for one in read_prompt(request).observations if one.answer is not None]
    if not seen:
        return 0.5, "I do not know this kind of task, so I cannot tell whether the answer is right."
    last = seen[-1]
    right = last.task.family.solve(last.task.text, frozenset()).answer
    if last.answer is not None and same_answer(last.answer, right):
        return 1.0, "The answer is right."
    return 0.0, f"The answer should be {right!r}."
