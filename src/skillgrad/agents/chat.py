"""The chat agent: the skill in the system prompt, one question, one answer."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field, field_validator

from skillgrad.config import Section, parse
from skillgrad.prompts import Prompts
from skillgrad.protocols import Agent, ChatModel
from skillgrad.records import (
    ChatRequest,
    ImagePart,
    Message,
    Reply,
    Skill,
    Task,
    TextPart,
    Trajectory,
    assistant,
    digest,
    system,
)
from skillgrad.skill import Document

__all__ = ["ChatAgent", "ChatOptions"]

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)


class ChatOptions(Section):
    """Options of the chat agent."""

    answer_pattern: str | None = Field(default=None)
    """Regular expression with one group that holds the answer; its last match counts. Without it the text between
    the last <answer> and </answer> is the answer, else the whole reply."""

    @field_validator("answer_pattern")
    @classmethod
    def _has_one_group(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            groups = re.compile(value).groups
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
        if groups != 1:
            raise ValueError(f"must have exactly one group, has {groups}")
        return value


class ChatAgent(Agent):
    """Asks a chat model once. Its model calls are facts, so its attempts need not be."""

    name = "chat"
    journals_calls: ClassVar[bool] = True

    def __init__(self, target: ChatModel, prompts: Prompts, options: ChatOptions | None = None) -> None:
        self._target = target
        self._prompt = prompts["chat"]
        self._options = options or ChatOptions()

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], target: ChatModel, prompts: Prompts, *, where: str
    ) -> "ChatAgent":
        """Build from the options of the `agent` section.

        Raises:
            ConfigError: an unknown or bad option.
        """
        return cls(target, prompts, parse(ChatOptions, dict(options), where=where))

    def fingerprint(self) -> str:
        """Changes with the model, its settings, the prompt and the options."""
        return digest([self.name, self._target.fingerprint(), self._prompt, self._options.model_dump()])

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """One request: the prompt and the body of the skill as system message, the task as user message."""
        body = _body(skill.text)
        instructions = f"{self._prompt}\n\n# Skill\n\n{body}" if body else self._prompt
        # Pictures first: questions about the same one then begin with the same tokens, which providers cache.
        content = (*(ImagePart(url=image) for image in task.images), TextPart(text=task.input))
        question = Message(role="user", content=content)
        reply = await self._target.complete(ChatRequest(messages=(system(instructions), question), seed=trial))
        return Trajectory(
            answer=self._answer(reply.text),
            messages=(question, assistant(reply.text)),
            failure=_failure(reply),
            usage=reply.usage,
            simulated=reply.simulated,
        )

    def _answer(self, text: str) -> str:
        pattern = self._options.answer_pattern
        found = re.findall(pattern, text) if pattern is not None else _TAGGED.findall(text)
        return (found[-1] if found else text).strip()


@lru_cache(maxsize=64)
def _body(text: str) -> str:
    """What an agent reads of a skill. Parsed once: many attempts share a skill."""
    return Document.parse(text).body.strip()


def _failure(reply: Reply) -> str:
    if reply.finish == "refusal":
        return "the model refused"
    if not reply.text.strip():
        return "the reply was cut off before any text" if reply.finish == "length" else "the reply was empty"
    return ""
