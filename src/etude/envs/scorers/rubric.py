"""A scorer that asks a model."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, create_model

from etude.config import Section, parse
from etude.envs.scorers.answer_scorer import Judge, shorten
from etude.errors import ConfigError, DataError
from etude.prompts import Prompts
from etude.protocols import Scorer
from etude.records import Criterion, ImagePart, Message, Score, Task, TextPart, Trajectory, canonical, digest, system

_EACH = (
    "The criteria of the rubric are numbered. In place of one grade, decide on each of them by itself: give its "
    "number, the evidence, and whether the answer fulfils it."
)
_CUT = "The answer was cut off at a token limit: its author could write no more. Grade what is there."
_MOST_FEEDBACK = 1000
"""Characters: several criteria may be open."""


class Grade(BaseModel):
    """What the judge replies."""

    reason: str = Field(description="What is fulfilled and what is missing, in a few sentences.")
    score: float = Field(ge=0, le=1, description="From 0 (nothing fulfilled) to 1 (all fulfilled).")


class Finding(BaseModel):
    """What the judge says about one criterion."""

    criterion: int = Field(description="Its number.")
    evidence: str = Field(description="What in the answer shows it, or what is missing, in one short sentence.")
    met: bool = Field(description="Whether the answer fulfils it.")


class Findings(BaseModel):
    """What the judge replies about a list of criteria."""

    findings: list[Finding] = Field(description="One entry for each criterion.")


@lru_cache(maxsize=64)
def _findings_on(count: int) -> type[Findings]:
    """A reply that has one entry for each of so many criteria."""

    def complete(findings: list[Finding]) -> list[Finding]:
        if sorted(each.criterion for each in findings) != list(range(1, count + 1)):
            raise ValueError(f"give one entry for each criterion, numbered 1 to {count}")
        return sorted(findings, key=lambda each: each.criterion)

    kind = Annotated[list[Finding], AfterValidator(complete)]
    return create_model(
        "Findings", __base__=Findings, findings=(kind, Field(description="One entry for each criterion."))
    )


class RubricOptions(Section):
    """Settings of the rubric scorer."""

    rubric: str = ""
    """What makes an answer good, for all tasks."""
    column: str = ""
    """Column with a rubric of each task's own; added to `rubric` when both are given. A list of texts is judged
    criterion by criterion, in one call: the grade is the share that is met."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """The grade from which hard is 1."""


class Rubric(Scorer):
    """Graded by a model that sees task, gold, answer and rubric: soft is the grade, hard 1 from the threshold on.

    Args:
        judge: returns the model; it is called when a score or the fingerprint is needed, not before.
    """

    name = "rubric"

    def __init__(self, options: RubricOptions, judge: Callable[[], Judge]) -> None:
        self.options = options
        self._judge = judge

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """The scorer for the settings of the `scorer` section.
        Raises ConfigError: neither `rubric` nor `column` is given, or there is no judge to ask."""
        settings = parse(RubricOptions, dict(options), where=where)
        if not settings.rubric.strip() and not settings.column:
            raise ConfigError(
                f"{where}: 'rubric' is missing, the words that say what makes an answer good",
                hint="as in `scorer: {name: rubric, rubric: polite and no longer than two sentences}`",
            )
        if judge is None:
            raise ConfigError(f"{where}: no model to ask", hint="add a `judge` section with a model")
        return cls(settings, judge)

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """One question to the judge. What the judge raises is raised: without a grade there is no score."""
        criteria, question = self._criteria(task), self._question(task, trajectory)
        if criteria:
            return await self._score_each(criteria, question)
        grade = await self._judge().ask(question, Grade)
        hard = float(grade.score >= self.options.threshold)
        return Score(hard=hard, soft=grade.score, feedback=shorten(f"graded {grade.score:g}: {grade.reason}"))

    async def _score_each(self, criteria: Sequence[str], question: tuple[Message, ...]) -> Score:
        """One question about all criteria; soft is the share met."""
        instructions, asked = question
        asked = Message(role="user", content=(*asked.content, TextPart(text=_EACH)))
        reply = await self._judge().ask((instructions, asked), _findings_on(len(criteria)))
        found = tuple(
            Criterion(text=text, met=each.met, evidence=each.evidence)
            for text, each in zip(criteria, reply.findings, strict=True)
        )
        share = sum(each.met for each in found) / len(found)
        open_ones = "".join(f"; not met: {each.text} ({each.evidence})" for each in found if not each.met)
        feedback = f"{sum(each.met for each in found)} of {len(found)} criteria met{open_ones}"
        hard = float(share >= self.options.threshold)
        return Score(hard=hard, soft=share, feedback=shorten(feedback, _MOST_FEEDBACK), criteria=found)

    def fingerprint(self) -> str:
        """Settings, prompt and, where it tells, the judge."""
        judge = getattr(self._judge(), "fingerprint", None)
        judged_by = str(judge()) if callable(judge) else ""
        return canonical([self.name, self.options.identity(), digest(self._instructions()), judged_by])

    def _instructions(self) -> str:
        """The prompt a judge brings along, else the shipped one."""
        own = getattr(self._judge(), "instructions", None)
        return own if isinstance(own, str) else Prompts()["rubric"]

    def _question(self, task: Task, trajectory: Trajectory) -> tuple[Message, ...]:
        parts = {"rubric": self.rubric_of(task), "task": task.input}
        if task.gold is not None:
            parts["reference"] = task.gold if isinstance(task.gold, str) else canonical(task.gold)
        parts["answer"] = trajectory.answer
        # No text can contain a digest of itself, so no part can close its own fence.
        mark = digest(parts)[:12]
        blocks = [f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in parts.items()]
        blocks += [_CUT] if trajectory.ended == "cut off" else []
        pictures = [ImagePart(url=image) for image in task.images]
        question = Message(role="user", content=(*pictures, TextPart(text="\n\n".join(blocks))))
        return system(self._instructions()), question

    def _criteria(self, task: Task) -> list[str]:
        """The criteria of a task's own, where its column holds a list of texts; else none."""
        own = task.data.get(self.options.column) if self.options.column else None
        texts = [text for text in own if isinstance(text, str) and text.strip()] if isinstance(own, list) else []
        return texts if isinstance(own, list) and len(texts) == len(own) else []

    def rubric_of(self, task: Task) -> str:
        """What the judge is told that makes an answer to the task good. Raises DataError: its column is not there."""
        own = task.data.get(self.options.column) if self.options.column else None
        if self.options.column and own is None:
            found = ", ".join(map(repr, task.data)) or "none"
            raise DataError(
                f"task {task.id!r} has no column {self.options.column!r} with its rubric; columns: {found}",
                hint="change `column` of the rubric scorer",
            )
        if criteria := self._criteria(task):
            own = "\n".join(f"{number}. {text}" for number, text in enumerate(criteria, 1))
        text = own if isinstance(own, str) else "" if own is None else canonical(own)
        return "\n\n".join(part for part in (self.options.rubric.strip(), text) if part)
