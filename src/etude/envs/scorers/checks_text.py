"""What checks see in the text of an answer: its sections, its sources, whether it refuses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from etude.envs.splits import fold

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_BOLD = re.compile(r"[ \t]{0,3}(\*\*|__)([^*_]+)\1[ \t]*:?[ \t]*$")
_LABEL = re.compile(r"[ \t]{0,3}([^:]{1,80}):[ \t]*$")
_BOLD_LEVEL, _LABEL_LEVEL = 7, 8
"""Behind the six levels of Markdown."""

_DECORATION = re.compile(r"^[\W_]+|[\s*_:`#]+$")
_NUMBER = re.compile(r"^(?:\d{1,3}|[a-z])[.)]\s+")
_ASIDE = re.compile(r"\s*\([^()]*\)$")

_LINK = re.compile(r"(!?)\[[^\[\]\n]{0,300}\]\(([^()\s]{1,2000})(?:[ \t][^()\n]{0,300})?\)")
_NUMBERED = re.compile(r"\[(\d{1,4})\]")
_PAGE = re.compile(r"(?<![\w/.-])(?:wiki|people)/(?:[\w-]+[./])*[\w-]+")

_REFUSAL_CHARS = 600
"""A longer answer says more than that it refuses."""
_HEADING_CHARS = 200
"""A longer line is not a heading."""
_EXCUSE = (
    r"(?:(?:(?:i'm|i am)(?: very| so)? sorry|sorry|unfortunately|i apologi[sz]e|as an ai\b[^,.]{0,40})[,.:;]? *)"
    r"*(?:(?:but|however)[,]? *)?"
)
_UNABLE = (
    r"i ?(?:can't|cannot|can not|won't|will not|(?:am|'m) (?:unable|not able)|(?:must|have to) decline)\b"
    r"(?! (?:wait|help but|stress enough))"
)
_REFUSAL = re.compile(rf"{_EXCUSE}{_UNABLE}|as an ai\b[^.]{{0,60}}\b{_UNABLE}")


@dataclass(frozen=True)
class Heading:
    """A heading of an answer."""

    heading: str
    filled: bool
    """Whether there is a line of text below it, in it or in one of its subsections."""
    markdown: bool
    """Whether it is a heading of Markdown (`## Risks`), not a line in bold or one that ends with a colon."""


def parts(text: str) -> list[Heading]:
    """The headings of a text, in their order; those in fenced code are none.

    A heading is a line that begins with one to six `#` and a blank, a line that is bold as a whole, or a line of at
    most 80 characters that ends with a colon and has no other one; none has more than 200.
    """
    found: list[tuple[str, int, bool]] = []
    open_levels: list[tuple[int, int]] = []
    for line, is_code in _lines(text):
        heading = None if is_code else _heading(line)
        if heading is None:
            if line.strip():
                for at, _ in open_levels:
                    found[at] = (*found[at][:2], True)
                open_levels.clear()
            continue
        words, level = heading
        open_levels = [each for each in open_levels if each[1] < level]
        open_levels.append((len(found), level))
        found.append((words, level, False))
    return [Heading(words, filled, level < _BOLD_LEVEL) for words, level, filled in found]


def title(heading: str) -> str:
    """What a heading says, whatever it looks like: without signs and emphasis around it, without a number in front, a
    colon or a remark in parentheses behind, and without differences in case and white space."""
    words = fold(heading)
    for _ in range(2):
        words = _NUMBER.sub("", _DECORATION.sub("", _DECORATION.sub("", words)))
    return _ASIDE.sub("", words)


def citations(text: str) -> set[str]:
    """The sources that a text cites, each once: targets of Markdown links, numbers in brackets, and pages such as
    `wiki/some-page` or `people/some-name`. Pictures and code cite nothing."""
    prose = "\n".join(_INLINE_CODE.sub("", line) for line, is_code in _lines(text) if not is_code)
    links = {match[2] for match in _LINK.finditer(prose) if not match[1]}
    rest = _LINK.sub(" ", prose)
    return links | {f"[{number}]" for number in _NUMBERED.findall(rest)} | set(_PAGE.findall(rest))


def refuses(text: str) -> bool:
    """Whether a text of fewer than 600 characters begins with a refusal, in English."""
    if len(text.strip()) >= _REFUSAL_CHARS:
        return False
    said = " ".join(re.sub("[#>*_]", "", text).replace("\u2019", "'").casefold().split())
    return _REFUSAL.match(said.lstrip("- ")) is not None


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is code; fences are."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if not fence and mark:
            fence = mark[1]
            yield line, True
        elif fence:
            yield line, True
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            yield line, False


def _heading(line: str) -> tuple[str, int] | None:
    """What a heading says, and its level; None for a line that is none."""
    if len(line) > _HEADING_CHARS:
        return None
    if match := _ATX.match(line):
        return _CLOSING.sub("", match[2] or "").strip(), len(match[1])
    if match := _BOLD.match(line):
        return match[2].strip(), _BOLD_LEVEL
    if match := _LABEL.match(line):
        return match[1].strip(), _LABEL_LEVEL
    return None
