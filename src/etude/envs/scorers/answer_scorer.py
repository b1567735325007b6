"""What all built-in scorers share, and the door to them by name."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

from pydantic import BaseModel, JsonValue

from etude.config import Section, parse
from etude.errors import ConfigError, DataError
from etude.protocols import Environment, Scorer
from etude.protocols.code_digest import class_digest
from etude.records import Message, Score, Task, Trajectory, canonical
from etude.registry import find

T = TypeVar("T", bound=BaseModel)
Options = TypeVar("Options", bound=Section)

READING = 9
"""How the scorers of etude read answers. Raised when one of them would score an answer differently, so that scores
from before are not taken for those of today."""
FEEDBACK_CHARS = 500
_GOT = "; got: "
"""Stands in feedback between what was expected and what came."""
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_BOXES = 20
"""Most boxes, from the last one back, that are looked into."""
_BOX_CHARS = 10_000
"""Most characters of a box."""
_BESIDE = re.compile(r"[ $]*(?:[,;/\u2013-]|[,;]?[ $]*\\?(?:and|or|to|und|oder|text\{[ ]*(?:and|or)[ ]*\})[ $])[ $]*")
"""Between two boxes that are one answer."""
MISSING = "something that is required is not in the answer"
"""What feedback says in place of a pattern."""


class Judge(Protocol):
    """A model that answers in a given structure. Should it have `fingerprint() -> str`, scores depend on it."""

    async def ask(self, messages: Sequence[Message], reply_type: type[T]) -> T:
        """The reply, validated. Raises when there is none that fits."""
        ...


class AnswerScorer(Scorer, Generic[Options]):
    """A scorer that looks at the answer alone. Subclasses set `name` and `options_type`, and write `compare`."""

    repeatable = True
    options_type: type[Options]
    """The settings of this scorer."""
    checks_gold: ClassVar[bool] = True
    """Whether every gold answer must get full marks from this scorer. False where scoring asks a model or the gold
    is not an answer."""

    def __init__(self, options: Options | None = None) -> None:
        self.options: Options = options if options is not None else self.options_type()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """The scorer for the settings of the `scorer` section; `judge` makes the model that some scorers ask.
        Raises ConfigError: an unknown key or a bad value; `where` is part of the message."""
        del judge
        return cls(parse(cls.options_type, dict(options), where=where))

    @property
    def needs_gold(self) -> bool:
        """Whether a task without a gold answer cannot be scored."""
        return True

    @abstractmethod
    def compare(self, task: Task, answer: str) -> Score:
        """Score one answer."""

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Score the answer of a trajectory."""
        return self.compare(task, trajectory.answer)

    def gold_answer(self, task: Task) -> str:
        """An answer that must get full marks. Raises DataError: the task's gold cannot be used by this scorer, or is
        no answer."""
        if not self.checks_gold:
            what = f"task {task.id!r}: what scorer {self.name!r} compares with is not an answer"
            raise DataError(what, hint="look at the answers of a run instead")
        return accepted(task)[0]

    def expectation(self, task: Task) -> str:
        """What feedback says was expected of an answer; nothing where the gold is no answer."""
        if not self.checks_gold:
            return ""
        try:
            score = self.compare(task, "")
        except DataError:
            return ""
        return "" if score.hard >= 1 else score.feedback.partition(_GOT)[0]

    def fingerprint(self) -> str:
        """Name, all settings that decide a score, and how answers are read: for a class of one's own its source."""
        kind = type(self)
        built_in = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
        return canonical([self.name, self.options.identity(), READING, "" if built_in else class_digest(kind)])


class ScoredEnvironment(Environment):
    """An environment whose attempts a scorer scores."""

    scorer: Scorer

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """What the scorer says."""
        return await self.scorer.score(task, trajectory)

    def expectation(self, task: Task) -> str:
        """What the scorer tells."""
        return self.scorer.expectation(task)

    @property
    def repeatable(self) -> bool:
        """As the scorer."""
        return self.scorer.repeatable


def accepted(task: Task) -> tuple[str, ...]:
    """The gold answers as text; a list is several that are equally right.
    Raises DataError: there is none, or it is an object."""
    golds = task.gold if isinstance(task.gold, list) else [task.gold]
    texts = tuple(gold if isinstance(gold, str) else canonical(gold) for gold in golds if gold is not None)
    if not texts:
        raise DataError(f"task {task.id!r} has no gold answer", hint="name its column in `fields.gold`")
    if any(isinstance(gold, list | dict) for gold in golds):
        raise DataError(
            f"task {task.id!r}: gold {canonical(task.gold)[:80]} is neither text nor a list of texts",
            hint="the scorer `json` compares objects",
        )
    return texts


def boxed(text: str) -> str:
    r"""What the last `\boxed{}` with something in it holds, after those beside it, as in `\boxed{1} or \boxed{2}`;
    empty where there is none."""
    found, begin = "", len(text)
    for start, end, inside in boxes(text):
        between = text[end:begin]
        if inside and not found:
            found, begin = inside, start
        elif inside and _BESIDE.fullmatch(between[:_BOXES]):
            found, begin = f"{inside}{between.replace('$', ' ')}{found}", start
        elif inside:
            break
    return found


def boxes(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and content of boxes, the last one first."""
    for match in [*_BOX.finditer(text)][: -_BOXES - 1 : -1]:
        inside = text[match.end() : match.end() + _BOX_CHARS]
        if inside.startswith("{"):
            content = _in_braces(inside)
            yield match.start(), match.end() + len(content) + 2, content.strip()
        elif inside.split():
            content = inside.split("$")[0].split()[:1]
            yield match.start(), match.end() + len("".join(content)), "".join(content)


def _in_braces(text: str) -> str:
    """What stands between the brace at the start and its partner; to the end where that is missing."""
    depth = 0
    for place, sign in enumerate(text):
        if text[place - 1 : place] == "\\":
            continue
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return text[1:place]
    return text[1:]


def pairs_up(items: Sequence[Any], others: Sequence[Any], same: Callable[[Any, Any], bool]) -> bool:
    """Whether items and as many others can be paired so that the two of each pair are the same: each item takes the
    first one that fits."""
    left = list(others)
    for item in items:
        place = next((place for place, other in enumerate(left) if same(item, other)), None)
        if place is None:
            return False
        del left[place]
    return True


def shorten(text: str, limit: int = FEEDBACK_CHARS) -> str:
    """At most `limit` characters; the middle of a longer text is left out."""
    if len(text) <= limit:
        return text
    head = (limit - 5) // 2
    return f"{text[:head]} ... {text[len(text) - (limit - 5 - head) :]}"


def graded(hard: bool, soft: float, feedback: str) -> Score:
    """A score whose feedback is kept short; full marks say `correct`."""
    return Score(hard=float(hard), soft=soft, feedback="correct" if hard and soft >= 1 else shorten(feedback))


def in_words(said: str, patterns: Sequence[str], instead: str) -> str:
    """What feedback may say: `said`, or `instead` where there is nothing said or where that would tell a pattern."""
    return instead if not said.strip() or any(pattern in said for pattern in patterns) else said.strip()


def expected(golds: Sequence[str], got: str, note: str = "") -> str:
    """The usual feedback: what was right, what came instead, and what else there is to say."""
    right = " or ".join(shorten(gold, 180) for gold in golds[:3])
    text = f"expected: {right}{_GOT}{shorten(got, 180) if got.strip() else 'nothing'}"
    return f"{text}; {note}" if note else text


def make_scorer(spec: str | Mapping[str, JsonValue], where: str, judge: Callable[[], Judge] | None = None) -> Scorer:
    """The scorer a config asks for: a name, or a mapping of `name` and the scorer's own settings.
    Raises ConfigError: the name is unknown or missing, or a setting is wrong."""
    options = {"name": spec} if isinstance(spec, str) else dict(spec)
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(f"{where}: a scorer needs a name, found {name!r}", hint="as in `name: exact`")
    return cast(Scorer, find("scorers", name).from_options(options, f"{where} {name!r}", judge))
