"""What a model said, without what it thought, or why it said nothing."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from etude.records.messages import Reply

_NAME = (
    r"(?:think(?:ing(?:_process)?)?|thought_process|thoughts?|chain_of_thought|reasoning(?:_content)?"
    r"|scratch_?pad|(?:inner_)?monologue)"
)
_MARK = re.compile(
    r"(?=[<\[◁][/\\|\w])(?:"  # most of a text is passed over by its first letters
    r"(?P<begin>\[THINK\]|◁think▷|<\|?(?:begin|start)_of_(?:thought|thinking)\|?>|<\|?think(?:ing)?_start\|?>"
    r"|<\|START_THINKING\|>|<unused94>|<\|channel>thought)"
    r"|(?P<end>\[/THINK\]|◁/think▷|<\|?end_of_(?:thought|thinking)\|?>|<\|?think(?:ing)?_end\|?>"
    r"|<\|END_THINKING\|>|<unused95>|<channel\|>)"
    rf"|<\|?(?P<slash>/\s?)?\|?(?:{_NAME}|[\w-]{{1,20}}[:_]{_NAME})(?:\s[^<>]{{0,200}}?)?\|?(?P<open>(?P<empty>/)?>)"
    r"|<(?P<answered>[/\\]\s?)?(?P<answer>answer)(?:\s[^<>]{0,200})?(?:>|(?(answered)\Z|(?!)))"
    r"|<\|(?:begin|(?P<boxed>end))_of_(?P<box>box)\|>"
    r"|(?P<channel><\|channel\|>\s{0,9}analysis[^<]{0,100}<\|message\|>)"
    r"|(?P<final><\|channel\|>\s{0,9}(?:final|commentary)[^<]{0,100}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"|\[BEGIN FINAL RESPONSE\]))",
    re.IGNORECASE,
)
"""Where thoughts begin and end: tags with their many names, Magistral, Kimi, OpenThinker, Command A, MedGemma, Gemma,
the channels of gpt-oss, Apriel; and answers, also in GLM's box. Every part is bounded, so that a search takes time in
proportion to the text."""
_IN_WORDS = (
    ("analysis", "assistantfinal"),  # gpt-oss behind a server that drops special tokens
    ("thinking...", "...done thinking."),  # the command `ollama run`
    ("here is my thought process:", "here is my response:"),  # Granite
    ("here's my thought process:", "here's my response:"),
)
"""How a reply begins that has its thoughts in plain words, and how they end. Without the end it is an answer."""
_HEAD = re.compile(r"<\|(?:begin_of_solution|start_response)\|>\s*", re.IGNORECASE)
_TAIL = re.compile(
    r"\s*(?:<[|｜](?:end[\w▁]{0,20}|return|call|im_end|eot_id|eom_id)[|｜]>|</s>|<end_of_turn>|<eos>"
    r"|\[END FINAL RESPONSE\])\Z",
    re.IGNORECASE,
)
"""Marks around what stands behind the thoughts; servers that know a model's marks for the end drop them."""
_BLANK = re.compile(r"[\s\ufeff\u200b]*")
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*(.*)$", re.MULTILINE)
_QUOTES = frozenset("\"'`“”‘’«»„")
_NAMING = re.compile(r"[ \t]+(?:tags?|and|or|elements?|markers?|blocks?)\b", re.IGNORECASE)
_NOTHING = frozenset(("", "...", "…", "and", "or", "&", ","))
"""What stands between tags that are only named, as in `<answer> and </answer>`."""
SERVER = (
    "start the server without its reasoning parser (vLLM and SGLang: --reasoning-parser; llama.cpp: "
    "--reasoning-format none), or switch thinking off"
)
"""What to do where all that a model wrote stands in another field than its answer."""

UNENDED = "the reply is a thought that never ends"


class _Mark(NamedTuple):
    kind: str
    """`open`, `close`, `empty` (both at once), `channel` (of thoughts), `final`; `answer` and `answered` are the tags
    of an answer."""
    start: int
    end: int


class Utterance(NamedTuple):
    """What a model said."""

    text: str
    problem: str = ""
    """Why the reply is no answer; empty when it is one."""


def said_in(reply: Reply, limit: int) -> Utterance:
    """What a reply says. `limit` is the most tokens that it could have."""
    text = without_thoughts(reply.text)
    if reply.finish == "refusal":
        return Utterance(text or "", "the model refused")
    cut = cut_off_at(limit) if reply.finish == "length" else ""
    if text is None:
        return Utterance("", f"{cut}, within its thoughts" if cut else UNENDED)
    return Utterance(text, "" if text else _silence(reply, cut))


def cut_off_at(limit: int) -> str:
    """That a reply of the target was cut off, with the setting that says where."""
    return f"the reply was cut off at the token limit (target.max_output_tokens = {limit})"


def _silence(reply: Reply, cut: str) -> str:
    if cut:
        return f"{cut}, within its thoughts" if reply.text_in or reply.text.strip() else f"{cut}, before any text"
    if reply.text_in:
        return f"the `content` of the reply was empty, its text stood in `{reply.text_in}`: {SERVER}"
    if reply.tool_calls:
        return f"the reply calls the tool {reply.tool_calls[0].name!r}, and no tools were offered"
    return "the reply has thoughts and no answer" if reply.text.strip() else "the reply was empty"


def without_thoughts(text: str) -> str | None:
    """What stands behind the thoughts of a reply, without blanks around it; None where a thought never ends.

    Thoughts stand at the beginning. Behind text a tag is text, except for one that closes what was never opened:
    there, all before it was thought, as servers put the opening tag into the prompt. Tags in quotes, in fenced code
    and between <answer> and </answer> are text.
    """
    text = _behind_words(text)
    marks = [mark for mark in _marks(text) if not _is_quoted(text, mark)]
    end = _end_of_thoughts(text, list(_outside(marks, _code(text)))) if marks else 0
    return None if end is None else _unwrapped(text[end:])


def last_answer(text: str, *, cut: bool) -> str | None:
    """What the last pair of <answer> and </answer> holds, or what follows an <answer> without an end; the whole text
    where there is neither. None where the answer was cut off in the midst. Tags that a sentence only names do not
    count where there are others."""
    found, left_open = _answers(text, lambda mark: not _is_named(text, mark))
    if left_open is not None and not any(found):
        return None if cut else text[left_open:].strip()
    found = found or _answers(text, lambda mark: True)[0]
    meant = [answer for answer in found if answer.lower() not in _NOTHING]
    return (meant or found or [text.strip()])[-1]


def _answers(text: str, counts: Callable[[_Mark], bool]) -> tuple[list[str], int | None]:
    """What stands between tags, and where an answer begins that has no end; an opening tag at the very end is
    meant to close. A thought that follows an answer holds drafts."""
    opened: int | None = None
    found: list[str] = []
    before, length = 0, len(text.rstrip())
    for mark in _marks(text):
        if mark.kind == "open" and opened is None:
            before = len(found)
        elif mark.kind == "close" and opened is None and before:
            del found[before:]
        elif opened is not None and (mark.kind == "answered" or (mark.kind == "answer" and mark.end >= length)):
            found.append(text[opened : mark.start].strip())
            opened = None
        elif mark.kind == "answer" and counts(mark):
            opened = mark.end
    return found, opened


def _marks(text: str) -> Iterator[_Mark]:
    for found in _MARK.finditer(text):
        kind = found.lastgroup or ""
        if kind in ("answer", "box"):
            kind = "answered" if found["answered"] or found["boxed"] else "answer"
        elif kind == "open" and (found["slash"] or found["empty"]):
            kind = "close" if found["slash"] else "empty"
        yield _Mark({"begin": "open", "end": "close"}.get(kind, kind), *found.span())


def _is_named(text: str, mark: _Mark) -> bool:
    return _is_quoted(text, mark) or _NAMING.match(text, mark.end) is not None


def _is_quoted(text: str, mark: _Mark) -> bool:
    """In quotes of its own: one before it that closes a word is not the tag's."""
    start, end = mark.start, mark.end
    own = start > 0 and text[start - 1] in _QUOTES and not text[max(0, start - 2) : start - 1].isalnum()
    return own and text[end : end + 1] in _QUOTES


def _begin(text: str, at: int) -> int:
    """The next character that is not blank."""
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


def _behind_words(text: str) -> str:
    begin, lower = _begin(text, 0), text.lower()
    for opening, closing in _IN_WORDS:
        if lower.startswith(opening, begin) and len(lower) == len(text) and (at := lower.rfind(closing)) >= 0:
            return text[at + len(closing) :]
    return text


def _code(text: str) -> list[tuple[int, int]]:
    """Where fenced code is that is closed: a fence, and the next one without a language."""
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is not None and not fence[2].strip() and fence[1][0] == opened[1][0]:
            found.append((opened.start(), fence.end()))
            opened = None
        else:
            opened = fence
    return found


def _outside(marks: Iterable[_Mark], code: list[tuple[int, int]]) -> Iterator[_Mark]:
    at = 0
    for mark in marks:
        while at < len(code) and code[at][1] <= mark.start:
            at += 1
        if at == len(code) or mark.start < code[at][0]:
            yield mark


def _end_of_thoughts(text: str, marks: list[_Mark]) -> int | None:
    """Where what was said begins; None where a thought never ends."""
    thoughts = _Thoughts(text)
    for mark, inside in zip(marks, _inside_answer(marks), strict=True):
        thoughts.read(mark, inside)
    return thoughts.closed if thoughts.depth else thoughts.end


def _inside_answer(marks: list[_Mark]) -> list[bool]:
    """For each mark, whether the next tag of an answer closes one."""
    inside, closes = list[bool](), False
    for mark in reversed(marks):
        inside.append(closes)
        if mark.kind in ("answer", "answered"):
            closes = mark.kind == "answered"
    return inside[::-1]


class _Thoughts:
    """Reads the marks of a reply in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.depth = 0
        """Thoughts that are open."""
        self.closed: int | None = None
        """The end of the last closing mark since the outermost of them began: a thought may name the tag that opens
        one."""
        self._shown = 0
        """Opening tags that are text and not closed again."""
        self._ends(0)

    def read(self, mark: _Mark, inside: bool) -> None:
        kind = mark.kind
        if kind == "final":
            self.depth = 0
            self._ends(mark.end)
        elif kind == "empty" and mark.start == self._begin:
            self._ends(mark.end)
        elif kind == "channel" or (kind == "open" and (self.depth or mark.start == self._begin)):
            self.closed = self.closed if self.depth else None
            self.depth += 1
        elif kind == "open":
            self._shown += 1
        elif kind == "close":
            self._close(mark.end, inside)

    def _close(self, end: int, inside: bool) -> None:
        self.closed = end
        if self.depth:
            self.depth -= 1
        elif self._shown:
            self._shown -= 1
            return
        elif inside:
            return
        if not self.depth:
            self._ends(end)

    def _ends(self, end: int) -> None:
        self.end, self._begin, self._shown = end, _begin(self._text, end), 0


def _unwrapped(text: str) -> str:
    text = text.strip()
    head, tail = _HEAD.match(text), _TAIL.search(text, max(0, len(text) - 40))
    return text[head.end() if head else 0 : tail.start() if tail else None].strip()
