"""The simulated target: it does the task it finds, as well as the instructions around it taught it."""

from etude.records import ChatRequest, Reply
from etude.simulation.acting import Scene, answer_text, look, next_call, question, reply_calling
from etude.simulation.coding import answer_in_code
from etude.simulation.conversation import answer_frame, read
from etude.simulation.families.base import Solution
from etude.simulation.forms import Form, reply_in_form, reply_with, wanted_form
from etude.simulation.noise import Target, draw_faults
from etude.simulation.schemas import concept

UNKNOWN_TASK = "I do not know how to do this task."


def attempt(target: Target, request: ChatRequest) -> Reply:
    """Do the task of a request, with its tools where they help. `request.seed` is the trial, 0 when there is none."""
    if request.tools and request.forced_tool is None and request.response_schema is None:
        scene = look(request)
        if scene is not None:
            return _act(target, request, scene)
    conversation = read(request)
    form = wanted_form(request)
    if conversation.task is None:
        if form is not None:
            return reply_in_form(request, form, {"answer": UNKNOWN_TASK, "reasoning": UNKNOWN_TASK})
        return reply_with(request, UNKNOWN_TASK)
    family, text = conversation.task.family, conversation.task.text
    trial = request.seed if request.seed is not None else 0
    faults = draw_faults(target, family, text, conversation.instructions, trial)
    solution = family.solve(text, faults)
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    if family.prose:
        return reply_with(request, solution.answer)
    code = answer_in_code(conversation.instructions, solution.answer)
    if code is not None:
        return reply_with(request, f"{solution.work}\n\n{code}")
    before, after = answer_frame(conversation.instructions)
    return reply_with(request, f"{solution.work}\n{before}{solution.answer}{after}")


def _act(target: Target, request: ChatRequest, scene: Scene) -> Reply:
    """The next step of a request with tools."""
    family, text = scene.task.family, scene.task.text
    trial = request.seed if request.seed is not None else 0
    faults = draw_faults(target, family, text, scene.lessons, trial)
    solution = family.solve(text, faults)
    call = next_call(request, scene, solution.answer, family.looks_up(text, faults))
    if call is not None:
        return reply_calling(request, call)
    form = wanted_form(question(scene))
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    return reply_with(request, answer_text(scene, solution.work, solution.answer))


def _values(form: Form, solution: Solution) -> dict[str, str]:
    """Work and answer by concept. Where no property is named after answers, the last free one takes it."""
    values = {"reasoning": solution.work, "answer": solution.answer}
    slots = {name: concept(name, values) for name in form.top}
    if "answer" not in slots.values():
        values |= dict.fromkeys([name for name, meant in slots.items() if meant is None][-1:], solution.answer)
    return values
