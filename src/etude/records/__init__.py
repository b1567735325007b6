"""Frozen records that travel between the parts. They compare by content and turn into JSON and back without loss."""

from etude.records.attempts import Attempt, Role, Trajectory, role_of
from etude.records.base import Record, as_text, brief, canonical, digest
from etude.records.decisions import EditEvidence, Evaluation, LedgerEntry, Proof, Tested, TrainState, Verdict
from etude.records.edits import AppliedEdit, Candidate, Edit, EditFate, Patch, PatchOp, SuggestionOp
from etude.records.messages import (
    ChatRequest,
    ImagePart,
    Message,
    Reply,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    system,
    user,
)
from etude.records.skills import File, Skill
from etude.records.tasks import SPLITS, Criterion, Metric, Place, Score, Split, Task

__all__ = [
    "SPLITS",
    "AppliedEdit",
    "Attempt",
    "Candidate",
    "ChatRequest",
    "Criterion",
    "Edit",
    "EditEvidence",
    "EditFate",
    "Evaluation",
    "File",
    "ImagePart",
    "LedgerEntry",
    "Message",
    "Metric",
    "Patch",
    "PatchOp",
    "Place",
    "Proof",
    "Record",
    "Reply",
    "ResponseSchema",
    "Role",
    "Score",
    "Skill",
    "Split",
    "SuggestionOp",
    "Task",
    "Tested",
    "TextPart",
    "Tool",
    "ToolCall",
    "TrainState",
    "Trajectory",
    "Usage",
    "Verdict",
    "as_text",
    "assistant",
    "brief",
    "canonical",
    "digest",
    "role_of",
    "system",
    "user",
]
