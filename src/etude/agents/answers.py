"""What agents that ask a chat model have in common: how the task is asked, and where the answer stands."""

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

from pydantic import Field, field_validator

from etude.config import Section, parse
from etude.errors import BoundaryError
from etude.protocols import Agent, ChatModel, Texts
from etude.records import ImagePart, Message, Reply, Task, TextPart
from etude.records.said import cut_off_at, last_answer, said_in
from etude.records.tasks import Ended
from etude.skill import Document
from etude.timed_regex import Matcher

ANSWER_SECONDS = 5.0
"""Of CPU time for a pattern of the user's, which may be one that backtracks without end."""


CALL_AS_TEXT = (
    "the reply calls a tool in its text: start the server with the parser of tool calls that fits the model "
    "(vLLM and SGLang: --tool-call-parser; llama.cpp: --jinja)"
)
_CALL = re.compile(
    r"^\s*(?:<\|?tool_call|\[TOOL_CALLS\]|<function(?:=|_calls?>)|<invoke |<[|\uff5c]tool[\u2581_]calls?"
    r"|<minimax:tool_call)|\A\s*<\|python_tag\|>|<\|call\|>\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""How models write a call: Qwen, GLM and Hermes, Mistral, Llama, Claude, DeepSeek and Kimi, MiniMax, gpt-oss."""


class AnswerOptions(Section):
    """How the answer is found in the last reply."""

    answer_pattern: str | None = Field(default=None)
    """Regular expression with one group that holds the answer; its last match counts. Without it the answer is the
    text between the last <answer> and </answer>, else the whole reply. A search of more than 5 seconds leaves the
    attempt without a score."""

    @field_validator("answer_pattern")
    @classmethod
    def _has_one_group(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            groups = re.compile(value).groups
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        if groups != 1:
            raise ValueError(f"must have exactly one group, has {groups}")
        return value


Options = TypeVar("Options", bound=AnswerOptions)


class FinalAnswer(NamedTuple):
    """What a last reply comes to."""

    answer: str
    failure: str
    """Why it is not an answer; empty when it is one."""
    ended: Ended | None
    """How the reply ended, where not by itself."""


class AnswerReader:
    """Finds the answer in a reply of an agent, by `AnswerOptions.answer_pattern` if there is one, for which it looks
    at most for `seconds`. `prompt` is what the agent is told: where that asks for <answer> tags, a reply that was cut
    off at `limit` tokens before </answer> is no answer."""

    def __init__(
        self, agent: str, pattern: str | None, *, limit: int, prompt: str = "", seconds: float = ANSWER_SECONDS
    ) -> None:
        self._agent = agent
        self._pattern = pattern
        self._limit = limit
        self._asks_for_tags = "<answer>" in prompt.lower()
        self._matcher = Matcher(seconds)

    async def read(self, reply: Reply, tools: Collection[str] = ()) -> FinalAnswer:
        """The answer in a reply of a model that was offered these tools. Raises BoundaryError: the search for the
        pattern took too long."""
        text, problem, ended = said_in(reply, self._limit)
        cut = ended == "cut off"
        answer = last_answer(text, cut=cut) if self._pattern is None else await self._matched(self._pattern, text)
        if answer is None or (cut and self._asks_for_tags and answer == text):
            return FinalAnswer("", problem or f"{cut_off_at(self._limit)}, before </answer>", ended)
        if tools and answer == text and _is_call(reply.text, answer, tools):
            return FinalAnswer("", CALL_AS_TEXT, "empty")
        return FinalAnswer(answer.strip(), problem, ended)

    async def _matched(self, pattern: str, text: str) -> str:
        try:
            found = await asyncio.to_thread(self._matcher.groups, pattern, text)
        except (TimeoutError, ChildProcessError) as error:
            raise BoundaryError(f"agent {self._agent!r}, answer_pattern {pattern!r}", error) from None
        return found[-1] if found else text


def _is_call(text: str, answer: str, tools: Collection[str]) -> bool:
    """Whether a text is the call of a tool, which the server did not take out of it."""
    if _CALL.search(text) or _CALL.search(answer):
        return True
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    data = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    return data.get("name") in tools and not data.keys().isdisjoint(("arguments", "parameters"))


class AnsweringAgent(Agent, Generic[Options]):
    """An agent that is told a prompt and whose last reply is read for its answer."""

    options_type: type[Options]
    prompt: ClassVar[str]
    """The name of what it is told."""

    def __init__(self, target: ChatModel, prompts: Texts, options: Options | None = None) -> None:
        self._target = target
        self.told = self._prompt = prompts[self.prompt]
        self._options: Options = options if options is not None else self.options_type()
        pattern, limit = self._options.answer_pattern, target.max_output_tokens
        self._answers = AnswerReader(self.name, pattern, limit=limit, prompt=self._prompt)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], target: ChatModel, prompts: Texts, *, where: str) -> Self:
        """Build from the options of the `agent` section; errors as of the class, or of an unknown or bad option."""
        return cls(target, prompts, parse(cls.options_type, dict(options), where=where))


def with_skill(prompt: str, skill_text: str) -> str:
    """The instructions of an agent: its prompt, and below it the body of the skill."""
    body = _body(skill_text)
    return f"{prompt}\n\n# Skill\n\n{body}" if body else prompt


@lru_cache(maxsize=64)
def _body(text: str) -> str:
    """What an agent reads of a skill. Parsed once: many attempts share a skill."""
    return Document.parse(text).body.strip()


def question(task: Task) -> Message:
    """The task as a user message. Pictures first: questions about the same one then begin with the same tokens,
    which providers cache."""
    return Message(role="user", content=(*(ImagePart(url=image) for image in task.images), TextPart(text=task.input)))
