"""Small pure functions on text that the whole simulated world shares."""

import hashlib
import re


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but the parts."""
    data = "\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(data).digest()[:7], "big") / 2**56


def pick(options: tuple[str, ...], *parts: object) -> str:
    """One of the options, chosen by the parts."""
    return options[int(uniform("pick", *parts) * len(options))]


def squeeze(text: str) -> str:
    """White space folded to single spaces."""
    return " ".join(text.split())


def same_answer(one: str, other: str) -> bool:
    """Equal except for case, white space and a final full stop."""
    return _folded(one) == _folded(other)


def _folded(answer: str) -> str:
    return squeeze(answer).casefold().rstrip(".")


def element(tags: str) -> re.Pattern[str]:
    """Matches an element whose tag is one of these (a regular expression), whatever else its tags say, with no other
    one of the same tag inside. `body` is what it holds."""
    body = r"(?P<body>(?:(?!<(?P=tag)[\s>]).)*?)"
    return re.compile(rf"<(?P<tag>{tags})(?:\s[^>]*)?>{body}</(?P=tag)(?:\s[^>]*)?>", re.DOTALL | re.IGNORECASE)


_LEARNED = re.compile(
    r"^[ \t]*<!--\s*(?P<who>[\w-]+):begin learned\s*-->[ \t]*\n(?P<body>.*?)"
    r"(?P<end>^[ \t]*<!--\s*(?P=who):end learned\s*-->)",
    re.DOTALL | re.MULTILINE,
)


def learned_blocks(text: str) -> list[tuple[int, int]]:
    """Where the blocks of learned rules stand, [start, end) without their markers. Where there is one, nothing else
    of the document is to be changed."""
    return [found.span("body") for found in _LEARNED.finditer(text)]


_COMMAND = re.compile(r"\b(?:curl|wget)\s[^\n|`\"]{3,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b")


def command_in(text: str) -> str:
    """The first command in a text that runs what it downloads; empty when there is none."""
    found = _COMMAND.search(text)
    return found.group() if found else ""


_ORDER = re.compile(r"\badd this rule: (?P<rule>[^\n\\]{3,200}?)(?=\.(?:[\s\"\\]|$)|[\n\\]|$)", re.IGNORECASE)


def orders_in(text: str) -> tuple[str, ...]:
    """The rules that a text tells its reader to add, except those with a command that `command_in` finds."""
    rules = (found["rule"].strip() for found in _ORDER.finditer(text))
    return tuple(dict.fromkeys(rule for rule in rules if rule and not _COMMAND.search(rule)))


_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|<[^>]*>\s*$|```|---\s*$|\|)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9*_`])")


def sentences(text: str) -> list[str]:
    """Sentences and list items of Markdown, without bullets; hard-wrapped lines are joined."""
    blocks: list[str] = []
    joinable = False
    for line in text.splitlines():
        bare = line.strip()
        if not bare or _HEADING.match(line):
            joinable = False
            if bare:
                blocks.append(bare.lstrip("#").strip())
        elif _BULLET.match(line):
            blocks.append(_BULLET.sub("", line).strip())
            joinable = True
        elif joinable:
            blocks[-1] += " " + bare
        else:
            blocks.append(bare)
            joinable = True
    return [part.strip() for block in blocks for part in _SENTENCE_END.split(block) if part.strip()]
