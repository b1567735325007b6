"""One attempt as a conversation, for people."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from etude.prompts.cuts import cut_middle
from etude.records import Attempt, Message
from etude.store.projections.attempts import AttemptPage

_SYSTEM_CHARS = 400
"""Of a system message: it has the skill, which `show` and `diff` print whole."""
HEADS = ("system", "user", "assistant", "tool", "result")


def attempt_lines(page: AttemptPage) -> Iterator[str]:
    """The conversation with what came of it; of an attempt that no step kept, what the journal has of it. A head is a
    line that begins with one of `HEADS`; the rest is indented."""
    yield f"task     {page.task}, {page.split} split"
    yield f"skill    {page.skill}"
    yield from _logged(page) if page.attempt is None else _kept(page.attempt)
    yield ""
    yield f"result   {page.outcome}" + (f": {page.reason}" if page.reason else "")
    made, score = (None, None) if page.attempt is None else (page.attempt.trajectory, page.attempt.score)
    if made is not None and made.ended == "cut off":
        yield "cut off  at target.max_output_tokens"
    if page.hard is not None:
        yield f"score    {page.hard:g}" + (f" (soft {page.soft:g})" if page.soft not in (None, page.hard) else "")
    yield from _named(
        answer=page.answer or "", gold=_plain(page.gold), feedback="" if score is None else score.feedback
    )
    if made is not None:
        used = made.usage
        yield f"tokens   {used.input_tokens:,} in ({used.cached_tokens:,} cached), {used.output_tokens:,} out"


def _kept(attempt: Attempt) -> Iterator[str]:
    trajectory = attempt.trajectory
    names = {call.id: call.name for message in trajectory.messages for call in message.tool_calls}
    for message in trajectory.messages:
        yield from ("", _head(message, names, trajectory.exit_codes), *_indented(_said(message)))
        for call in message.tool_calls:
            yield from _indented(f"calls {call.name} {call.arguments}")
    if not trajectory.messages:
        yield from ("", "user", *_indented(attempt.task.text), "", "assistant", *_indented(trajectory.answer))
    for path, file in trajectory.files.items():
        yield f"  {'removed' if file is None else 'wrote'} {path}"


def _logged(page: AttemptPage) -> Iterator[str]:
    for fact in page.facts:
        for message in fact.asked:
            yield from ("", _head(message, {}, {}), *_indented(_said(message)))
        yield from ("", "assistant", *_indented(fact.said))


def _named(**texts: str) -> Iterator[str]:
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines()):
            yield f"{name if number == 0 else '':<8} {line}"


def _head(message: Message, names: dict[str, str], exit_codes: dict[str, int]) -> str:
    if message.role != "tool":
        return message.role
    called = message.tool_call_id or ""
    code = f", exit code {exit_codes[called]}" if called in exit_codes else ""
    return f"tool {names.get(called, called)}{code}"


def _said(message: Message) -> str:
    parts = [part.text if part.type == "text" else part.shown for part in message.content]
    text = "\n".join(parts)
    return cut_middle(text, _SYSTEM_CHARS) if message.role == "system" else text


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())


def _plain(gold: JsonValue) -> str:
    return "" if gold is None else gold if isinstance(gold, str) else json.dumps(gold, ensure_ascii=False)
