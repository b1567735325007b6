"""How skills, attempts, edits and the ledger are shown to the optimizer: fenced, bounded, always in the same form."""

import hashlib
import json
from collections.abc import Collection, Sequence

from etude.readable import cut_middle
from etude.records import Attempt, LedgerEntry, Skill
from etude.records.said import CUT_OFF
from etude.skill import Document
from etude.skill.parts import MOST_CHARS
from etude.stages.shared.jury import BREAKS
from etude.stages.shared.transcript import ends_with, files_text, only_answers, transcript_text

_LEDGER_CHARS = 600
"""Most characters of an earlier edit that are shown: enough to know it again, where it is a whole document."""
_MADE = ("applied", "repaired")
_WHY_CHARS = 160
"""Most characters of the reason why an edit was left out."""
_TASKS = 4
"""Most tasks of an edit that are named."""
_TOLD_CHARS = 2000
"""Most characters of what the target is told."""
_STANDING = 8
"""Most edits of the current skill of which the tasks that they fixed are named."""
_NAME_CHARS = 32
"""Characters by which an edit of the current skill is known again."""
_LEARNED = (
    "Only the lines between its `learned` markers may change: edits are made there, with anchors from there. Where a "
    "whole document is asked for, return these lines and nothing else, a list item for each rule."
)
_FILES = (
    "Files of the skill stand below `<!-- etude:files -->`, each under a line with its path. The agent knows their "
    "names, and reads a file or runs a script where it sees a reason: the text above says when, by path. What only "
    "some tasks need, as a table, is better in a reference, and what has to be worked out exactly in a script. An "
    "anchor lies in one file, or in the text. `append` adds to the text; where the first line of its content is "
    "`<!-- etude:file references/NAME.md -->` or `<!-- etude:file scripts/NAME.py -->`, it adds a file, of which the "
    f"other lines are all, {MOST_CHARS:,} characters at most. `delete` with that line as target takes a file away. "
    "Files that are `kept` do not change."
)


class Shared(str):
    """A section that the calls of a step have in common. Where such sections come first, providers can keep what
    they begin with in their caches."""


def fence(name: str, text: str) -> str:
    """Put data between two lines that the data cannot contain: the tag carries a hash of the data."""
    mark = _mark(text)
    return f"<{name} data={mark}>\n{text}\n</{name} data={mark}>"


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def skill_block(skill: Skill) -> Shared:
    """The body of the skill: what the agent reads and edits refer to."""
    document = Document.parse(skill.text)
    body = document.text[len(document.front_matter) :].strip()
    text = "# Current skill\n\n" + (fence("skill", body) if body else "(The skill is empty.)")
    if document.files_at is not None:
        return Shared(f"{text}\n\n{_FILES}")
    return Shared(text if document.learned is None else f"{text}\n\n{_LEARNED}")


def told_block(models: Sequence[tuple[str, float | None]], instructions: str) -> Shared:
    """The models that attempt the tasks, with their temperatures where these are set, and what they are told."""
    named = [name if at is None else f"{name} at temperature {at:g}" for name, at in models]
    which = ", by the target of an attempt" if len(named) > 1 else ""
    text = f"# The agent\n\nIts model{which}: {', '.join(named)}."
    if not instructions.strip():
        return Shared(text)
    told = fence("told", cut_middle(instructions.strip(), _TOLD_CHARS))
    return Shared(f"{text} Besides skill and task it is told:\n\n{told}")


def attempt_block(attempt: Attempt, limit: int) -> str:
    """One attempt with its id, task, transcript, changed files, answer and feedback, about `limit` characters in all.
    What stands in it already is left out: a transcript that is the answer, an answer that the transcript plainly
    ends with, and that an attempt that passed is correct.

    Every tag carries a hash of what stands inside, so that no answer can close it and forge another attempt.
    """
    score = attempt.score
    files = files_text(attempt, limit // 8)
    said = limit * 3 // 8 if files else limit // 2
    answer = attempt.trajectory.answer
    parts = {
        "task": (attempt.task.text, limit // 4),
        "transcript": (transcript_text(attempt, said), said),
        "files": (files, limit // 8),
        "answer": (answer, limit // 8),
        "feedback": (_feedback(attempt), limit // 8),
    }
    shown = {name: cut_middle(text, share) for name, (text, share) in parts.items() if files or name != "files"}
    if only_answers(attempt):
        del shown["transcript"]
    elif ends_with(shown["transcript"], answer):
        del shown["answer"]
    if attempt.solved and shown["feedback"] == "correct":
        del shown["feedback"]
    mark = _mark("".join(shown.values()))
    inner = "".join(f"<{name} data={mark}>\n{text}\n</{name} data={mark}>\n" for name, text in shown.items())
    numbers = f' hard="{score.hard:g}" soft="{score.soft:g}"' if score else ""
    target = f' target="{attempt.task.target}"' if attempt.task.target else ""
    head = f'<attempt id="{attempt.id}"{target} outcome="{attempt.outcome}"{numbers} data={mark}>'
    return f"{head}\n{inner}</attempt data={mark}>"


def _feedback(attempt: Attempt) -> str:
    told = (attempt.score.feedback if attempt.score else "") or attempt.reason
    made = attempt.trajectory
    cut = CUT_OFF if made.ended == "cut off" and not made.failure else ""
    return "; ".join(filter(None, (told, cut))) or "(none)"


def edit_budget_line(budget: int, noun: str = "edits") -> str:
    """How many edits may be proposed, and what they are called."""
    return f"Propose at most {budget} {noun}."


def ledger_block(
    ledger: Sequence[LedgerEntry], limit: int, types: Collection[str] = (), skill: Skill | None = None
) -> Shared:
    """At most `limit` edits that were tried, with what came of them; empty when there are none.

    Edits that answered tasks of the given types go first, then the latest; shown in the order they were tried. Edits
    that were accepted and stand in the skill, where that is shown too, have one line together; one that was taken
    back has one, not two.
    """
    taken_back = {entry.edit.target for entry in ledger if entry.accepted and entry.edit.reason == BREAKS}
    ledger = [entry for entry in ledger if entry.edit.reason != BREAKS]
    standing = [entry for entry in ledger if skill is not None and _stands(entry, skill)]
    ledger = [entry for entry in ledger if entry not in standing]
    order = sorted(range(len(ledger)), key=lambda i: (not set(ledger[i].types) & set(types), -i))
    shown = [ledger[index] for index in sorted(order[:limit])]
    rows: list[dict[str, object]] = [
        {
            "step": entry.step,
            "op": entry.edit.op,
            "target": cut_middle(entry.edit.target, _LEDGER_CHARS),
            "content": cut_middle(entry.edit.content, _LEDGER_CHARS),
            "support": entry.edit.support,
            "outcome": _outcome(entry, taken_back),
        }
        for entry in shown
    ]
    if standing and limit:
        rows.insert(0, _standing_row(standing))
    if not rows:
        return Shared()
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return Shared("# Earlier edits and their outcomes\n\n" + fence("ledger", lines))


def _stands(entry: LedgerEntry, skill: Skill) -> bool:
    content = entry.edit.content.strip()
    return entry.accepted is True and entry.fate in _MADE and bool(content) and content in skill.text


def _standing_row(entries: Sequence[LedgerEntry]) -> dict[str, object]:
    row: dict[str, object] = {"accepted edits that stand in the skill above": len(entries)}
    fixed = {
        " ".join(entry.edit.content.split())[:_NAME_CHARS]: _few(entry.needed) for entry in entries if entry.needed
    }
    return row | ({"tasks that they fixed": dict(list(fixed.items())[-_STANDING:])} if fixed else {})


def _few(tasks: Sequence[str]) -> str:
    more = len(tasks) - _TASKS
    return ", ".join(tasks[:_TASKS]) + (f" and {more} more" if more > 0 else "")


def _outcome(entry: LedgerEntry, taken_back: Collection[str]) -> str:
    why = entry.why if len(entry.why) <= _WHY_CHARS else f"{entry.why[:_WHY_CHARS]}..."
    if entry.fate == "dropped":  # each that was tested is, unless a task needs it
        return f"dropped: {why}" if why else "dropped"
    if entry.fate not in _MADE:
        return f"not made ({entry.fate}: {why})" if why else f"not made ({entry.fate})"
    if entry.accepted is None:
        # What has a change was decided on: it passed, and fresh attempts left open whether that was luck.
        return "made, not evaluated" if entry.change is None else "passed validation, but the gain may be luck"
    # How far a rejected candidate fell short depends on when its race ended; what is shown must not.
    if not entry.accepted:
        return "rejected"
    if entry.edit.content in taken_back:
        return "accepted, and later taken back, since it broke tasks"
    fixed = f", fixed {_few(entry.needed)}" if entry.needed else ""
    return f"accepted{fixed}" if entry.change is None else f"accepted, validation {entry.change:+.3f}"
