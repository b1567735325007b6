"""What `doctor --live` finds out by asking each model."""

import time
from functools import partial

from pydantic import BaseModel

from etude.cli.doctor.findings import DoctorReport
from etude.config import TrainConfig
from etude.errors import EtudeError, UnusableReply
from etude.models import Fitted, Structured, build_model
from etude.models.wrappers.fitted import kept_of
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, role_of, system, user

LONGEST_WAIT = 60.0
QUESTION = (system("You answer in as few words as you can."), user("What is 2 + 3? Reply with the number."))
SEED = 5
"""Any: that one is sent may be refused."""


class Sum(BaseModel):
    """The answer as a structure."""

    answer: int


async def check_live(config: TrainConfig, found: DoctorReport) -> None:
    """One tiny question for each role, sent as a run would send its own, except roles that cannot be built: they are
    reported already. The target is asked for text, the others for a structure."""
    for role, section in config.models.items():
        try:
            provider = build_model(section.model_copy(update={"timeout": min(section.timeout, LONGEST_WAIT)}))
        except EtudeError:
            continue
        name = f"live {role}"
        if provider.answered_by_hand:
            found.note(name, "not asked: its question would wait for an answer")
            continue
        model = Fitted(provider, role, partial(found.note, name), kept=kept_of(role, section))
        started = time.monotonic()
        try:
            with found.checking(name):
                if role_of(role) == "target":
                    _look(name, role, model, await model.complete(ChatRequest(messages=QUESTION, seed=SEED)), found)
                else:
                    await _ask(f"{name} structure", Structured(model, section.structured), found)
                found.ok(name, f"{model.name} answered in {time.monotonic() - started:.2f} s")
        finally:
            await model.aclose()


def _look(name: str, role: str, model: ChatModel, reply: Reply, found: DoctorReport) -> None:
    """Whether the reply of a target could be scored."""
    if reply.finish == "length":
        text = f"{model.name} was cut off at max_output_tokens = {model.max_output_tokens:,} with so small a question"
        fix = f"raise {role}.max_output_tokens, or have it think less: {role}.thinking, {role}.reasoning_effort"
        found.wrong(name, text, fix)
    elif reply.finish == "refusal":
        found.note(name, f"{model.name} refused the question {QUESTION[-1].text!r}: attempts may end like this")
    elif not reply.text.strip():
        text = f"{model.name} answered with an empty text: what it wrote may all have been taken for thoughts"
        fix = f"look at how the server tells thoughts from answers, or set {role}.thinking: off"
        found.wrong(name, text, fix)


async def _ask(name: str, model: Structured, found: DoctorReport) -> None:
    entered = model.rung
    try:
        await model.ask(QUESTION, Sum)
    except UnusableReply as error:  # it answers, but not in the form that was asked for
        found.wrong(name, error.message, error.hint)
        return
    if model.rung == entered:
        found.ok(name, "native JSON schema" if entered == "json_schema" else f"structured: {entered} works")
    else:
        found.ok(name, f"structured: {entered} is not known there; structured: {model.rung} works and is used")
