"""What `doctor --live` finds out by asking each model once."""

import time

from pydantic import BaseModel

from etude.cli.doctor.findings import Findings
from etude.config import ModelSection, TrainConfig
from etude.errors import EtudeError, ModelError
from etude.models import Structured, Wrapper, build_model
from etude.records import ChatRequest, Reply, user

MOST_TOKENS = 256
"""Of a reply: enough for a model that thinks a little first."""
LONGEST_WAIT = 60.0
QUESTION = "What is 2 + 3? Reply with the number."


class Sum(BaseModel):
    """The answer as a structure."""

    answer: int


class _Timed(Wrapper):
    """Says what the last answered request took."""

    shown = ""

    async def complete(self, request: ChatRequest) -> Reply:
        started = time.monotonic()
        reply = await super().complete(request)
        usage = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
        cut = ", cut off at the limit of this check" if reply.finish == "length" else ""
        self.shown = f"{self.name} answered in {time.monotonic() - started:.2f} s, {usage}{cut}"
        return reply


async def check_live(config: TrainConfig, found: Findings) -> None:
    """One tiny call for each role, except roles that cannot be built: they are reported already."""
    for role, section in config.models.items():
        most, timeout = min(section.max_output_tokens, MOST_TOKENS), min(section.timeout, LONGEST_WAIT)
        small = section.model_copy(update={"max_output_tokens": most, "timeout": timeout})
        try:
            model = build_model(small)
        except EtudeError:
            continue
        name = f"live {role}"
        if model.answered_by_hand:
            found.note(name, "not asked: its question would wait for an answer")
            continue
        try:
            with found.checking(name):
                await _ask(name, _Timed(model), None if role == "target" else small, found)
        finally:
            await model.aclose()


async def _ask(name: str, model: _Timed, section: ModelSection | None, found: Findings) -> None:
    if section is None:
        await model.complete(ChatRequest(messages=(user(QUESTION),)))
        found.ok(name, model.shown)
        return
    asked = Structured(model, section.structured)
    try:
        await asked.ask([user(QUESTION)], Sum)
    except ModelError:
        raise
    except EtudeError as error:  # it answers, but not in the form that was asked for
        found.ok(name, model.shown)
        found.wrong(f"{name} structure", error.message, error.hint)
        return
    native = asked.rung == "json_schema"
    found.ok(name, model.shown)
    text = "native JSON schema" if native else f"no native JSON schema; works with structured: {asked.rung}"
    found.ok(f"{name} structure", text)
