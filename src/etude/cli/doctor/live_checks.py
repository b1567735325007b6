"""What `doctor --live` finds out by asking each model once."""

import time
from typing import NamedTuple

from pydantic import BaseModel

from etude.cli.doctor.checks import Check
from etude.cli.roles import model_sections
from etude.config import ModelSection, TrainConfig
from etude.errors import EtudeError, ModelError
from etude.models import Structured, Wrapper, build_model
from etude.models.handoff import HandoffModel
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, Role, Usage, user

MOST_TOKENS = 256
"""Of a reply: enough for a model that thinks a little first."""
LONGEST_WAIT = 60.0
QUESTION = "What is 2 + 3? Reply with the number."


class Sum(BaseModel):
    """The answer as a structure."""

    answer: int


class _Seen(NamedTuple):
    seconds: float
    usage: Usage
    finish: str


class _Watched(Wrapper):
    """Writes down what the answered requests took."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self.seen: list[_Seen] = []

    async def complete(self, request: ChatRequest) -> Reply:
        started = time.monotonic()
        reply = await super().complete(request)
        self.seen.append(_Seen(time.monotonic() - started, reply.usage, reply.finish))
        return reply


async def check_live(config: TrainConfig) -> list[Check]:
    """One tiny call for each role. Roles that cannot be built were told of before."""
    checks: list[Check] = []
    for role, section in model_sections(config).items():
        small = section.model_copy(
            update={
                "max_output_tokens": min(section.max_output_tokens, MOST_TOKENS),
                "timeout": min(section.timeout, LONGEST_WAIT),
            }
        )
        try:
            model = build_model(small)
        except EtudeError:
            continue
        if isinstance(model, HandoffModel):
            checks.append(Check.note(f"live {role}", "is not asked: its questions would wait for an answer"))
            continue
        try:
            checks += await _ask(role, small, _Watched(model))
        finally:
            await model.aclose()
    return checks


async def _ask(role: Role, section: ModelSection, model: _Watched) -> list[Check]:
    name = f"live {role}"
    try:
        if role == "target":
            await model.complete(ChatRequest(messages=(user(QUESTION),)))
            return [Check.ok(name, _shown(model))]
        structured = Structured(model, section.structured)
        await structured.ask([user(QUESTION)], Sum)
    except ModelError as error:
        return [Check.wrong(name, error)]
    except EtudeError as error:
        # It answers, but not in the form that was asked for.
        return [Check.ok(name, _shown(model)), Check.wrong(f"{name} structure", error)]
    native = structured.rung == "json_schema"
    how = "native JSON schema" if native else f"no native JSON schema; works with structured: {structured.rung}"
    return [Check.ok(name, _shown(model)), Check.ok(f"{name} structure", how)]


def _shown(model: _Watched) -> str:
    last = model.seen[-1]
    usage = f"{last.usage.input_tokens} tokens in, {last.usage.output_tokens} out"
    cut = ", cut off at the limit of this check" if last.finish == "length" else ""
    return f"{model.name} answered in {last.seconds:.2f} s, {usage}{cut}"
