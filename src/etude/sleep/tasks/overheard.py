"""What a session holds that its user did not say: results of tools, names of files, pasted pages, mails. A rule with
words from there may be what a stranger asks for, whatever a model says of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from unicodedata import east_asian_width

from etude.envs.likeness import likeness
from etude.envs.splits import fold
from etude.programs.transcripts.pasted import mails, own_words, pasted
from etude.readable import cut_middle
from etude.sleep.tasks.mined import LONGEST_QUOTE, Quote, SessionRef
from etude.sleep.transcripts.sessions import Session, Turn

_RUN = 24
"""Columns of a terminal: texts that share as long a run of signs have it from one another."""
_SHORTEST = 12
_SHORTEST_QUOTE = 4
"""Columns of a terminal that a quote takes up: a sign of Chinese or Japanese, which says as much as a syllable, takes
two."""
_NEAR = 0.5
"""Likeness from which a text says what another one says, in other words."""
_NOT = re.compile(
    r"(?:\b(?<!why )(?:never|not|cannot|without|stop|avoid|nie|niemals|nicht|kein\w*|jamais|ne|nunca|no|mai|non)"
    r"|(?<!why do)n['’]t)(?:,[^,.;!?]{1,40},|, ever)?(?:\s+(?!(?:forget|hesitate|only|just)\b)\w+){0,2}\s+$"
)
"""At the end of what stands before a quote, in the same clause: "do not ever use tabs" does not say "use tabs"."""
_PIECE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])\s*|(?:\\n|[\n\r\t<>{}\"])+")


def in_own_words(quote: str, turns: Iterable[Turn]) -> bool:
    """Whether the user typed these words in one of the turns, case and white space apart. Blocks of code, quoted
    lines and what stands between tags were pasted."""
    wanted = fold(quote)
    width = sum(1 + (east_asian_width(sign) in "FW") for sign in wanted)
    return width >= _SHORTEST_QUOTE and any(_affirmed(wanted, fold(own_words(turn.prompt))) for turn in turns)


def _affirmed(wanted: str, said: str) -> bool:
    """Whether words stand in what was said, and not behind a "not", which would make them the opposite."""
    before = (said[: found.start()] for found in re.finditer(re.escape(wanted), said))
    return any(_NOT.search(text) is None for text in before)


def overheard(session: Session, texts: Iterable[str], shown: str, most: int) -> tuple[Quote, ...]:
    """Pieces of what the user did not say, of which one of the texts has its words.

    Args:
        texts: what was made of the session.
        shown: the session as it was shown to whoever made them.
        most: characters that were shown at most of what a tool was called with or gave back.
    """
    typed = [mails(turn.prompt)[0] for turn in session.turns]
    own = _Said([*typed, *(sentence for text in typed for sentence in _split(text))])
    parts = {part: _runs(part) for text in texts for part in _split(text)}
    pieces = dict.fromkeys(piece for piece in _pieces(session, most) if piece.lstrip("[") in shown)
    found = (piece for piece in pieces if any(_same(part, runs, piece, own) for part, runs in parts.items()))
    ref = SessionRef(source=session.source, id=session.id)
    return tuple(Quote(session=ref, text=piece[:LONGEST_QUOTE]) for piece in found)


def says_the_same(text: str, piece: str, own: Sequence[str]) -> bool:
    """Whether a text has words of the piece that stand in nothing the user said (`own`)."""
    return _same(text, _runs(text), piece, _Said(own))


class _Said:
    """What a user said."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.runs = frozenset[str]().union(*map(_runs, texts))


def _same(text: str, runs: frozenset[str], piece: str, own: _Said) -> bool:
    if (runs & _runs(piece)) - own.runs:
        return True
    near = likeness(text, piece)
    return near >= _NEAR and near > max((likeness(text, said) for said in own.texts), default=0.0)


def _pieces(session: Session, most: int) -> Iterator[str]:
    for turn in session.turns:
        for tool in turn.tools:
            for text in (tool.name, tool.arguments, tool.result):
                yield from _split(cut_middle(text, most))
        for text in (*pasted(turn.prompt), *mails(turn.prompt)[1]):
            yield from _split(text)


def _split(text: str) -> list[str]:
    return [part for part in map(str.strip, _PIECE.split(text)) if len(part) >= _SHORTEST]


@lru_cache(maxsize=1024)
def _runs(text: str) -> frozenset[str]:
    wide = "".join(sign + "\0" * (east_asian_width(sign) in "FW") for sign in fold(text))
    return frozenset(wide[at : at + _RUN] for at in range(len(wide) - _RUN + 1))
