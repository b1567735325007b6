"""What an agent did, as text for the optimizer: what was said, tool calls with their results, files changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from etude.readable import cut_middle
from etude.records import Attempt, File, Message, TextPart

_LEAST = 200
"""Characters of a tool's output that are shown however many outputs there are: less says nothing."""
_MARK = 50
"""Room for the mark of a cut."""
_MOST_BYTES = 1_000_000
"""Larger files are named and not read."""


@dataclass(frozen=True)
class _Entry:
    head: str
    body: str
    own_limit: bool = False
    """The body is cut by itself where there is no room for all: it must not hide the others."""

    @property
    def text(self) -> str:
        return self.head + self.body


def transcript_text(attempt: Attempt, limit: int) -> str:
    """What was said and which tools were called, with results and exit codes.

    Arguments and results of tools are cut each by itself so that all together have about `limit` characters; what is
    said is not. The question is the task and a system message repeats the skill, so both are left out.
    """
    trajectory = attempt.trajectory
    calls = {call.id for message in trajectory.messages for call in message.tool_calls}
    entries: list[_Entry] = []
    for message in trajectory.messages:
        if _is_known(message, attempt):
            continue
        shown = _shown(message)
        if message.role == "tool" and message.tool_call_id in calls:
            code = trajectory.exit_codes.get(message.tool_call_id)
            entries.append(_Entry("[tool] " if code is None else f"[tool, exit code {code}] ", shown, own_limit=True))
        elif shown or not message.tool_calls:
            entries.append(_Entry(f"[{message.role}] ", shown))
        entries += [
            _Entry(f"[{message.role} calls {call.name}] ", call.arguments, own_limit=True)
            for call in message.tool_calls
        ]
    return _joined(entries, limit)


def only_answers(attempt: Attempt) -> bool:
    """All that was said is the answer."""
    said = [message for message in attempt.trajectory.messages if not _is_known(message, attempt)]
    answer = attempt.trajectory.answer.strip()
    return len(said) == 1 and bool(answer) and not said[0].tool_calls and said[0].text.strip() == answer


def ends_with(transcript: str, answer: str) -> bool:
    """A transcript ends with the answer, between the tags that say so or behind the words that do."""
    said, answer = transcript.rstrip(), answer.strip()
    inside = said.removesuffix("</answer>")
    if not answer or inside == said:
        return bool(answer) and said.lower().endswith(f"answer: {answer.lower()}")
    return inside.rpartition("<answer>")[2].strip() == answer


def files_text(attempt: Attempt, limit: int) -> str:
    """The files that are new, changed or gone afterwards, with the text of those that are text; about `limit`
    characters. Empty when there are none."""
    before = attempt.task.files
    entries: list[_Entry] = []
    for path, file in sorted(attempt.trajectory.files.items()):
        name = path if path.isprintable() else repr(path)
        if file is None:
            entries.append(_Entry(f"[deleted {name}]", ""))
            continue
        what = "changed" if path in before else "new"
        head, text = f"[{what} {name}, {len(file.data):,} bytes", _text(file)
        entries.append(
            _Entry(f"{head}, not text]", "") if text is None else _Entry(f"{head}]\n", text, own_limit=True)
        )
    return _joined(entries, limit)


def _is_known(message: Message, attempt: Attempt) -> bool:
    return message.role == "system" or (message.role == "user" and message.text == attempt.task.input)


def _shown(message: Message) -> str:
    return "\n".join(part.text if isinstance(part, TextPart) else part.shown for part in message.content)


def _text(file: File) -> str | None:
    """None for a file that is not text, or too large to be looked at."""
    if len(file.data) > _MOST_BYTES or b"\0" in file.data:
        return None
    try:
        return file.data.decode()
    except UnicodeDecodeError:
        return None


def _joined(entries: Sequence[_Entry], limit: int) -> str:
    texts = [entry.text for entry in entries]
    if sum(map(len, texts)) + len(texts) > limit:
        own = [len(entry.body) for entry in entries if entry.own_limit]
        others = sum(len(text) for text in texts) - sum(own) + len(texts)
        most = max(_level(own, limit - others), _LEAST)
        texts = [_Entry(entry.head, _cut(entry, most)).text for entry in entries]
    return "\n".join(texts)


def _cut(entry: _Entry, most: int) -> str:
    return cut_middle(entry.body, most - _MARK) if entry.own_limit and len(entry.body) > most else entry.body


def _level(sizes: Iterable[int], room: int) -> int:
    """The most that each may have so that together they fit: what a short one does not need, the long ones get."""
    order = sorted(sizes)
    for at, size in enumerate(order):
        share = room // (len(order) - at)
        if size > share:
            return share
        room -= size
    return order[-1] if order else 0
