"""Mining: the optimizer reads each session and says what its user is likely to ask for again."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from etude.concurrency import together
from etude.envs.scorers.checks import Check
from etude.envs.scorers.checks_operators import OPERATORS, Op, as_check
from etude.envs.splits import fold
from etude.errors import UnusableReply, in_plain_words
from etude.prompts.cuts import cut_middle
from etude.records import Record
from etude.sleep.tasks.mined import LONGEST_QUOTE, Feedback, MinedTask, Quote, SessionRef, Wish, merged, task_id
from etude.sleep.tasks.overheard import overheard
from etude.sleep.tasks.quoted import in_own_words
from etude.sleep.transcripts.sessions import Session, ToolUse, Turn
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

MOST_TASKS = 3
"""Tasks that are taken from one session."""
MOST_WISHES = 5
MOST_QUOTES = 3
"""Of the user, for one task."""
LONGEST_WISH = 300
SESSION_CHARS = 16_000
"""About how much of a session is shown."""
_SAID_CHARS = 3_000
_TOOL_CHARS = 300
_MOST_TOOLS = 12
_KIND_CHARS = 60
_FRAME = re.compile(
    r"^\s*\[(?=\s*(?:user|agent|result|stopped)\b)|<(?=\s*/?\s*conversation\b)", re.MULTILINE | re.IGNORECASE
)
_LARGEST = 100_000
"""A number in a check: no answer has more characters, nor as many sources."""
_FEEDBACK: Mapping[str, Feedback] = {"yes": "satisfied", "no": "unsatisfied", "unknown": "unknown"}


def _checked(make: Callable[[], object]) -> None:
    """Say in one line why a record cannot be made of a reply."""
    try:
        make()
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise ValueError(
            f"{place}: {in_plain_words(problem['msg'])}" if place else in_plain_words(problem["msg"])
        ) from None


class _CheckReply(ReplyForm):
    op: Op
    arg: str
    requirement: str

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if not self.requirement.strip():
            raise ValueError(f"the requirement behind {self.op} is missing")
        number = self.arg.strip()
        large = number.isdecimal() and (len(number) > len(str(_LARGEST)) or int(number) > _LARGEST)
        if large and OPERATORS[self.op].takes == "a number":
            found = cut_middle(self.arg, _KIND_CHARS)
            raise ValueError(f"{self.op} takes a whole number from 1 to {_LARGEST:,}, found {found!r}")
        _checked(self.check)
        return self

    def check(self) -> Check:
        return as_check(self.op, self.arg, self.requirement)


class _TaskReply(ReplyForm):
    intent: str
    context: str
    kind: str
    self_contained: bool
    rubric: str
    checks: tuple[_CheckReply, ...]
    satisfied: Literal["yes", "no", "unknown"]
    said: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _usable(self) -> Self:
        _checked(lambda: self.task(Session(source="", id=""), None))
        return self

    def task(self, session: Session, night: int | None) -> MinedTask:
        """The task, with where it comes from."""
        return MinedTask(
            id=task_id(session.project, self.intent, self.context),
            intent=self.intent.strip(),
            context=self.context.strip(),
            checks=tuple(reply.check() for reply in self.checks),
            rubric=self.rubric.strip(),
            type=" ".join(self.kind.split())[:_KIND_CHARS],
            project=session.project,
            sessions=(SessionRef(source=session.source, id=session.id),),
            night=night,
            feedback=_FEEDBACK[self.satisfied],
            skill=session.skills[0] if len(session.skills) == 1 else "",
        )


class _WishReply(ReplyForm):
    rule: str
    quote: str


class _MinedReply(ReplyForm):
    tasks: tuple[_TaskReply, ...]
    wishes: tuple[_WishReply, ...] = ()

    @model_validator(mode="after")
    def _few(self) -> Self:
        if len(self.tasks) > MOST_TASKS:
            raise ValueError(f"{len(self.tasks)} tasks, at most {MOST_TASKS} are wanted")
        return self


class FailedSession(Record):
    """A session about which the optimizer gave no usable answer."""

    session: SessionRef
    reason: str


class MiningResult(Record):
    """What came of reading sessions."""

    tasks: tuple[MinedTask, ...] = ()
    """Each once, by id; without cluster and side."""
    wishes: tuple[Wish, ...] = ()
    """What users said outright, in the order of the sessions."""
    dropped: tuple[str, ...] = ()
    """Why tasks were left out, one reason for each."""
    overheard: tuple[Quote, ...] = ()
    """What users did not say and tasks or wishes have words of."""
    failed: tuple[FailedSession, ...] = ()
    """They are still to be mined: nothing is known about them."""


async def mine(sessions: Sequence[Session], optimizer: Optimizer, night: int | None = None) -> MiningResult:
    """Ask the optimizer for the tasks of each session that has turns, all sessions at the same time. The result does
    not depend on the order of the sessions.

    Raises:
        StopRun: a call failed. Answers are cached: the same call resumes.
    """
    read = sorted((each for each in sessions if each.turns), key=lambda each: (each.source, each.id))
    results = await together(_read(each, optimizer, night) for each in read)
    mined = all_of(results)
    return mined.model_copy(update={"tasks": merged(mined.tasks)})


def all_of(parts: Sequence[MiningResult]) -> MiningResult:
    """The parts as one."""
    return MiningResult(
        tasks=tuple(task for part in parts for task in part.tasks),
        wishes=tuple(wish for part in parts for wish in part.wishes),
        dropped=tuple(reason for part in parts for reason in part.dropped),
        overheard=tuple(quote for part in parts for quote in part.overheard),
        failed=tuple(failed for part in parts for failed in part.failed),
    )


async def _read(session: Session, optimizer: Optimizer, night: int | None) -> MiningResult:
    shown = session_text(session)
    transcript = fence("conversation", shown)
    try:
        reply = await optimizer.ask("sleep_mine", ["# Conversation", transcript], _MinedReply)
    except UnusableReply as error:
        return MiningResult(failed=(FailedSession(session=_ref(session), reason=error.message),))
    tasks: list[MinedTask] = []
    dropped: list[str] = []
    for row in reply.tasks:
        task = row.task(session, night)
        reason = _useless(row, task)
        if reason:
            dropped.append(reason)
        else:
            tasks.append(task.model_copy(update={"quotes": _quotes(row.said, session)}))
    typed = fold("\n".join(turn.prompt for turn in session.turns))
    found = filter(None, (_wish(wish, session) for wish in reply.wishes[:MOST_WISHES]))
    wishes = tuple(sorted(found, key=lambda wish: typed.rfind(fold(wish.quote.text))))
    texts = [text for task in tasks for text in _texts(task)] + [wish.rule for wish in wishes]
    heard = await asyncio.to_thread(overheard, session, texts, shown, _TOOL_CHARS)
    return MiningResult(tasks=tuple(tasks), wishes=wishes, dropped=tuple(dropped), overheard=heard)


def _texts(task: MinedTask) -> Iterator[str]:
    """What an optimizer may make a rule of."""
    yield from (task.intent, task.context, task.rubric)
    yield from (text for check in task.checks for text in (str(check.arg), check.requirement))


def _quotes(said: Sequence[str], session: Session) -> tuple[Quote, ...]:
    """Those that the user really said, and that no other session or night has."""
    new = session.turns[session.new :]
    own = (text for text in map(str.strip, said) if in_own_words(text, new))
    return tuple(_quote(text, session, new) for text in list(own)[:MOST_QUOTES])


def _quote(text: str, session: Session, turns: Sequence[Turn]) -> Quote:
    """With the time of the last turn that has it."""
    said = [turn.at for turn in turns if turn.at is not None and in_own_words(text, (turn,))]
    return Quote(session=_ref(session), text=text[:LONGEST_QUOTE], at=max(said, default=session.started))


def _wish(reply: _WishReply, session: Session) -> Wish | None:
    """What the user said outright; None where no turn of the user since then has these words."""
    rule, quote, new = " ".join(reply.rule.split()), reply.quote.strip(), session.turns[session.new :]
    if not rule or len(rule) > LONGEST_WISH or not in_own_words(quote, new):
        return None
    return Wish(rule=rule, quote=_quote(quote, session, new))


def _useless(row: _TaskReply, task: MinedTask) -> str:
    if not row.self_contained:
        return "it needs files, programs or knowledge that are not there"
    asked = {str(check.arg) for check in task.checks if check.op == "tool_called"}
    absent = sorted(asked - set(task.tools))
    return f"it asks for a tool that models cannot be offered: {absent[0]!r}" if absent else ""


def _ref(session: Session) -> SessionRef:
    return SessionRef(source=session.source, id=session.id)


def session_text(session: Session, limit: int = SESSION_CHARS) -> str:
    """A session as the optimizer reads it: what was asked, which tools were called with what result, what was said.
    Turns that are not new are marked as seen before. Each text is cut in its middle when it is long, and then the
    whole to about `limit` characters."""
    lines: list[str] = []
    for at, turn in enumerate(session.turns):
        if session.new and at == 0:
            lines.append("(seen before, for understanding only)")
        if session.new and at == session.new:
            lines.append("(new from here on)")
        lines += _turn_lines(turn)
    return cut_middle("\n".join(lines), limit)


def _turn_lines(turn: Turn) -> list[str]:
    lines = [f"[user] {_one(cut_middle(turn.prompt, _SAID_CHARS))}"]
    lines += [_tool_line(tool) for tool in turn.tools[:_MOST_TOOLS]]
    if len(turn.tools) > _MOST_TOOLS:
        lines.append(f"[{len(turn.tools) - _MOST_TOOLS} more tool calls]")
    if turn.answer.strip():
        lines.append(f"[agent] {_one(cut_middle(turn.answer, _SAID_CHARS))}")
    if turn.interrupted:
        lines.append("[stopped before it was done]")
    return lines


def _tool_line(tool: ToolUse) -> str:
    name, arguments, result = (
        _one(cut_middle(text, _TOOL_CHARS)) for text in (tool.name, tool.arguments, tool.result)
    )
    failed = ", which failed" if tool.failed else ""
    return f"[agent calls {name}{failed}] {arguments}\n[result] {result}"


def _one(text: str) -> str:
    """The text of one speaker: no line of it begins as if another one spoke, and no tag looks like those around."""
    return _FRAME.sub("\u2039", text)
