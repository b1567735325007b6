"""The simulated target: it does the task it finds, as well as the instructions around it taught it."""

from etude.records import ChatRequest, Reply, user
from etude.simulation.acting import Scene, look, next_call
from etude.simulation.coding import answer_in_code
from etude.simulation.conversation import answer_frame, read
from etude.simulation.families import Families
from etude.simulation.families.family import Family, Faults, FoundTask, Solution
from etude.simulation.forms import WantedForm, reply_calling, reply_in_form, reply_with, wanted_form
from etude.simulation.noise import Reliability, draw_faults
from etude.simulation.schemas import concept

UNKNOWN_TASK = "I do not know how to do this task."


def attempt(target: Reliability, request: ChatRequest, families: Families) -> Reply:
    """Do the task of a request, with its tools where they help. The seed is 0 when there is none."""
    if request.tools and request.forced_tool is None and request.response_schema is None:
        scene = look(request, families)
        if scene is not None:
            return _act(target, request, scene)
    conversation = read(request, families)
    form = wanted_form(request)
    if conversation.task is None:
        if form is not None:
            return reply_in_form(request, form, {"answer": UNKNOWN_TASK, "reasoning": UNKNOWN_TASK})
        return reply_with(request, UNKNOWN_TASK)
    family = conversation.task.family
    _, solution = _solved(target, request, conversation.task, conversation.instructions)
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    code = None if family.prose else answer_in_code(conversation.instructions, solution.answer)
    if code is not None:
        return reply_with(request, f"{solution.work}\n\n{code}")
    return reply_with(request, _said(family, conversation.instructions, solution))


def _act(target: Reliability, request: ChatRequest, scene: Scene) -> Reply:
    """The next step of a request with tools."""
    family = scene.task.family
    faults, solution = _solved(target, request, scene.task, scene.lessons)
    call = next_call(request, scene, solution.answer, family.looks_up(scene.task.text, faults))
    if call is not None:
        return reply_calling(request, call)
    # A form for the reply is looked for in what is not the program's own.
    form = wanted_form(ChatRequest(messages=(user(scene.instructions),)))
    if form is not None:
        return reply_in_form(request, form, _values(form, solution))
    return reply_with(request, _said(family, scene.instructions, solution))


def _solved(target: Reliability, request: ChatRequest, task: FoundTask, lessons: str) -> tuple[Faults, Solution]:
    """What goes wrong with this seed, and what it comes to."""
    faults = draw_faults(target, task.family, task.text, lessons, 0 if request.seed is None else request.seed)
    return faults, task.family.solve(task.text, faults)


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
