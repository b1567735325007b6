"""Frozen records that travel between the parts. They compare by content and turn into JSON and back without loss."""

import base64
import hashlib
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, cast

from pydantic import (
    Field,
    JsonValue,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_serializer,
    model_serializer,
)

from etude.messages import (
    ChatRequest,
    ImagePart,
    Message,
    Record,
    Reply,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    canonical,
    digest,
    system,
    user,
)

__all__ = [
    "AppliedEdit",
    "Attempt",
    "Candidate",
    "ChatRequest",
    "Edit",
    "EditFate",
    "EditOp",
    "Evaluation",
    "File",
    "ImagePart",
    "LedgerEntry",
    "Message",
    "Metric",
    "Outcome",
    "Patch",
    "PatchOp",
    "Record",
    "Reply",
    "ResponseSchema",
    "Role",
    "Score",
    "Skill",
    "Split",
    "SuggestionOp",
    "Task",
    "TextPart",
    "Tool",
    "ToolCall",
    "TrainState",
    "Trajectory",
    "Usage",
    "Verdict",
    "assistant",
    "canonical",
    "digest",
    "system",
    "user",
]

Split = Literal["train", "val", "test"]
Outcome = Literal["completed", "failed", "void"]
Metric = Literal["hard", "soft", "mixed"]
PatchOp = Literal["append", "insert_after", "replace", "delete"]
SuggestionOp = Literal["add", "remove", "merge", "reorganise", "compress", "clarify"]
EditOp = Literal[PatchOp, SuggestionOp, "rewrite", "remind"]
Role = Literal["target", "optimizer", "judge"]


class File(Record):
    """A file beside SKILL.md, or in a workspace."""

    data: bytes
    executable: bool = False

    @field_serializer("data", when_used="json")
    def _data(self, data: bytes, info: SerializationInfo) -> str:
        """As base64; in views, which are for people, only how much it is."""
        context = cast(Mapping[str, Any] | None, info.context)
        if context is not None and context.get("view"):
            return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
        return base64.b64encode(data).decode()


class Skill(Record):
    """A skill: the text of its SKILL.md, and the files around it."""

    name: str = "skill"
    text: str
    """The whole document, front matter and protected regions included."""
    files: Mapping[str, File] = {}
    """Relative POSIX path to file: `references/`, `scripts/`, assets."""

    @cached_property
    def hash(self) -> str:
        """16 hex digits over text and files; the name does not count."""
        files = {path: [hashlib.sha256(file.data).hexdigest(), file.executable] for path, file in self.files.items()}
        return digest([self.text, files])[:16]

    def with_text(self, text: str) -> "Skill":
        """The same skill with another document."""
        return Skill(name=self.name, text=text, files=self.files)


class Task(Record):
    """One thing to do, and what a right answer is compared with."""

    id: str
    input: str
    """What the agent is told."""
    gold: JsonValue = None
    """The reference a scorer compares with. Agents never see it."""
    type: str = ""
    """Kind of task; splits by ratio are stratified by it."""
    group: str = ""
    """Tasks of one group stay in one split."""
    images: tuple[str, ...] = ()
    """Pictures that belong to the input: http(s) or data URLs, or references that `Environment.image` resolves."""
    files: dict[str, File] = Field(default_factory=dict[str, File])
    """What an agent with a workspace finds in it, by relative POSIX path."""
    data: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Further fields for environments and scorers."""

    @property
    def text(self) -> str:
        """The input, and a line for each picture."""
        return "\n".join((self.input, *(ImagePart(url=image).shown for image in self.images)))


class Score(Record):
    """How good an attempt was."""

    hard: float = Field(ge=0, le=1)
    """Solved or not: 0 or 1, or a fraction where the task has parts."""
    soft: float = Field(ge=0, le=1)
    """Partial credit."""
    feedback: str = ""
    """What the optimizer may read about the score."""

    def value(self, metric: Metric, mixed_weight: float = 0.5) -> float:
        """The number the gate compares, in [0, 1]. `mixed` is (1 - w) * hard + w * soft."""
        if metric == "mixed":
            return (1 - mixed_weight) * self.hard + mixed_weight * self.soft
        return self.hard if metric == "hard" else self.soft


class Trajectory(Record):
    """What an agent did in one attempt, before it is scored."""

    answer: str = ""
    messages: tuple[Message, ...] = ()
    failure: str = ""
    """Why the attempt failed by the agent's own fault (refusal, step limit, empty answer); empty if it did not."""
    usage: Usage = Usage()
    simulated: bool = False
    exit_codes: dict[str, int] = Field(default_factory=dict[str, int])
    """How the commands of tool calls ended, by the id of the call."""
    files: dict[str, File | None] = Field(default_factory=dict[str, File | None])
    """Files of the workspace that are new or different afterwards, by relative POSIX path; None for one that is
    gone."""
    read_skill: bool | None = None
    """Whether the program opened the skill, where it had to decide that itself."""
    seconds: float | None = Field(default=None, ge=0)
    """How long the attempt took, waits for the model included; None when nobody measured it. A view of a run does not
    have it: what depends on the clock differs from one run to the next."""
    usd: float | None = Field(default=None, ge=0)
    """What its model calls cost in US dollars; None when a price is unknown, or the calls are not metered. Not in
    views either."""

    @model_serializer(mode="wrap")
    def _for_views(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if info.context is not None and cast(Mapping[str, Any], info.context).get("view"):
            for name in ("seconds", "usd"):
                data.pop(name, None)  # it may have been left out already
        return data


class Attempt(Record):
    """One try at one task under one skill.

    `completed` and `failed` attempts have a score (a failed one scores 0), a `void` one has none.
    """

    id: str
    """Short and stable: edits cite it. The same task, skill and trial always give the same id."""
    task: Task
    skill_hash: str
    trial: int = Field(default=0, ge=0)
    outcome: Outcome
    score: Score | None = None
    reason: str = ""
    """Why it failed or is void."""
    trajectory: Trajectory = Trajectory()

    @property
    def solved(self) -> bool:
        """The attempt has a score and `hard` is at least 1."""
        return self.score is not None and self.score.hard >= 1


class Edit(Record):
    """One operation on the skill, with the evidence for it.

    Which operations there are depends on `update.mode`: edits in place (`PatchOp`), suggestions for whoever writes
    the document anew (`SuggestionOp`), a whole document (`rewrite`), a reminder for the appendix (`remind`).
    """

    op: EditOp
    target: str = ""
    """The anchor: text of the skill that `insert_after`, `replace` and `delete` refer to. Of a suggestion: the part
    of the skill that is meant."""
    content: str = ""
    """The text to write; of a suggestion, what to do."""
    reason: str = ""
    cites: tuple[str, ...] = ()
    """Ids of the attempts this edit answers, each checked by code."""

    @property
    def id(self) -> str:
        """8 hex digits over what the edit does; reasons and evidence do not count."""
        return digest([self.op, self.target, self.content])[:8]

    @property
    def support(self) -> int:
        """How many attempts stand behind the edit."""
        return len(self.cites)


EditFate = Literal["applied", "repaired", "missed", "protected", "no_change", "dropped"]


class AppliedEdit(Record):
    """An edit and what became of it.

    applied    done; the anchor was found
    repaired   done; a repair call found the anchor that was meant
    missed     not done: the anchor is absent or ambiguous
    protected  not done: the anchor lies in or touches a protected region or the front matter
    no_change  not done: it would leave the text as it is, has nothing to add, or the rewrite left it out
    dropped    tested and left out again: no failure was seen to need it
    """

    edit: Edit
    fate: EditFate
    detail: str = ""


class Patch(Record):
    """Edits that belong together."""

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""


class Candidate(Record):
    """A skill text that asks to be accepted."""

    skill: Skill
    origin: Literal["step", "slow_update"]
    edits: tuple[AppliedEdit, ...] = ()
    unusable: str = ""
    """Why it could not be made; empty when it was, or when there was nothing to make."""


class Evaluation(Record):
    """Scores of one skill on one split, by task id. Voids are named and have no score."""

    skill_hash: str
    split: Split
    scores: dict[str, tuple[Score, ...]]
    """One score for each trial that has one."""
    voids: tuple[str, ...] = ()
    """Attempt ids without a score."""

    def mean(self, metric: Metric, mixed_weight: float = 0.5) -> float | None:
        """Mean over the tasks that have a score; None when there are none."""
        values = self.values(metric, mixed_weight).values()
        return math.fsum(values) / len(values) if values else None

    def values(self, metric: Metric, mixed_weight: float = 0.5) -> dict[str, float]:
        """Mean over trials of the metric, for every task that has a score."""
        return {
            task: sum(score.value(metric, mixed_weight) for score in scores) / len(scores)
            for task, scores in self.scores.items()
            if scores
        }


class Verdict(Record):
    """The gate's decision on a candidate. It never depends on the order in which attempts came back."""

    accepted: bool
    reason: str
    current: float | None = None
    """Mean of the current skill over the compared tasks, None when nothing was compared."""
    candidate: float | None = None
    """Mean of the candidate over all compared tasks; None when it was rejected before the end."""
    compared: int = 0
    """How many tasks could be compared."""
    decided_after: int = 0
    """Length of the shortest prefix, in the fixed order, that decides."""
    voids: tuple[str, ...] = ()
    """Attempts without a score that the decision was taken without."""


class LedgerEntry(Record):
    """One edit that was tried, and what came of it."""

    step: int
    edit: Edit
    fate: EditFate
    accepted: bool | None
    """The verdict on its candidate; None when there was none to decide on, or when a night holds what passed for
    possible luck, and `change` is then there."""
    change: float | None = None
    """Candidate mean minus current mean on validation; None when not measured in full."""
    types: tuple[str, ...] = ()
    """Types of the tasks whose attempts the edit cites."""


class TrainState(Record):
    """Where the training stands after a step. Each step returns a new one."""

    step: int = 0
    epoch: int = 0
    current: Skill
    best: Skill
    initial_val: Evaluation | None = None
    current_val: Evaluation | None = None
    best_val: Evaluation | None = None
    epoch_skill: Skill | None = None
    """The skill at the end of the previous epoch."""
    meta_skill: str = ""
    """The optimizer's memory."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Every edit that was tried."""
    earlier: dict[str, Attempt] = Field(default_factory=dict[str, Attempt])
    """The last scored training attempt at each task, by task id."""
    rejected_texts: frozenset[str] = frozenset()
    """Hashes of candidates that were rejected against a bar no higher than the present one."""
    silent_steps: int = 0
    """Steps in a row in which the optimizer gave no usable answer."""
    accepted: int = 0
    rejected: int = 0
    skipped: int = 0
    missed_edits: int = 0
    voids: int = 0
