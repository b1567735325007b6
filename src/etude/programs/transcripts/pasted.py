"""What a user's message holds that the user did not type: blocks of code, quoted lines, what stands between tags,
mails, chats, pages.

Nothing says where a mail begins and ends that stands in a prompt as it came: `mails` guesses, and so what it finds
casts a doubt, and no more."""

import re
from collections.abc import Iterator, Sequence

_MARK = "\ufffc"
"""Stands for what was pasted: a sign that nobody types."""
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
    r"\s*(?:-{2,}\s*(?:original message|forwarded message|weitergeleitete nachricht|ursprüngliche nachricht"
    r"|message transféré|message d['’]origine|mensaje original|messaggio originale).*|begin forwarded message:"
    r"|(?:on|am|le|el|il)\b.{4,90}\b(?:wrote|schrieb|écrit|escribió|ha scritto)\b.{0,60}:)\s*",
    re.IGNORECASE,
)
_READS = (
    r"(?:summari[sz]e|translate|reply to|answer|rephrase|proofread|shorten|fasse?|übersetze?|antworte auf|beantworte"
    r"|résume[rz]?|tradui\w+|répond\w*|resum\w+|traduc\w+|respond\w+|riassumi|rispondi)"
)
_TEXT = (
    r"(?:(?!for\b|of\b|in\b|each\b|every\b|all\b|my\b|our\b)[\w'’-]+\s+){0,2}"
    r"(?:e?-?mails?|letters?|messages?|articles?|texts?|tickets?|issues?|threads?|chats?|conversations?|comments?|reviews?"
    r"|feedback|posts?|transcripts?|pages?|outputs?|errors?|logs?|nachricht(?:en)?|brief|artikel|texte?|courriels?|lettre"
    r"|correo|mensaje|carta|testo|messaggio)"
)
_HANDED_OVER = re.compile(
    r"(?!\s*(?:when|whenever|if|for|in|before|after)\b)(?:"
    r".*(?<!\bi )\b(?:said|says?|wrote|writes|asked|schrieb|schreibt|sagte?|écrit|escribió|scritto)\b.*:"
    rf"|(?:.*\b(?:please|can you|could you|you to|bitte|kannst du)\s+)?{_READS}(?:\s+(?:this|that|the|these|it|him"
    r"|her|them|my|our|diese?[mnrs]?|das|die|den|folgende\w*|ce(?:tte)?|la|le|este|esta|quest[oa])\b.*)?:"
    rf"|.*\b{_READS}\b.*\b(?:below|following|folgende\w*|ci-dessous|siguiente|seguente)\b.*"
    rf"|.*\b(?:this|these|that|the|following|diese[mnrs]?|folgende\w*)\s+{_TEXT}\b.*:"
    r"|(?:here(?:['’]s| is| are)|this is|hier ist|voici|aquí está|ecco)\s+(?:an?|the|eine?|die|der|une?|la|le|el|il)"
    rf"\s+(?:{_TEXT}|(?:[\w'’-]+\s+)?(?:readme|documentation|manual|changelog))\b.*)\s*",
    re.IGNORECASE,
)
"""A line of the user with what is to be read, or what somebody said, below."""
_LINE = 200
"""Characters of a line that are looked at."""
_CHAT = re.compile(
    r"\s*(?:\[?(?:\d{1,4}[./-]\d\d?[./-]\d{1,4},? )?\d\d?[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?\]?[ ,-]*"
    r"\w[\w .]{0,40}:\s+\S.*"
    r"|\[\d\d?:\d\d(?: ?[ap]m)?\] *\w[\w .]{0,40}|\w[\w .]{0,40} +(?:\[\d\d?:\d\d(?: ?[ap]m)?\]|\d\d?:\d\d ?[ap]m):?"
    r"|@?\w[\w.-]{0,40} commented\b.{0,40})\s*",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\s*(?:dear|hi|hello|hey|good (?:day|morning|afternoon|evening)|to whom|liebe[rs]?|sehr geehrte[rs]?|hallo"
    r"|guten (?:tag|morgen)|bonjour|ch(?:er|ère)s?|madame|monsieur|hola|estimad[oa]s?|querid[oa]s?|buongiorno"
    r"|gentil[ei]|car[oai])\b[^\n.?:;]{0,50}[,!:]?\s*",
    re.IGNORECASE,
)
_REGARDS = (
    r"(?:kind|best|warm) (?:regards|wishes)|regards|(?:yours )?(?:sincerely|faithfully|truly)|sincerely yours"
    r"|mit freundlichen grüßen|(?:viele|liebe|beste|herzliche|schöne) grüße|cordialement|bien à vous|cordiali saluti"
)
_SIGNED = re.compile(rf"\s*(?:{_REGARDS})\b[^\n]{{0,20}}", re.IGNORECASE)
_CLOSING = re.compile(
    rf"\s*(?:{_REGARDS}|best|cheers|(?:many )?thanks(?: a lot| in advance)?|thank you|danke|merci|(?:un )?saludos?"
    r"|gracias|grazie)\b[^\n]{0,20}",
    re.IGNORECASE,
)


def own_words(prompt: str) -> str:
    """What the user typed, with a mark in the place of what was pasted, and of a quoted line its `>`."""
    return _PASTED.sub(lambda found: found["line"] or _MARK, prompt.replace(_MARK, " "))


def pasted(prompt: str) -> tuple[str, ...]:
    """What was pasted."""
    return tuple(found[0] for found in _PASTED.finditer(prompt))


def plan_of_agent(text: str) -> str:
    """A plan that an agent wrote and a program puts into a user's message, as what was pasted."""
    inside = text.replace("</plan>", "")
    return f"<plan>\n{inside}\n</plan>"


def mails(prompt: str) -> tuple[str, tuple[str, ...]]:
    """What the user typed beyond doubt, and the mails in it, and the like: from their head, a greeting, or the line
    that hands them over, to the signature, or the end of the prompt where there is none. Where none is found: all
    paragraphs but the first one, above regards."""
    lines = own_words(prompt).splitlines()
    spans = list(_mails(lines)) or _signed(lines)
    inside = {at for start, end in spans for at in range(start, end)}
    typed = "\n".join("" if at in inside else line for at, line in enumerate(lines))
    return typed, tuple("\n".join(lines[start:end]) for start, end in spans)


def _mails(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A head begins none where what follows is quoted: then the mail is what was pasted. A greeting begins none where
    there is no other text."""
    at = 0
    while at < len(lines):
        headed, end = _is_headed(lines, at), at + 1
        if headed or _GREETING.fullmatch(lines[at]):
            end = _end(
                lines, next((at for at in range(end, len(lines)) if _CLOSING.fullmatch(lines[at])), len(lines))
            )
            if headed or any(line.strip() for line in (*lines[:at], *lines[end:])):
                yield at, end
            else:
                end = at + 1
        at = end


def _signed(lines: Sequence[str]) -> list[tuple[int, int]]:
    last = max((at for at, line in enumerate(lines) if _SIGNED.fullmatch(line)), default=0)
    first = next((at for at, line in enumerate(lines[:last]) if line.strip()), last)
    begin = _end(lines[:last], first)
    return [(begin, _end(lines, last))] if begin < last else []


def _end(lines: Sequence[str], at: int) -> int:
    """The end of the paragraph of a line."""
    return next((place for place in range(at, len(lines)) if not lines[place].strip()), len(lines))


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
    quoted = (_MARK, ">")
    last = next((at for at, line in enumerate(lines) if line not in (*quoted, "")), len(lines))
    above, below = lines[:last], lines[last:]
    return any(above) and (not below or above[-1] != ">") and not any(line in quoted for line in below)
