"""Mining: the optimizer reads each session and says what its user is likely to ask for again."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Self

from pydantic import ValidationError, model_validator

from etude.concurrency import together
from etude.envs.scorers.checks import Check
from etude.envs.scorers.checks_operators import OPERATORS, Op, as_check
from etude.envs.splits import fold
from etude.errors import UnusableReply, in_plain_words
from etude.readable import cut_middle
from etude.records import Record
from etude.sleep.tasks.mined import LONGEST_QUOTE, Feedback, MinedTask, Quote, SessionRef, Wish, merged, task_id
from etude.sleep.tasks.overheard import in_own_words, overheard
from etude.sleep.transcripts.sessions import Session, ToolUse, Turn
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

MOST_TASKS = 3
"""Tasks that are taken from one session."""
LONGEST_WISH = 300
SESSION_CHARS = 16_000
"""About how much is shown in one request. A session of which the user alone said more is read in parts."""
_KIND_CHARS = 60
_FRAME = re.compile(
    r"^\s*\[(?=\s*(?:user|agent|result|stopped)\b)|<(?=\s*/?\s*conversation\b)", re.MULTILINE | re.IGNORECASE
)
_UNSAID = "a wish in words that no user typed"
_READ = "a wish that another session or night has"
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


class _Width(NamedTuple):
    """How many characters are shown."""

    prompt: int
    answer: int
    tools: int
    """Calls of a turn that are shown at all."""
    tool: int


_WIDTHS = (
    _Width(8_000, 3_000, 12, 300),
    _Width(8_000, 1_000, 4, 200),
    _Width(8_000, 300, 1, 100),
    _Width(2_000, 100, 0, 0),
)
"""The first one with which a session fits: what the agent did makes room for what the user said."""


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
    results = await together(_read(part, optimizer, night) for each in read for part in _parts(each))
    mined = all_of(results)
    failed = {one.session: one for one in mined.failed}
    return mined.model_copy(update={"tasks": merged(mined.tasks), "failed": tuple(failed.values())})


def all_of(parts: Sequence[MiningResult]) -> MiningResult:
    """The parts as one."""
    found = {name: [each for one in parts for each in getattr(one, name)] for name in MiningResult.model_fields}
    return MiningResult(**{name: tuple(those) for name, those in found.items()})


def _parts(session: Session) -> Iterator[Session]:
    """The session, or parts of it that can be shown with all that the user said. One without a new turn is none."""
    begin = 0
    for end in range(1, len(session.turns) + 1):
        part = session.turns[begin : end + 1]
        if end == len(session.turns) or len(_lines(part, 0, _WIDTHS[-1])) > SESSION_CHARS:
            if session.new < end:
                new = max(0, session.new - begin)
                yield session.model_copy(update={"turns": session.turns[begin:end], "new": new})
            begin = end


async def _read(session: Session, optimizer: Optimizer, night: int | None) -> MiningResult:
    shown, width = session_text(session)
    transcript = fence("conversation", shown)
    try:
        reply = await optimizer.ask("sleep_mine", ["# Conversation", transcript], _MinedReply)
    except UnusableReply as error:
        return MiningResult(failed=(FailedSession(session=_ref(session), reason=error.message),))
    tasks: list[MinedTask] = []
    new = session.turns[session.new :]
    long = f"the middle of a prompt of more than {width.prompt:,} characters"
    dropped = [long for turn in new if len(turn.prompt) > width.prompt]
    for row in reply.tasks:
        task = row.task(session, night)
        reason = _useless(row, task)
        if reason:
            dropped.append(reason)
        else:
            said = tuple(_quote(text, session, new) for text in map(str.strip, row.said) if in_own_words(text, new))
            tasks.append(task.model_copy(update={"quotes": said}))
    found = [_wish(wish, session, new) for wish in reply.wishes]
    dropped += [why for why in found if isinstance(why, str)]
    typed = fold("\n".join(turn.prompt for turn in session.turns))
    asked = (wish for wish in found if isinstance(wish, Wish))
    wishes = tuple(sorted(asked, key=lambda wish: typed.rfind(fold(wish.quote.text))))
    texts = [text for task in tasks for text in _texts(task)] + [wish.rule for wish in wishes]
    heard = await asyncio.to_thread(overheard, session, texts, shown, width.tool)
    return MiningResult(tasks=tuple(tasks), wishes=wishes, dropped=tuple(dropped), overheard=heard)


def _texts(task: MinedTask) -> Iterator[str]:
    """What an optimizer may make a rule of."""
    yield from (task.intent, task.context, task.rubric)
    yield from (text for check in task.checks for text in (str(check.arg), check.requirement))


def _quote(text: str, session: Session, turns: Sequence[Turn]) -> Quote:
    """With the time of the last turn that has it."""
    said = [turn.at for turn in turns if turn.at is not None and in_own_words(text, (turn,))]
    return Quote(session=_ref(session), text=text[:LONGEST_QUOTE], at=max(said, default=session.started))


def _wish(reply: _WishReply, session: Session, new: Sequence[Turn]) -> Wish | str:
    """What the user said outright, or why it is none: no turn of the user since then has these words."""
    rule, quote = " ".join(reply.rule.split()), reply.quote.strip()
    if not rule or not in_own_words(quote, new):
        return _READ if rule and in_own_words(quote, session.turns) else _UNSAID
    if len(rule) > LONGEST_WISH:
        return f"a wish of more than {LONGEST_WISH} characters"
    return Wish(rule=rule, quote=_quote(quote, session, new))


def _useless(row: _TaskReply, task: MinedTask) -> str:
    if not row.self_contained:
        return "it needs files, programs or knowledge that are not there"
    asked = {str(check.arg) for check in task.checks if check.op == "tool_called"}
    absent = sorted(asked - set(task.tools))
    return f"it asks for a tool that models cannot be offered: {absent[0]!r}" if absent else ""


def _ref(session: Session) -> SessionRef:
    return SessionRef(source=session.source, id=session.id)


def session_text(session: Session, limit: int = SESSION_CHARS) -> tuple[str, _Width]:
    """A session as the optimizer reads it: what was asked, which tools were called with what result, what was said.
    Turns that are not new are marked as seen before. Long texts are cut in their middle, those of the agent first, to
    about `limit` characters in all."""
    tried = [(_lines(session.turns, session.new, width), width) for width in _WIDTHS]
    text, width = next((one for one in tried if len(one[0]) <= limit), tried[-1])
    return cut_middle(text, limit), width


def _lines(turns: Sequence[Turn], new: int, width: _Width) -> str:
    lines: list[str] = []
    for at, turn in enumerate(turns):
        if new and at == 0:
            lines.append("(seen before, for understanding only)")
        if new and at == new:
            lines.append("(new from here on)")
        lines.append(f"[user] {_one(cut_middle(turn.prompt, width.prompt))}")
        lines += [_tool_line(tool, width.tool) for tool in turn.tools[: width.tools]]
        if len(turn.tools) > width.tools:
            lines.append(f"[{len(turn.tools) - width.tools} more tool calls]")
        if turn.answer.strip():
            lines.append(f"[agent] {_one(cut_middle(turn.answer, width.answer))}")
        if turn.interrupted:
            lines.append("[stopped before it was done]")
    return "\n".join(lines)


def _tool_line(tool: ToolUse, most: int) -> str:
    name, arguments, result = (_one(cut_middle(text, most)) for text in (tool.name, tool.arguments, tool.result))
    failed = ", which failed" if tool.failed else ""
    return f"[agent calls {name}{failed}] {arguments}\n[result] {result}"


def _one(text: str) -> str:
    """The text of one speaker: no line of it begins as if another one spoke, and no tag looks like those around."""
    return _FRAME.sub("\u2039", text)
