"""What `doctor --live` finds out by asking each model once."""

import time

from pydantic import BaseModel

from etude.cli.doctor.findings import Findings
from etude.config import TrainConfig
from etude.errors import EtudeError, UnusableReply
from etude.models import Structured, build_model
from etude.records import ChatRequest, user

MOST_TOKENS = 256
"""Of a reply: enough for a model that thinks a little first."""
LONGEST_WAIT = 60.0
QUESTION = user("What is 2 + 3? Reply with the number.")


class Sum(BaseModel):
    """The answer as a structure."""

    answer: int


async def check_live(config: TrainConfig, found: Findings) -> None:
    """One tiny question for each role, except roles that cannot be built: they are reported already. The target is
    asked for text, the others for a structure."""
    for role, section in config.models.items():
        most, timeout = min(section.max_output_tokens, MOST_TOKENS), min(section.timeout, LONGEST_WAIT)
        try:
            model = build_model(section.model_copy(update={"max_output_tokens": most, "timeout": timeout}))
        except EtudeError:
            continue
        name = f"live {role}"
        if model.answered_by_hand:
            found.note(name, "not asked: its question would wait for an answer")
            continue
        started = time.monotonic()
        try:
            with found.checking(name):
                if role == "target":
                    await model.complete(ChatRequest(messages=(QUESTION,)))
                else:
                    await _ask(f"{name} structure", Structured(model, section.structured), found)
                found.ok(name, f"{model.name} answered in {time.monotonic() - started:.2f} s")
        finally:
            await model.aclose()


async def _ask(name: str, model: Structured, found: Findings) -> None:
    try:
        await model.ask([QUESTION], Sum)
    except UnusableReply as error:  # it answers, but not in the form that was asked for
        found.wrong(name, error.message, error.hint)
        return
    native = model.rung == "json_schema"
    found.ok(name, "native JSON schema" if native else f"no native JSON schema; works with structured: {model.rung}")
