"""Asking the optimizer: which prompt, which data, which form of answer."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from skillgrad.errors import ModelError, OutageStop, RejectedRequest
from skillgrad.events import Event, Notice
from skillgrad.prompts import Prompts
from skillgrad.records import Edit, EditOp, Message, system, user
from skillgrad.stages.render import fence

__all__ = ["EditReply", "Optimizer", "PatchReply", "ReplyForm", "as_edit", "together", "valid_edits"]

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")


class Asks(Protocol):
    """What a structured model offers."""

    async def ask(self, messages: Sequence[Message], reply_type: type[M]) -> M:
        """An answer of the given type, or UnusableReply."""
        ...


class ReplyForm(BaseModel):
    """Base of the forms the optimizer fills in. What it adds is left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class EditReply(ReplyForm):
    """An edit as the optimizer writes it."""

    op: EditOp
    target: str
    content: str
    reason: str
    cites: tuple[str, ...]


class PatchReply(ReplyForm):
    """The answer of reflect and merge calls."""

    reasoning: str
    edits: tuple[EditReply, ...]


@dataclass(frozen=True)
class Optimizer:
    """The model behind reflect, aggregate, select, repair, slow update and meta skill."""

    model: Asks
    prompts: Prompts
    emit: Callable[[Event], None]
    memory: str = ""
    """The meta skill: shown with the calls that propose and choose edits, never shipped."""

    async def ask(self, prompt: str, sections: Sequence[str], form: type[M]) -> M:
        """One call: the prompt, the memory, then the sections that are not empty.

        Raises:
            UnusableReply: no answer had the form.
            OutageStop: the call failed; the run can be resumed.
        """
        instructions = self.prompts[prompt]
        if self.memory:
            instructions += (
                f"\n\n# What you have learnt about optimizing this skill\n\n{fence('memory', self.memory)}"
            )
        body = "\n\n".join(section for section in sections if section)
        try:
            return await self.model.ask((system(instructions), user(body)), form)
        except ModelError as error:
            hint = error.hint or "mend the cause and run the same command again"
            if isinstance(error, RejectedRequest):
                hint = f"{hint}; for a prompt that is too long lower reflect.max_trajectory_chars (with --fork)"
            raise OutageStop(f"optimizer: {error.message}", hint=hint) from error

    def warn(self, text: str) -> None:
        """Tell the person."""
        self.emit(Notice(level="warning", text=text))


async def together(calls: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """Make calls at the same time and wait for all of them: the error of one does not cost the answers of others."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[R], results)


def as_edit(row: EditReply) -> Edit:
    """The edit a row stands for, without what its operation does not use, and without evidence."""
    return Edit(
        op=row.op,
        target="" if row.op == "append" else row.target,
        content="" if row.op == "delete" else row.content,
        reason=row.reason,
    )


def valid_edits(reply: PatchReply, citable: Sequence[str]) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits that cite at least one attempt they may cite, and the others. Other ids are dropped."""
    kept: list[Edit] = []
    dropped: list[Edit] = []
    known = set(citable)
    for row in reply.edits:
        cites = tuple(dict.fromkeys(cite for cite in row.cites if cite in known))
        edit = as_edit(row).model_copy(update={"cites": cites})
        (kept if cites else dropped).append(edit)
    return tuple(kept), tuple(dropped)
