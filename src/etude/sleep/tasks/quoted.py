"""Whether words that a model quotes are a user's own: what a user pasted, and what a tool or a page said, is not.

Nothing says where a mail begins and ends that stands in a prompt as it came: `mails` guesses, and so what it finds
casts a doubt, and no more."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

from etude.envs.splits import fold
from etude.sleep.transcripts.sessions import Turn

_MARK = "\ufffc"
"""Stands for what was pasted: a sign that nobody types."""
_SHORTEST = 4
"""Columns of a terminal that a quote takes up: a sign of Chinese or Japanese, which says as much as a syllable, takes
two."""
_PASTED = re.compile(
    r"^(?P<fence>```+|~~~+)[\s\S]*?(?:^(?P=fence)|\Z)"
    r"|<(?P<tag>[A-Za-z][\w-]*)(?:\s[^<>]*)?>[\s\S]*?</(?P=tag)>|^[ \t]*(?P<line>>).*$",
    re.MULTILINE,
)
_HEADER = re.compile(
    r"\s*(?:from|to|cc|subject|date|sent|von|an|betreff|datum|gesendet|de|para|objet|asunto|da|oggetto)\s*:\s*\S.*",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"\s*(?:-{2,}\s*(?:original message|forwarded message|weitergeleitete nachricht|message transféré).*"
    r"|(?:on|am|le|el|il)\b.{4,90}\b(?:wrote|schrieb|écrit|escribió|ha scritto)\b.{0,60}:)\s*",
    re.IGNORECASE,
)
_HANDED_OVER = re.compile(
    r"(?:.*(?<!\bi )\b(?:said|says|wrote|writes|schrieb|schreibt|sagte?|écrit|escribió|scritto)\b.*"
    r"|(?:.*\b(?:please|can you|could you|you to|bitte|kannst du)\s+)?(?:summari[sz]e|translate|reply to|answer"
    r"|rephrase|proofread|shorten|fasse?|übersetze?|antworte auf|beantworte|résume[rz]?|tradui\w+|répond\w*|resum\w+"
    r"|traduc\w+|respond\w+|riassumi|rispondi)(?:\s+(?:this|that|the|these|it|him|her|them|my|our|diese?[mnrs]?|das|die|den"
    r"|folgende\w*|ce(?:tte)?|la|le|este|esta|quest[oa])\b.*)?)\s*:\s*",
    re.IGNORECASE,
)
"""A line of the user with what is to be read, or what somebody said, below."""
_LINE = 200
"""Characters of a line that are looked at."""
_CHAT = re.compile(r"\s*\[?\d\d?[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?\]?[ ,-]*\w[\w .]{0,40}:\s+\S.*", re.IGNORECASE)
_GREETING = re.compile(
    r"\s*(?:dear|hi|hello|hey|good (?:day|morning|afternoon|evening)|to whom|liebe[rs]?|sehr geehrte[rs]?|hallo"
    r"|guten (?:tag|morgen)|bonjour|ch(?:er|ère)s?|madame|monsieur|hola|estimad[oa]s?|querid[oa]s?|buongiorno"
    r"|gentil[ei]|car[oai])\b[^\n.?:;]{0,50}[,!:]?\s*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\s*(?:(?:kind|best|warm) (?:regards|wishes)|regards|best|cheers|(?:yours )?(?:sincerely|faithfully|truly)"
    r"|sincerely yours|(?:many )?thanks(?: a lot| in advance)?|thank you|danke|mit freundlichen grüßen"
    r"|(?:viele|liebe|beste|herzliche|schöne) grüße|cordialement|bien à vous|merci|(?:un )?saludos?|gracias"
    r"|cordiali saluti|grazie)\b[^\n]{0,20}",
    re.IGNORECASE,
)


def in_own_words(quote: str, turns: Iterable[Turn]) -> bool:
    """Whether the user typed these words in one of the turns, case and white space apart. Blocks of code, quoted
    lines and what stands between tags were pasted."""
    wanted = fold(quote)
    width = sum(1 + (east_asian_width(sign) in "FW") for sign in wanted)
    return width >= _SHORTEST and any(wanted in fold(_own_words(turn)) for turn in turns)


def _own_words(turn: Turn) -> str:
    """What the user typed, with a mark in the place of what was pasted, and of a quoted line its `>`."""
    return _PASTED.sub(lambda found: found["line"] or _MARK, turn.prompt.replace(_MARK, " "))


def pasted(turn: Turn) -> tuple[str, ...]:
    """What was pasted."""
    return tuple(found[0] for found in _PASTED.finditer(turn.prompt))


def mails(turn: Turn) -> tuple[str, tuple[str, ...]]:
    """What the user typed beyond doubt, and the mails in it, and the like: from their head, a greeting, or the line
    that hands them over, to the signature, or the end of the prompt where there is none. A head begins none where
    what follows is quoted: then the mail is what was pasted. A greeting begins none where there is no other text."""
    lines, typed, found, at = _own_words(turn).splitlines(), list[str](), list[str](), 0
    while at < len(lines):
        headed = _is_headed(lines, at)
        end = at + 1
        if headed or _GREETING.fullmatch(lines[at]):
            end = next((place for place in range(end, len(lines)) if _CLOSING.fullmatch(lines[place])), len(lines))
            end = next((place for place in range(end, len(lines)) if not lines[place].strip()), len(lines))
            if headed or any(line.strip() for line in lines[:at] + lines[end:]):
                found.append("\n".join(lines[at:end]))
                at = end
                continue
        typed.append(lines[at])
        at += 1
    return "\n".join(typed), tuple(found)


def _is_headed(lines: Sequence[str], at: int) -> bool:
    """Whether a mail begins with a line, whatever it says in it."""
    head = all(_HEADER.fullmatch(line) for line in (*lines[at : at + 2], "")[:2])
    head = head or any(form.fullmatch(lines[at]) for form in (_BEGINS, _CHAT))
    if not head and (at == 0 or _HANDED_OVER.fullmatch(lines[at - 1][-_LINE:]) is None):
        return False
    return not _is_quoted([line.strip() for line in lines[at + head :] if not _HEADER.fullmatch(line)])


def _is_quoted(lines: Sequence[str]) -> bool:
    """Whether a text begins with what is quoted and all else stands apart below. One with quotes in between may be an
    answer that somebody else wrote."""
    quoted, last = (
        (_MARK, ">"),
        next((at for at, line in enumerate(lines) if line not in (_MARK, ">", "")), len(lines)),
    )
    above, below = lines[:last], lines[last:]
    apart = not below or above[-1:] != [">"]
    return apart and any(above) and not any(line in quoted for line in below)
