"""What a model said, without what it thought, or why it said nothing."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from etude.records.messages import Reply
from etude.records.tasks import REFUSED, Ended

_NAME = (
    r"(?:(?:[^\W_]{1,20}[:_-]){0,2}(?:ant|deep)?"
    r"(?:think(?:ing)?|thoughts?|reasoning|monologue|scratch_?pad|cot|working_out)"
    r"(?:[_-](?:process|block|content|steps?|fast(?:er)?|never_used_\w{1,40}))?)"
)
_MARK = re.compile(
    r"(?=[<\[◁][/\\|｜\w])(?:"  # most of a text is passed over by its first letters
    r"(?P<begin>\[THINK\]|◁think▷|<(?:unused|ctrl)94>|<\|channel>thought|<\|inner_prefix\|>)"
    r"|(?P<end>\[/THINK\]|◁/think▷|<(?:unused|ctrl)95>|<channel\|>|<\|inner_suffix\|>"
    r"|<\|end\|>\s{0,9}(?:<\|begin\|>assistant\s{0,9})?<\|content\|>)"
    r"|<[|｜]?(?:(?P<slash>[/\\]\s?|end[_▁](?:of[_▁])?)|(?:begin|start)[_▁](?:of[_▁])?)?"
    rf"[|｜]?{_NAME}(?:[_▁](?:(?P<last>end)|begin|start))?(?:\s[^<>]{{0,200}}?)?[|｜]?(?P<open>(?P<empty>/)?>)"
    r"|<\|?(?P<answered>[/\\]{1,2}\s?)?(?P<answer>(?:final[_-])?answers?(?:\s[^<>]{0,200}?)?\|?(?:(?P<void>/)?>|(?(answered)\Z|(?!))))"
    r"|<\|(?:begin|(?P<boxed>end))_of_(?P<box>box)\|>"
    r"|(?P<channel><\|channel\|>\s{0,9}analysis[^<]{0,100}<\|message\|>)"
    r"|(?P<final><\|channel\|>\s{0,9}(?:final|commentary)[^<]{0,100}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"|\[BEGIN FINAL RESPONSE\]))",
    re.IGNORECASE,
)
"""Where thoughts begin and end: tags with their many names, as `<think>`, `<|begin_of_thought|>` and `<think_start>`;
the marks of Magistral, Kimi, MedGemma, Gemma, Apertus, Solar, the channels of gpt-oss, Apriel; and answers, also in
GLM's box. Every part is bounded, so that a search takes time in proportion to the text."""
_IN_WORDS = (
    ("analysis", "assistantfinal"),  # gpt-oss behind a server that drops special tokens
    ("thinking...", "...done thinking."),  # the command `ollama run`
    ("here is my thought process:", "here is my response:"),  # Granite
    ("here's my thought process:", "here's my response:"),
    ('<details type="reasoning"', "</details>"),  # Open WebUI
    ("think\n", "<|im_start|>answer"),  # s1
    ("/think\n", "<|im_start|>assistant"),  # HyperCLOVA X
    ("/think\n", "\nassistant\n"),  # the same behind a server that drops special tokens
)
"""How a reply begins that has its thoughts in plain words, and how they end. Without the end it is an answer."""
_TAIL = re.compile(
    r"(?:\s*(?:<[|｜](?!end_of_box)[\w▁]{1,40}[|｜]>|</s>|<end_of_turn>|<turn\|>|<(?:\w{1,9}:)?eos>|\[e~\["
    r"|\[END FINAL RESPONSE\])){1,4}\Z",
    re.IGNORECASE,
)
"""Marks behind what is said; servers that know a model's marks for the end drop them."""
_BLANK = re.compile(
    rf"(?:[\s\ufeff\u200b]|(?!{_MARK.pattern})(?:<[|｜][\w▁]{{1,40}}[|｜]>(?:assistant|model)?(?![ ,.;:])"
    r"|<s>(?![^<]*</s>\s*\S)|<bos>|\[BOS\]|<(?:\|turn|start_of_turn)>model|\]~b\]ai))*",
    re.IGNORECASE,
)
"""What stands before everything, with the marks by which a template begins a turn."""
_WRAPPED = re.compile(r"<(response|solution|output)>((?:(?!<\1>).)*)</\1>", re.DOTALL | re.IGNORECASE)
"""How some models write what they say behind their thoughts."""
_NEXT_TURN = re.compile(
    r"<(?:\|(?:im_end|endoftext|eot_id|end|user_end)\||/s|end_of_turn|turn\|)>\s*"
    r"<(?:\|(?:im_start|start_header_id|start|user|endoftext)\||start_of_turn|\|turn)>",
    re.IGNORECASE,
)
"""Where a model goes on with a turn that is not its own, at a server that does not know its mark for the end."""
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*(.*)$", re.MULTILINE)
_QUOTES = frozenset("\"'`“”‘’«»„")
_IN_CODE = _QUOTES | frozenset("([{=/+|\\")
"""What stands right before a tag in code, as in a pattern."""
_NAMING = re.compile(r"[ \t]+(?:tags?|and|or|elements?|markers?|blocks?)\b", re.IGNORECASE)
_HOLDING = re.compile(r"(?!s\b|-[^\W\d])[-+−~≈.$€£¥*\"“„«(\[{\\]{0,3}[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""What stands right behind a tag that opens an answer: a named one has a blank or the rest of a word behind it, as in
`<answer>-tag`, in Chinese, Japanese and Korean also the next word."""
_NOTHING = frozenset(("", "...", "…", "and", "or", "&", ","))
"""What stands between tags that are only named, as in `<answer> and </answer>`."""
SERVER = (
    "start the server without its reasoning parser (vLLM and SGLang: --reasoning-parser; llama.cpp: "
    "--reasoning-format none), or switch thinking off"
)
"""What to do where all that a model wrote stands in another field than its answer."""

CUT_OFF = "the reply was cut off at the token limit"
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
    ended: Ended | None = None
    """How it ended, where not by itself."""


def said_in(reply: Reply, limit: int) -> Utterance:
    """What a reply says. `limit` is the most tokens that it could have."""
    text = without_thoughts(reply.text)
    if reply.finish == "refusal":
        return Utterance(text or "", REFUSED, "refused")
    cut = cut_off_at(limit) if reply.finish == "length" else ""
    problem = "" if text else _silence(reply, cut)
    if text is None:
        problem = f"{cut}, within its thoughts" if cut else UNENDED
    return Utterance(text or "", problem, "cut off" if cut else "empty" if problem else None)


def cut_off_at(limit: int) -> str:
    """That a reply of the target was cut off, with the setting that says where."""
    return f"{CUT_OFF} (target.max_output_tokens = {limit})"


def _silence(reply: Reply, cut: str) -> str:
    if cut:
        return f"{cut}, within its thoughts" if reply.text_in or reply.text.strip() else f"{cut}, before any text"
    if reply.text_in:
        return f"the reply has no `content`, its text stood in `{reply.text_in}`: {SERVER}"
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
    said = None if end is None else _unwrapped(text[end:])
    wrapped = _WRAPPED.fullmatch(said) if said and end else None
    return wrapped[2].strip() if wrapped else said


def last_answer(text: str, *, cut: bool) -> str | None:
    """What the last pair of <answer> and </answer> holds, or what follows an <answer> without an end; the whole text
    where there is neither. None where the answer was cut off in the midst. Tags that a sentence only names, and those
    in quotes or in a line of code, do not count where there are others."""
    marks = list(_marks(text))
    outside = set(_outside(marks, _code(text)))
    said = [mark for mark in marks if (mark in outside or _is_alone(text, mark)) and not _is_named(text, mark)]
    found, left_open = _answers(text, said)
    if left_open is not None and found and _is_within(text, left_open):
        left_open = None
    if left_open is not None and not any(mark.kind == "answered" and mark.start > left_open.start for mark in marks):
        return None if cut else _without_draft(text[left_open.end :].strip())
    found = found or _answers(text, marks)[0]
    meant = [answer for answer in found if answer.lower() not in _NOTHING]
    return _without_draft((meant or found or [text.strip()])[-1])


def _without_draft(answer: str) -> str:
    """An answer that begins with a thought, without that."""
    first = next(_marks(answer), None)
    begins = first is not None and first.kind == "open" and first.start == 0
    return (without_thoughts(answer) if begins else None) or answer


def _answers(text: str, marks: Iterable[_Mark]) -> tuple[list[str], _Mark | None]:
    """What stands between tags, and the tag of an answer that has no end; an opening tag at the very end is meant to
    close. A thought that follows an answer holds drafts. Pairs in quotes are left out where there are others."""
    opened: _Mark | None = None
    found: list[str] = []
    quoted: list[str] = []
    before, length = 0, len(text.rstrip())
    for mark in marks:
        if mark.kind == "open" and opened is None:
            before = len(found)
        elif mark.kind == "close" and opened is None and before:
            del found[before:]
        elif opened is not None and (mark.kind == "answered" or (mark.kind == "answer" and mark.end >= length)):
            pair = _Mark("answer", opened.start, mark.end)
            (quoted if _is_quoted(text, pair) else found).append(text[opened.end : mark.start].strip())
            opened = None
        elif mark.kind == "answer":
            opened = mark
    return found or quoted, opened


def _is_alone(text: str, mark: _Mark) -> bool:
    """It begins or ends a line, as an answer in a fence does and an example in a line of code does not."""
    if mark.kind == "answered":
        return not text[mark.end : mark.end + 100].partition("\n")[0].strip()
    return not text[max(0, mark.start - 100) : mark.start].rpartition("\n")[2].strip()


def _is_within(text: str, mark: _Mark) -> bool:
    """Named in the midst of a sentence or in code, or with nothing behind it."""
    before = text[: mark.start].rstrip(" \t*")
    if text[mark.end :].strip() and (not before or before[-1] in "\n.:!?>"):
        return False
    return text[mark.start - 1] in _IN_CODE or _HOLDING.match(text, mark.end) is None


def _marks(text: str) -> Iterator[_Mark]:
    for found in _MARK.finditer(text):
        kind = found.lastgroup or ""
        if kind in ("answer", "box"):
            kind = "answered" if found["answered"] or found["void"] or found["boxed"] else "answer"
        elif kind == "open" and (found["slash"] or found["last"] or found["empty"]):
            kind = "empty" if found["empty"] else "close"
        yield _Mark({"begin": "open", "end": "close"}.get(kind, kind), *found.span())


def _is_named(text: str, mark: _Mark) -> bool:
    named = mark.kind == "answer" and _NAMING.match(text, mark.end) is not None
    return named or (mark.kind in ("answer", "answered") and _is_quoted(text, mark))


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
        elif kind == "empty" and (self.depth or mark.start == self._begin):
            self._close(mark.end, inside)
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
    """Without marks around it, unless there is nothing else."""
    text = _NEXT_TURN.split(text.strip(), maxsplit=1)[0].strip()
    tail = _TAIL.search(text, max(0, len(text) - 150))
    return text[_begin(text, 0) : tail.start() if tail else None].strip() or text
