"""Requests as tasks: what is scored is which skill was opened."""

from collections.abc import Mapping, Sequence

from etude.config.sections import AgentSection
from etude.errors import ConfigError
from etude.measure.triggers.judge import (
    STEPS,
    LexicalJudge,
    ListingJudge,
    ProgramTriggerJudge,
    SkillsAtHand,
    TriggerJudge,
)
from etude.prompts import Prompts
from etude.protocols import ChatModel, Environment, Texts
from etude.records import Record, Score, Split, Task, Trajectory
from etude.registry import find


class Request(Record):
    """What a user asks, and which skill should be opened for it."""

    id: str
    text: str
    needs: tuple[str, ...] = ()
    """Skills of which any one is right; empty where none should be opened."""
    quiet: str = ""
    """Where it needs none, the skill that it was written to keep quiet: it says nothing about others. Empty for a
    request that needs no skill at all."""

    def expects(self, skill: str) -> bool | None:
        """Whether `skill` is to be opened; None where the request says nothing about it."""
        if self.needs:
            return skill in self.needs
        return False if self.quiet in ("", skill) else None

    def is_right(self, opened: str) -> bool:
        """Whether opening this skill, or none (`""`), is right."""
        if self.needs:
            return opened in self.needs
        return opened != self.quiet if self.quiet else not opened

    def is_false_opening(self, opened: str) -> bool:
        """Whether a skill was opened that should have stayed closed."""
        return bool(opened) and not self.is_right(opened)

    @property
    def task(self) -> Task:
        """The request as something to attempt: the agent sees its text alone."""
        kind = "needs a skill" if self.needs else "needs none"
        return Task(id=self.id, input=self.text, type=kind, gold=self.model_dump(mode="json", exclude={"id", "text"}))


def request_of(task: Task) -> Request:
    """The request that a task was made of."""
    gold = task.gold if isinstance(task.gold, dict) else {}
    return Request.model_validate({"id": task.id, "text": task.input, **gold})


def skills_of(requests: Sequence[Request]) -> list[str]:
    """The skills that these requests say something about, sorted."""
    return sorted({name for request in requests for name in (*request.needs, request.quiet) if name})


LEXICAL = AgentSection(name="lexical")
"""In place of the agent of the settings: the judge that asks no model."""


class TriggerEnvironment(Environment):
    """Requests by split, the skills that are there, and who is asked: a chat model, an agent program, or `LEXICAL`.

    Raises:
        ConfigError: the agent is neither.
    """

    name = "triggers"
    trains_skills = False

    def __init__(self, requests: Mapping[Split, Sequence[Request]], shelf: SkillsAtHand, agent: AgentSection) -> None:
        self._requests = requests
        self._shelf = shelf
        self._agent = agent
        if agent.name not in (LEXICAL.name, "chat") and not hasattr(find("agents", agent.name), "program"):
            raise ConfigError(
                f"agent {agent.name!r} opens no skills",
                hint="set agent.name to chat, which is shown the list, or to an agent program, as claude-code",
            )

    def tasks(self, split: Split) -> Sequence[Task]:
        return [request.task for request in self._requests.get(split, ())]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """1 where the right skill was opened, or none where none is needed. With a skill under test it is only asked
        whether that one was."""
        request, own, opened = request_of(task), self._shelf.own, trajectory.answer
        right = request.is_right(opened)
        if own and (expected := request.expects(own)) is not None:
            right = (opened == own) == expected
        value = float(right and not trajectory.failure)
        return Score(hard=value, soft=value, feedback="" if value else self._feedback(request, opened))

    def _feedback(self, request: Request, opened: str) -> str:
        own, done = self._shelf.own, f"{opened!r} was opened" if opened else "no skill was opened"
        if own and not request.expects(own):
            return f"{done}, and this request is not for {own!r}"
        needs = " or ".join(map(repr, request.needs)) or "none"
        said = [(name, text) for name in request.needs if (text := self._shelf.bodies.get(name))]
        shown = "".join(f"\n\nWhat {name!r} itself says:\n{text}" for name, text in said[:1])
        return f"{done}, and the request needs {needs}{shown}"

    def fingerprint(self) -> str:
        return f"{super().fingerprint()} {self._shelf.fingerprint}"

    @property
    def repeatable(self) -> bool:
        """No judge is asked."""
        return True

    @property
    def warnings(self) -> Sequence[str]:
        return ()

    def agent(self, target: ChatModel, prompts: Texts) -> TriggerJudge:
        """The judge."""
        if self._agent.name == LEXICAL.name:
            return LexicalJudge(self._shelf)
        if self._agent.name == "chat":
            return ListingJudge(self._shelf, target)
        chosen = self._agent.model_extra or {}
        steps = {} if chosen.get("login") == "direct" else {"max_steps": STEPS}  # nobody counts them there
        options = {**steps, **chosen, "delivery": "inline"}
        assert isinstance(prompts, Prompts)
        agent = find("agents", self._agent.name).from_options(options, target, prompts, where="agent")
        return ProgramTriggerJudge(self._shelf, agent)
