"""Who decides which skill a request opens: the seam for judges of triggers, and the two that need no program."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from etude.measure.triggers.catalogue import Catalogue, Listing, entries, shown
from etude.measure.triggers.description import Described
from etude.measure.triggers.lexical import Ranking
from etude.protocols import Agent, ChatModel
from etude.protocols.code_digest import class_digest
from etude.records import ChatRequest, Skill, Task, Trajectory, assistant, digest, system, user
from etude.records.said import said_in

_NONE = "none"
_INSTRUCTIONS = """\
You are an agent that has skills: instructions for certain kinds of work, listed below by name and description. A user
sends you a request. Before you begin, decide which one skill you would open for it, if any.

Answer with the name of that skill as it is listed, or with the word none. Answer with nothing else."""
_SIGNS = re.compile(r"^[\s`*\"'.:-]+|[\s`*\"'.:]+$")


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
    if said in visible:
        return said
    return "" if said.casefold() == _NONE else None
