"""Asking the optimizer: which prompt, which data, which form of answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Any, ClassVar, TypeVar, cast

from pydantic import model_validator

from etude.errors import EtudeError, ModelError, OutageStop, RejectedRequest
from etude.events import Event, Notice
from etude.models.wrappers.loose_json import fitted
from etude.models.wrappers.schema import strict_schema
from etude.models.wrappers.structured import Structured
from etude.prompts import Prompts
from etude.records import Message, TextPart, system
from etude.records.record import Lenient
from etude.stages.shared.render import Shared, fence
from etude.store.journal import facts_noted

F = TypeVar("F", bound="ReplyForm")
_schema = lru_cache(maxsize=64)(strict_schema)


class ReplyForm(Lenient):
    """Base of the forms the optimizer fills in. What it adds is left out, and what it spells otherwise is read, also
    where a model of the user's own returns it."""

    returns: ClassVar[str] = ""
    """Name of the prompt that says how the form is filled, for forms that several kinds of calls share."""

    @model_validator(mode="before")
    @classmethod
    def _fitted(cls, data: Any) -> Any:
        return fitted(cast(dict[str, Any], data), _schema(cls)) if isinstance(data, dict) else data


@dataclass(frozen=True)
class Optimizer:
    """The model behind every stage that proposes, merges, chooses or writes."""

    model: Structured
    prompts: Prompts
    emit: Callable[[Event], None]
    memory: str = ""
    """The meta skill: shown with the calls that propose and choose edits, never shipped."""
    preferences: str = ""
    """House rules, shown with every call."""
    facts: dict[str, str] = field(default_factory=dict[str, str])
    """Its answers, as `facts_noted` names them."""

    async def ask(self, prompt: str, sections: Sequence[str], form: type[F]) -> F:
        """One call: the prompt, what it is to return, the memory, then the sections that are not empty. Shared ones
        that come first are parts of their own, so that a provider's cache can end behind them.

        Raises:
            UnusableReply: no answer had the form.
            OutageStop: the call failed; the run can be resumed.
        """
        instructions = self.prompts[prompt]
        if form.returns:
            instructions += f"\n\n{self.prompts[form.returns]}"
        if self.preferences.strip():
            instructions += f"\n\n# House rules that whatever you write has to respect\n\n{self.preferences.strip()}"
        if self.memory:
            instructions += (
                f"\n\n# What you have learnt about optimizing this skill\n\n{fence('memory', self.memory)}"
            )
        try:
            with facts_noted() as facts:
                reply = await self.model.ask((system(instructions), _question(sections)), form)
            self.facts.update(facts)
            return reply
        except ModelError as error:
            hint = error.hint or "fix the cause and run the same command again"
            if isinstance(error, RejectedRequest):
                hint = f"{hint}; for a prompt that is too long lower reflect.max_trajectory_chars (in a fork)"
            raise OutageStop(f"optimizer: {error.message}", hint=hint) from error
        except EtudeError:
            raise
        except Exception as error:  # the boundary: a model of the user's own can fail in any way
            text = f"optimizer: {type(error).__name__}: {error}"
            raise OutageStop(text, hint="fix the model and run the same command again") from error

    def warn(self, text: str) -> None:
        """Tell the person."""
        self.emit(Notice(level="warning", text=text))


def _question(sections: Sequence[str]) -> Message:
    """The sections with an empty line between any two. The parts of a message stand on lines of their own."""
    given = [section for section in sections if section]
    shared = list(takewhile(lambda section: isinstance(section, Shared), given[:-1]))
    rest = "\n\n".join(given[len(shared) :])
    return Message(role="user", content=tuple(TextPart(text=text) for text in (*(f"{s}\n" for s in shared), rest)))
