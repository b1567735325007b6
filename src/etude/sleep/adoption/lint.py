"""What keeps a rule from being adopted without a person having read it.

Rules are made from transcripts, and a transcript holds whatever a web page or a tool said. A rule that passes says
how to work, in plain words; one that tells an agent to run, fetch, trust or hide something waits for a reader.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from etude.records import Record
from etude.redaction.redactor import Redactor
from etude.skill.fences import Fences
from etude.skill.lines import lines_of
from etude.skill.markers import looks_like_marker
from etude.sleep.adoption import lint_commands, lint_doubts, lint_speech
from etude.sleep.adoption.lint_english import strange
from etude.sleep.adoption.lint_signs import Sign
from etude.sleep.adoption.lint_words import ALWAYS, LANGUAGES, PROGRAMS, TOOLS, WORDS

__all__ = ["LONGEST", "MAX_CHARS", "Finding", "barred", "lint", "plain", "visible"]

MAX_CHARS = 500
"""More than a rule needs, and little enough to be read at a glance in a report."""

LONGEST = 4 * MAX_CHARS
"""Characters of a rule that are looked through; a longer one is not proposed."""

_EXCERPT = 60

_SPAN = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_COMMAND_SPAN = re.compile(
    rf"\A\s*(?:\$\s*)?(?:(?:{ALWAYS}|{PROGRAMS}|{TOOLS}|{LANGUAGES}|{WORDS})\s+\S|\./\S|[A-Z_]+=\S+\s+\S)"
    r"|[|;]\s*\w|&&|\$\(|>>|<\("
)


class Finding(Record):
    """Why a rule is not adopted by itself."""

    kind: str
    """In one word: command, address, path, secret, role, override, marker, hidden, script, blob, language or
    length."""
    what: str
    """The problem in words."""
    excerpt: str = ""
    """The place in the rule, at most 60 characters, without characters that do not show."""


_SIGNS = (*lint_commands.SIGNS, *lint_speech.SIGNS)
_LOADED = lint_commands.LOADED
_SEEN = (*_LOADED, *(sign._replace(harmless=None, strict=True) for sign in _SIGNS))
_BARRING = (
    *_LOADED,
    *(sign._replace(forbids=True) if sign.kind == "command" else sign for sign in _SIGNS if sign.bars),
)
"""A command may be forbidden, though that waits for a person as well."""
_ALWAYS_BARRED = frozenset({"hidden", "script", "marker", "secret"})
"""Kinds of what is found by other means than a sign."""

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL")
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN_LETTERS = re.compile(
    r"(?<=\w)(?:\*|\\|`|[\"“”„‚‘]|['’](?!(?:s|t|re|ve|ll|d|m)\b)|[·•‧∙⋅・]|</?[A-Za-z][^<>\n]{0,40}>){1,8}(?=\w)"
)
_READS_AS = dict(zip("013457$@¢€", "oieastsace", strict=True))
_POSING_SIGN = re.compile(
    r"(?<=[A-Za-z])[013457$@](?=[A-Za-z])|[$@¢€](?=[A-Za-z]{2})|(?<=[A-Za-z]{2})[013457$@](?!\w)"
)
"""Digits and signs that stand for letters: `p4ssword`."""
_LIKE_LATIN = frozenset("асеорхуѕіјһԁԛԝѵӏгвнмткАВЕКМНОРСТУХЅІЈονακιρυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Letters of other scripts that are drawn like Latin ones."""
_SHOWN_SPACES = frozenset("\n\r\t ")


def lint(text: str) -> tuple[Finding, ...]:
    """What a reader should look at in a rule, in a fixed order; none for one that may be adopted by itself."""
    size, text = len(text), text[:LONGEST]
    found = [*_hidden(text), *_code(text), *_found(text, _SEEN)]
    if not any(finding.kind == "command" for finding in found):
        found += _found(text, lint_commands.MENTIONS)
    found += _held(text)
    if not found:
        found += _doubted(text)
    if size > MAX_CHARS:
        found.append(Finding(kind="length", what=f"has {size} characters; at most {MAX_CHARS} are read at a glance"))
    return _once(found)


def barred(text: str) -> tuple[Finding, ...]:
    """Why a rule is not even proposed; empty when it is. It would have an agent run, fetch or change something, turn
    safeguards off, hide something, obey others than the user, or touch secrets: if a person wants that, a person can
    write it. Nor is one that is too long to be looked through. A rule that forbids a command is none of these, nor is
    one that names a program which only checks a project: these wait for a person."""
    head = text[:LONGEST]
    found = [finding for finding in (*_hidden(head), *_held(head)) if finding.kind in _ALWAYS_BARRED]
    found += _found(head, _BARRING)
    if len(text) > LONGEST:
        found.append(Finding(kind="length", what=f"has {len(text)} characters; at most {LONGEST} are looked through"))
    return _once(found)


def _once(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """One place for each thing that is wrong."""
    first: dict[tuple[str, str], Finding] = {}
    for finding in found:
        first.setdefault((finding.kind, finding.what), finding)
    return tuple(first.values())


def _found(text: str, signs: Sequence[Sign], *more: str) -> Iterator[Finding]:
    """By sign, in the text as it stands or as it reads, and in more views of it."""
    folded = unicodedata.normalize("NFKC", text)
    bare = _unmarked(folded)
    for sign in signs:
        for view in dict.fromkeys((text, folded, bare, *more)):
            if place := sign.find(view):
                yield Finding(kind=sign.kind, what=sign.what, excerpt=plain(place))
                break


def _doubted(text: str) -> Iterator[Finding]:
    """What is not plainly harmless, though nothing says that it does harm."""
    yield from _found(text, lint_doubts.SIGNS, _POSING_SIGN.sub(lambda sign: _READS_AS[sign[0]], _unmarked(text)))
    if (found := strange(text)) is not None:
        what, place = found
        yield Finding(kind="language", what=what, excerpt=plain(place))


def _unmarked(text: str) -> str:
    """Without what leaves a word readable when it stands in it: strokes through letters and frames around them,
    emphasis, backslashes, backticks, quotation marks, tags, dots of other scripts. The full stop of Chinese is
    a dot, as it is in names of hosts."""
    decomposed = unicodedata.normalize("NFD", text).replace("。", ".")
    shown = "".join(char for char in decomposed if unicodedata.category(char) not in {"Mn", "Me"})
    return _BETWEEN_LETTERS.sub("", shown)


def _held(text: str) -> Iterator[Finding]:
    if Redactor().redact(text) != text:
        yield Finding(kind="secret", what="holds what looks like a credential")
    if looks_like_marker(text):
        yield Finding(kind="marker", what="holds a region marker")


def plain(text: str, limit: int = _EXCERPT) -> str:
    """The text on one line, without characters that do not show, cut at `limit` characters."""
    shown = " ".join("".join(char for char in text if char in _SHOWN_SPACES or not _is_hidden(char)).split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def visible(text: str) -> str:
    """The text with its lines, and `<U+202E>` for each character that does not show."""
    return "".join(f"<U+{ord(char):04X}>" if char == "\r" or _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    """Control and format characters, among them those that turn the direction of text, lone surrogates, private use,
    and letters and marks that are drawn as nothing."""
    if char in _SHOWN_SPACES:
        return False
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or _is_blank_letter(char)


def _is_blank_letter(char: str) -> bool:
    code = ord(char)
    return code in {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0} or (
        0x180B <= code <= 0x180F or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    )


def _hidden(text: str) -> Iterator[Finding]:
    hidden = next((char for char in text if _is_hidden(char)), None)
    if hidden is not None:
        yield Finding(kind="hidden", what=f"holds a character that does not show, U+{ord(hidden):04X}")
    words = _WORD.findall(text)
    others = "".join(word for word in words if _scripts(word) & {"CYRILLIC", "GREEK"})
    posing = any(_scripts(word) == {"LATIN"} for word in words) and set(others) <= _LIKE_LATIN
    for word in words:
        if len(_scripts(word)) > 1 or _is_disguised(word) or (posing and len(word) > 1 and set(word) <= _LIKE_LATIN):
            yield Finding(kind="script", what="writes a word in look-alike letters", excerpt=plain(word))
            return


def _scripts(word: str) -> set[str]:
    names = [unicodedata.name(char, "") for char in word]
    return {script for name in names if (script := next((one for one in _SCRIPTS if name.startswith(one)), ""))}


def _is_disguised(word: str) -> bool:
    """Whether letters stand for others: mathematical and full-width ones, small capitals, phonetic signs."""
    return any(
        0x250 <= ord(char) <= 0x2AF
        or 0x1D00 <= ord(char) <= 0x1DBF
        or unicodedata.name(char, "").startswith(("FULLWIDTH", "MATHEMATICAL", "LATIN LETTER SMALL CAPITAL"))
        for char in word
    )


def _code(text: str) -> Iterator[Finding]:
    fences = Fences()
    outside: list[str] = []
    for line in lines_of(text):
        if not fences.read(line.text):
            outside.append(line.text)
    if len(outside) < len(lines_of(text)):
        yield Finding(kind="command", what="holds fenced code, which an agent may run")
    for span in _SPAN.finditer("\n".join(outside)):
        if _COMMAND_SPAN.search(span[2]):
            yield Finding(kind="command", what="holds code that looks like a command", excerpt=plain(span[2]))
            return
