"""The simulated target: it does the task it finds, as well as the instructions around it taught it."""

from etude.records import ChatRequest, Reply, user
from etude.simulation.acting import look, next_call
from etude.simulation.conversation import answer_frame, read
from etude.simulation.families import Families
from etude.simulation.families.family import Family, Solution
from etude.simulation.forms import WantedForm, reply_calling, reply_in_form, reply_with, wanted_form
from etude.simulation.noise import Reliability, draw_faults
from etude.simulation.schemas import concept

UNKNOWN_TASK = "I do not know how to do this task."


def attempt(target: Reliability, request: ChatRequest, families: Families) -> Reply:
    """Do the task of a request, with its tools where they help. The seed is 0 when there is none."""
    acts = request.tools and request.forced_tool is None and request.response_schema is None
    acted = look(request, families) if acts else None
    scene = acted or read(request, families)
    # A form for the reply is looked for in what is not a program's own.
    form = wanted_form(ChatRequest(messages=(user(acted.instructions),)) if acted else request)
    if scene is None:
        if form is not None:
            return reply_in_form(request, form, {"answer": UNKNOWN_TASK, "reasoning": UNKNOWN_TASK})
        return reply_with(request, UNKNOWN_TASK)
    family, text = scene.task.family, scene.task.text
    faults = draw_faults(target, family, text, scene.lessons, 0 if request.seed is None else request.seed)
    solution = family.solve(text, faults)
    call = next_call(request, acted, solution.answer, family.looks_up(text, faults)) if acted else None
    if call is not None:
        return reply_calling(request, call)
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    return reply_with(request, _said(family, scene.instructions, solution))


def _said(family: Family, instructions: str, solution: Solution) -> str:
    """What is said at the end, in the frame that is asked for; a text in prose is said as it is."""
    if family.prose:
        return solution.answer
    before, after = answer_frame(instructions)
    return f"{solution.work}\n{before}{solution.answer}{after}"


def _values(form: WantedForm, solution: Solution) -> dict[str, str]:
    """Work and answer by concept. Where no property is named after answers, the last free one takes it."""
    values = {"reasoning": solution.work, "answer": solution.answer}
    slots = {name: concept(name, values) for name in form.top}
    if "answer" not in slots.values():
        values |= dict.fromkeys([name for name, meant in slots.items() if meant is None][-1:], solution.answer)
    return values
