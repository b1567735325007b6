"""Who decides which skill a request opens: the seam for judges of triggers, and the judges. They are the words alone,
a model that reads the list, and real agent programs."""

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

from etude.agents.program import ProgramAgent
from etude.agents.program_run import LATE, ProgramFailed
from etude.measure.triggers.catalogue import Catalogue, Described, Listing, entries, shown
from etude.measure.triggers.lexical import Ranking
from etude.programs.project_paths import place_of
from etude.protocols import Agent, ChatModel
from etude.protocols.code_digest import class_digest
from etude.records import (
    ChatRequest,
    File,
    Message,
    Skill,
    Task,
    ToolCall,
    Trajectory,
    assistant,
    digest,
    system,
    user,
)
from etude.records.said import said_in
from etude.skill.folder import DOCUMENT

_NONE = "none"
_INSTRUCTIONS = """\
You are an agent that has skills: instructions for certain kinds of work, listed below by name and description. A user
sends you a request. Before you begin, decide which one skill you would open for it, if any.

Answer with the name of that skill as it is listed, or with the word none. Answer with nothing else."""
_SIGNS = re.compile(r"^[\s`*\"'.:/$-]+|[\s`*\"'.:]+$")


@dataclass(frozen=True)
class SkillsAtHand:
    """The skills that are there when a request comes."""

    catalogue: Catalogue
    listing: Listing = "claude-code"
    own: str = ""
    """The one skill that requests are asked about; empty where all are."""
    told: str = ""
    """What an optimizer reads about the document besides its text."""
    trained: Described | None = None
    """The descriptions that are the document under test; None where it decides nothing. With one against its bounds,
    all requests fail."""
    bodies: Mapping[str, str] = field(default_factory=dict[str, str])
    """How what skills say themselves begins, shown with requests that fail for want of them."""

    @cached_property
    def fingerprint(self) -> str:
        """Changes with whatever decides what is shown."""
        return digest([dict(self.catalogue), self.listing, self.own, self.trained, dict(self.bodies)])


class TriggerJudge(Agent):
    """An agent of whose attempts only one thing counts: which skill it opened, its `answer`; empty for none.

    Subclasses implement `opened`.
    """

    name = "trigger"

    def __init__(self, shelf: SkillsAtHand) -> None:
        self.shelf = shelf
        self.told = shelf.told
        self._read: tuple[str, Catalogue, str] = ("", {}, "")

    @abstractmethod
    async def opened(self, task: Task, catalogue: Catalogue, trial: int) -> Trajectory:
        """Which of these skills is opened for the request. Whatever is raised is void."""

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        catalogue, fault = self._with(skill)
        return Trajectory(failure=fault) if fault else await self.opened(task, catalogue, trial)

    def _with(self, skill: Skill) -> tuple[Catalogue, str]:
        """The skills as a document describes them, and what is wrong with it."""
        trained = self.shelf.trained
        if trained is None:
            return self.shelf.catalogue, ""
        if self._read[0] != skill.hash:  # one candidate meets many requests
            found = trained.read(skill.text)
            self._read = (skill.hash, {**self.shelf.catalogue, **found}, trained.fault(found))
        return self._read[1:]

    def fingerprint(self) -> str:
        return digest([class_digest(type(self)), self.shelf.fingerprint])


class LexicalJudge(TriggerJudge):
    """Opens the skill whose description has most to do with the request by its words: a floor, and free."""

    name = "lexical"
    journals_calls: ClassVar[bool] = True

    def __init__(self, shelf: SkillsAtHand) -> None:
        super().__init__(shelf)
        self._known: tuple[Catalogue, Ranking] = ({}, Ranking({}))

    async def opened(self, task: Task, catalogue: Catalogue, trial: int) -> Trajectory:
        if self._known[0] != catalogue:  # one candidate meets many requests
            self._known = (catalogue, Ranking(shown(catalogue, self.shelf.listing)))
        return Trajectory(answer=self._known[1].first(task.input))


class ListingJudge(TriggerJudge):
    """Shows a chat model the list of skills as an agent program writes it, and asks which one it would open."""

    name = "listing"
    journals_calls: ClassVar[bool] = True

    def __init__(self, shelf: SkillsAtHand, target: ChatModel) -> None:
        super().__init__(shelf)
        self._target = target

    async def opened(self, task: Task, catalogue: Catalogue, trial: int) -> Trajectory:
        visible = shown(catalogue, self.shelf.listing)
        listed = "\n".join(entries(visible, self.shelf.listing))
        messages = (system(f"{_INSTRUCTIONS}\n\n# Skills\n\n{listed}"), user(task.input))
        reply = await self._target.complete(ChatRequest(messages=messages, seed=task.seed(trial)))
        said, problem, ended = said_in(reply, self._target.max_output_tokens)
        opened = None if problem else _named(said, visible)
        return Trajectory(
            answer=opened or "",
            messages=(messages[1], assistant(reply.text)),
            failure="" if opened is not None else problem or f"it names no skill of the list: {said[:80]!r}",
            ended=ended,
            usage=reply.usage,
            simulated=reply.simulated,
        )

    def fingerprint(self) -> str:
        return digest([super().fingerprint(), self._target.fingerprint(), _INSTRUCTIONS])


def _named(reply: str, visible: Mapping[str, str]) -> str | None:
    """The skill that a reply names, empty for none; None where it is neither."""
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    said = _SIGNS.sub("", lines[-1]) if lines else ""
    return ({_NONE: ""} | {name.casefold(): name for name in visible}).get(said.casefold())


STEPS = 4
"""Model requests that a program gets for a request, unless the settings say otherwise: programs open skills before
they begin to work, and what comes later is paid for and says nothing."""
_OPENED = "This copy of the skill {name} is here for a measurement: answer with the word done, and do nothing else."
"""The body of every skill: a program that reads it is done."""


class ProgramTriggerJudge(TriggerJudge):
    """Runs an agent program on the request, with the skills in the folder where it looks for them."""

    name = "program"

    def __init__(self, shelf: SkillsAtHand, agent: ProgramAgent) -> None:
        super().__init__(shelf)
        self._agent = agent
        self._folder = place_of(agent.name).skills

    async def opened(self, task: Task, catalogue: Catalogue, trial: int) -> Trajectory:
        files = {f"{self._folder}/{name}/{DOCUMENT}": _copy(name, text) for name, text in catalogue.items()}
        asked = task.model_copy(update={"files": files})
        found = await self._agent.attempt(asked, Skill(text=""), trial)
        opened = first_opened(found.messages, catalogue)
        if not opened and found.failure.startswith(LATE):
            raise ProgramFailed(f"{found.failure}, and no skill was opened by then")
        # Else whether it got anywhere with the request is not the question: not within its steps says that none was.
        # Where it did nothing, and its reply was refused, cut off or empty, it decided nothing.
        lost = not opened and not any(message.tool_calls for message in found.messages) and found.ended
        failure = f"the reply was {lost}, and no skill was opened" if lost else ""
        return found.model_copy(update={"answer": opened, "failure": failure, "files": {}, "ended": lost or None})

    def fingerprint(self) -> str:
        return digest([super().fingerprint(), self._agent.fingerprint(), _OPENED])

    def check_task(self, task: Task) -> None:
        self._agent.check_task(task)

    def room(self) -> AbstractAsyncContextManager[object]:
        return self._agent.room()

    @property
    def metered(self) -> bool:
        return self._agent.metered

    async def aclose(self) -> None:
        await self._agent.aclose()


def first_opened(messages: Sequence[Message], catalogue: Catalogue) -> str:
    """The first skill that was opened in a conversation; empty for none.

    Programs with a tool for skills name it in the call; others read its document, which says which one it is.
    """
    marks = {_OPENED.format(name=name): name for name in catalogue}
    pattern = re.compile("|".join(map(re.escape, marks)) or r"(?!)")
    for message in messages:
        for call in message.tool_calls:
            if name := _called(call, catalogue):
                return name
        if message.role == "tool" and (read := pattern.search(message.text)):
            return marks[read[0]]
    return ""


def _called(call: ToolCall, catalogue: Catalogue) -> str:
    if "skill" not in call.name.casefold():
        return ""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return ""
    values = cast("dict[str, Any]", arguments).values() if isinstance(arguments, dict) else ()
    return next((value for value in values if isinstance(value, str) and value in catalogue), "")


def _copy(name: str, description: str) -> File:
    front = f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n"  # JSON is YAML
    return File(data=f"{front}\n{_OPENED.format(name=name)}\n".encode())
