"""What keeps a rule from being adopted without a person having read it.

Rules are made from transcripts, and a transcript holds whatever a web page or a tool said. A rule that passes says
how to work, in plain words; one that tells an agent to run, fetch, trust or hide something waits for a reader.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from skillgrad.records import Record
from skillgrad.skill.fences import Fences
from skillgrad.skill.lines import lines_of
from skillgrad.skill.markers import looks_like_marker
from skillgrad.store.redact import Redactor

__all__ = ["MAX_CHARS", "Finding", "barred", "lint", "plain", "visible"]

MAX_CHARS = 500
"""More than a rule needs, and little enough to be read at a glance in a report."""

_EXCERPT = 60
_SEARCHED = 4 * MAX_CHARS
"""A longer rule waits for its length alone; no pattern has to go through all of it."""

_PROGRAMS = (
    r"(?:apt|apt-get|awk|base64|bash|brew|bun|bunx|cargo|cat|chmod|chown|cmake|cp|crontab|curl|dd|deno|docker|echo"
    r"|env|eval|exec|export|find|gem|gh|git|go|gpg|gradle|grep|helm|iptables|java|kill|killall|kubectl|launchctl|ln|ls"
    r"|make|mkdir|mvn|mv|nc|ncat|node|npm|npx|nohup|openssl|osascript|perl|php|pip|pip3|pipx|pkill|pnpm|poetry"
    r"|powershell|pwsh|pytest|python|python3|rm|rsync|ruby|scp|sed|sh|socat|source|ssh|su|sudo|systemctl|tar|tee"
    r"|terraform|touch|uv|uvx|wget|xargs|yarn|zsh)"
)
_SPAN = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_COMMAND_SPAN = re.compile(rf"\s*(?:\$\s*)?(?:{_PROGRAMS}\s+\S|\./\S|[A-Z_]+=\S+\s+\S)|[|;]\s*\w|&&|\$\(|>>|<\(")


class Finding(Record):
    """Why a rule is not adopted by itself."""

    kind: str
    """In one word: command, address, path, secret, role, override, marker, hidden, script, blob or length."""
    what: str
    """The problem in words."""
    excerpt: str = ""
    """The place in the rule, at most 60 characters, without characters that do not show."""


class _Sign(NamedTuple):
    kind: str
    what: str
    pattern: re.Pattern[str]
    forbids: bool
    """A sentence that forbids it is a rule like any other: `Never change files without asking`."""

    def find(self, text: str) -> str | None:
        for match in self.pattern.finditer(text):
            begun = max(text.rfind(end, 0, match.start() + 1) for end in ".;:!?\n") + 1
            if not (self.forbids and _FORBIDDING.match(text[begun:])):
                return match[0]
        return None


def _sign(kind: str, what: str, pattern: str, flags: int = re.IGNORECASE, *, forbids: bool = False) -> _Sign:
    return _Sign(kind, what, re.compile(pattern, flags), forbids)


_FORBIDDING = re.compile(
    r"[\s>*+()\d-]*(?:never(?!\s+(?:mind|hesitate))|(?:do|must|should) not|don'?t(?!\s+(?:hesitate|wait))|avoid)\b",
    re.IGNORECASE,
)


_CHECKS = r"(?:tests?|checks?|hooks?|linters?|lint|verification|validation|review|reviews|sandbox|safety|security|ci)"
_INSTRUCTIONS = r"(?:instructions?|rules?|prompts?|guidelines?|directions?|messages?|system|above|context)"
_TOP_LEVELS = (
    r"(?:com|net|org|io|dev|ai|app|co|ru|cn|info|biz|xyz|top|site|online|cloud|sh|me|gg|link|click|onion|local)"
)

_SIGNS = (
    _sign(
        "command",
        "names a command that changes, fetches or runs something",
        r"(?<![\w./-])(?:curl|wget|sudo|chmod|chown|npx|uvx|bunx|rm\s+-\w+|rm\s+[~/.*$]|mkfs|killall|pkill|crontab|xargs"
        r"|(?:pip3?|pipx|npm|pnpm|yarn|brew|cargo|gem|apt|apt-get)\s+(?:install|add|i|exec|publish)"
        r"|git\s+(?:push|reset|clean|config)|eval\s*[(\"'$]|exec\s*\("
        r"|base64\s+(?:-d|--decode|-D)|nc\s+-\w|powershell|invoke-expression|os\.system|subprocess\.\w+)(?![\w-])",
    ),
    _sign(
        "command",
        "turns a safeguard off",
        r"(?<![\w-])--(?:no-verify|force|no-check\w*|skip-\w+|dangerously[\w-]*|allow-all[\w-]*|yolo|no-sandbox|insecure)"
        r"(?![\w-])",
    ),
    _sign(
        "address",
        "holds an address",
        r"\b[a-z][a-z0-9+.-]*://\S+|\bwww\.\w|\bmailto:\S|\b(?:data|javascript):\S*[,(]",
    ),
    _sign(
        "address", "names a host", rf"(?<![\w@/.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+{_TOP_LEVELS}\b(?![.\w(])"
    ),
    _sign("address", "names a host", r"(?<![\w.])(?:localhost:\d|(?:\d{1,3}\.){3}\d{1,3}(?![\w.]))"),
    _sign(
        "address",
        "names a host",
        r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])|\[[0-9a-f:]*::[0-9a-f:]*\]",
    ),
    _sign("address", "holds an e-mail address", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    _sign(
        "path",
        "names a place outside of the project",
        r"(?<![\w.])~\w*/|\$(?:HOME|\{HOME\})|%(?:USERPROFILE|APPDATA)%|(?:^|[\s'\"`(=:])(?:\.\./)"
        r"|(?:^|[\s'\"`(=:])/(?:etc|usr|bin|sbin|var|tmp|home|root|dev|proc|sys|opt|mnt|private|Users|Library)\b"
        r"|\b[A-Z]:\\|\.(?:ssh|aws|gnupg|netrc|npmrc|pypirc|kube|docker)\b|\bid_(?:rsa|ed25519)\b|(?<!\w)\.env\b",
        re.MULTILINE,
    ),
    _sign(
        "secret",
        "is about secrets",
        r"\b(?:print|send|post|upload|share|copy|reveal|output|include|read|exfiltrate|leak|paste|log|show)\b[^.\n]{0,60}"
        r"\b(?:passwords?|secrets?|credentials?|(?:api|private)[ _-]?keys?|(?:access|auth|api|session)[ _-]?tokens?"
        r"|environment variables|system prompt)\b",
        forbids=True,
    ),
    _sign(
        "role",
        "speaks in the role of a conversation",
        r"(?:^|\n)[ \t>*_#-]*(?:system|assistant|user|human|developer|tool)[*_]*\s*:"
        r"|<\|?/?(?:im_start|im_end|system|assistant|user|human|developer|endoftext|eot_id|start_header_id)\b"
        r"|\[/?(?:INST|SYS|SYSTEM)\]|<</?SYS>>|\byou are (?:now|no longer)\b|\bfrom now on,? you\b"
        r"|\b(?:pretend|act) (?:to be|as if|as an?) (?:the |an? )?(?:system|admin|root|developer|unrestricted|ai)\b"
        r"|\b(?:developer|god|jailbreak|dan) mode\b|<system-reminder>",
    ),
    _sign(
        "override",
        "sets other instructions aside",
        rf"\b(?:ignore|disregard|forget|override|bypass|overrule|supersede)\w*\b[^.\n]{{0,40}}"
        rf"(?:\b(?:previous|prior|earlier|system|existing|the user'?s?|your)\b|\b(?:all|any|every|other|the)\b"
        rf"[^.\n]{{0,30}}\b{_INSTRUCTIONS}\b)|\bdisregard\b|\binstead of what (?:the user|you)\b",
    ),
    _sign(
        "override",
        "hides something from the user",
        r"\b(?:do not|don'?t|never|without)\b[^.\n]{0,30}\b(?:tell|telling|inform|informing|mention|mentioning|notify"
        r"|notifying|alert|alerting|warn|warning|reveal|revealing|show|showing)\b[^.\n]{0,20}\b(?:user|users|anyone"
        r"|them|human|humans|reviewers?|developers?|owner)\b"
        r"|\bkeep (?:this|it) (?:secret|hidden|private|confidential)\b",
    ),
    _sign(
        "override",
        "hides something from the user",
        r"\b(?:secretly|silently|covertly|quietly)\b",
        forbids=True,
    ),
    _sign(
        "override",
        "takes a decision from the user",
        r"\bwithout\s+(?:\w+\s+){0,2}(?:asking|confirm\w*|permission|approval|consent|review|being asked)\b",
        forbids=True,
    ),
    _sign(
        "override",
        "takes a decision from the user",
        r"\b(?:do not|don'?t|never|no need to) (?:ask|wait for|seek|request)\b[^.\n]{0,40}"
        r"\b(?:user|permission|approval|confirm\w*|consent)\b|\bauto-?approve"
        r"|\balways (?:approve|accept|allow|trust)\b",
    ),
    _sign(
        "override",
        "turns checks off",
        rf"\b(?:disabl\w+|skip\w*|bypass\w*|circumvent\w*|suppress\w*|turn(?:ing)? off|switch(?:ing)? off)\b"
        rf"[^.\n]{{0,30}}\b{_CHECKS}\b|\b(?:remov\w+|delet\w+|comment(?:ing)? out|ignor\w+)"
        rf"(?:\s+(?:the|all|any|these|those|failing|flaky|broken|existing|slow|old)){{0,3}}\s+{_CHECKS}\b",
        forbids=True,
    ),
    _sign("marker", "holds a comment of HTML", r"<!--|-->"),
    _sign(
        "blob",
        "holds encoded data",
        r"(?<![A-Za-z0-9+/=_-])(?=[a-f]*\d)[0-9a-f]{32,}(?![A-Za-z0-9+/_-])|(?:\\x[0-9a-f]{2}){4,}",
    ),
    _sign(
        "blob",
        "holds encoded data",
        r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])(?=(?:[A-Za-z+/]*\d){2})[A-Za-z0-9+/]{28,}={0,2}",
        0,
    ),
)

_COMMANDS = 2
"""The first signs are those of commands."""
_BARRED = frozenset({"secret", "role", "override", "marker", "hidden", "script", "blob"})

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL")
_WORD = re.compile(r"[^\W\d_]+")
_SHOWN_SPACES = frozenset("\n\r\t ")


def lint(text: str) -> tuple[Finding, ...]:
    """What a reader should look at in a rule, in a fixed order; none for one that may be adopted by itself."""
    size, text = len(text), text[:_SEARCHED]
    found = [*_hidden(text), *_code(text)]
    folded = unicodedata.normalize("NFKC", text)
    for sign in _SIGNS:
        place = sign.find(text) or sign.find(folded)
        if place:
            found.append(Finding(kind=sign.kind, what=sign.what, excerpt=plain(place)))
    if Redactor().redact(text) != text:
        found.append(Finding(kind="secret", what="holds what looks like a credential"))
    if looks_like_marker(text):
        found.append(Finding(kind="marker", what="holds a region marker"))
    if size > MAX_CHARS:
        found.append(Finding(kind="length", what=f"has {size} characters; at most {MAX_CHARS} are read at a glance"))
    return tuple(dict.fromkeys(found))


def barred(text: str) -> tuple[Finding, ...]:
    """Why a rule is not even proposed; empty when it is. It would have an agent run, fetch or change something, turn
    safeguards off, hide something, obey others than the user, or touch secrets: if a person wants that, a person can
    write it. A rule that forbids a command is none of these."""
    found = [finding for finding in lint(text) if finding.kind in _BARRED]
    head = text[:_SEARCHED]
    for sign in _SIGNS[:_COMMANDS]:
        forbidding = sign._replace(forbids=True)
        place = forbidding.find(head) or forbidding.find(unicodedata.normalize("NFKC", head))
        if place:
            found.append(Finding(kind=sign.kind, what=sign.what, excerpt=plain(place)))
    return tuple(found)


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
    for word in _WORD.findall(text):
        if len({script for char in word if (script := _script(char))}) > 1 or _is_disguised(word):
            yield Finding(kind="script", what="writes a word in look-alike letters", excerpt=plain(word))
            return


def _script(char: str) -> str:
    name = unicodedata.name(char, "")
    return next((script for script in _SCRIPTS if name.startswith(script)), "")


def _is_disguised(word: str) -> bool:
    """Whether letters stand for others, as in mathematical or full-width writing."""
    return any(_script(char) in {"FULLWIDTH", "MATHEMATICAL"} for char in word)


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
