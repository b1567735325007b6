"""Secrets that are known by the name they are given to: `DB_PASSWORD=...`, `"api_key": "..."`, `Pwd=...;`.

The name says that a secret follows, the value whether it is one: placeholders, references, types and code are none. A
value in quotes is believed sooner than a bare one, and `name=value` without spaces sooner than what may be prose.
"""

import re
from collections import Counter
from typing import NamedTuple

_MARKERS = ("pass", "pwd", "psk", "secret", "token", "key")
_NAMES = (
    r"passw(?:or)?d|passphrase|passcode|(?<=[_-])pass|pwd|(?<![a-z])psk|secret|token"
    r"|(?:api|access|secret|private|account|master|auth|encryption|signing|subscription|shared|storage)[ _-]?key"
)
_NAME = re.compile(rf"(?P<word>{_NAMES}|(?-i:(?<=_)KEY))", re.IGNORECASE)
_LAST_NAME = re.compile(rf"(?:{_NAME.pattern})\Z", re.IGNORECASE)
# A type may stand between the name and the value, as in `password: str = "..."`.
_TYPED = r":[ ]?[A-Za-z_][\w\[\]|. ]{0,40}=(?=[ ]?[\"'])"
_HEAD = re.compile(
    rf"{_NAME.pattern}(?P<close>\\{{0,3}}[\"'`]?\]?)(?P<gap>[ \t]{{0,16}})(?P<sign>{_TYPED}|:=|=>|==?|:)"
    r"(?P<space>[ \t]{0,16})",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"--(?:[a-z0-9]{{1,20}}-){{0,4}}(?P<word>{_NAMES})(?P<close>)(?P<gap>)(?P<sign>)(?P<space>[ \t]{{1,8}})(?!-)",
    re.IGNORECASE,
)
# Of a list of arguments, as JSON and code have it; a flag that follows is not a value.
_LISTED_FLAG = re.compile(
    rf"--(?:[a-z0-9]{{1,20}}-){{0,4}}(?P<word>{_NAMES})(?P<close>\\{{0,3}}[\"'])(?P<gap>\s{{0,16}})(?P<sign>,)"
    r"(?P<space>\s{0,64})(?=\\{0,3}[\"'](?!-))",
    re.IGNORECASE,
)
# A name and its value side by side: `{"name": "DB_PASSWORD", "value": "..."}`.
_PAIR = re.compile(
    rf"\b(?:name|key|variable)\\{{0,3}}[\"']?\s{{0,8}}[:=]\s{{0,8}}\\{{0,3}}[\"']?[\w.-]{{0,60}}?{_NAME.pattern}"
    r"(?P<close>\\{0,3}[\"']?)(?P<gap>\s{0,8},?\s{0,64}\\{0,3}[\"']?\bvalue\\{0,3}[\"']?\s{0,8})(?P<sign>[:=])"
    r"(?P<space>[ \t]{0,16})",
    re.IGNORECASE,
)
_SPOKEN = re.compile(r"\b(?P<word>password|passphrase)(?P<close>)(?P<gap>) (?P<sign>is|was)(?P<space>:? {1,4})")

_OPENING = re.compile(r"[fFrRbBuU]{0,2}(?P<quote>\\{0,3}[\"'`])")
_REDACTED = r"\[redacted:[^\]\s]{1,128}\]"
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\r\n]|\\.)*+") for quote in "\"'`"}
# A backslash before n, r or t is the line break of a JSON string that the text holds.
_TO_SPACE = re.compile(rf"(?:{_REDACTED}|\\(?![nrt])|[^\s\\])+")
_TO_SIGN = {
    # In a list with semicolons a quote that a semicolon follows later belongs to the value.
    ";": re.compile(rf"(?:{_REDACTED}|\\(?![nrt])|[^\s\\;\"']|[\"'](?=[^\s;\"']{{1,64}};))+"),
    "is": _TO_SPACE,
    "&": re.compile(rf"(?:{_REDACTED}|\\(?![nrt])|[^\s\\&#;\"'<>`])+"),
    # After a colon, or with a space next to the sign, it is not a query string.
    **dict.fromkeys((":", " = "), re.compile(rf"(?:{_REDACTED}|\\(?![nrt\"'])|->(?=[a-z_])|[^\s\\\"'`<>,;)\]}}])+")),
    "": re.compile(rf"(?:{_REDACTED}|\\(?![nrt\"'])|->(?=[a-z_])|[^\s\\\"'`<>,;&|)\]}}])+"),
}
_BRACED = re.compile(r"\{(?:[^{}\r\n]|\}\})*\}")
_LINE_END = re.compile(r"[ \t]*[,;)\]}\"'`]{0,4}[ \t]*(?:#|//|[\r\n]|\\[nr]|\Z)")
_LONGEST_NAME = 64
_LONGEST_WORD = 256
"""Characters of a bare value that may still be a placeholder or code; what is longer is a secret."""

_PLACEHOLDER = re.compile(
    rf"(?:{_REDACTED})+|\[?redacted\]?|\$[a-z_]\w*|\$\{{.*|\$\(.*|%\w+%|%(?:\(\w+\))?[sdr]|<.*>|\*+|x{{3,}}|\.{{3,}}|…"
    r"|[-_#?.]+|\{\{.*|\{[a-z_][\w.()\[\]!:]*\}|your[-_ ]?.*|(?:insert|enter|replace)[-_ ].*|!\w+|[|>]-?"
    r"|(?:process|import\.meta)\.env\b.*|os\.(?:environ|getenv)\b.*|\w+:\w+\(.*|https?://.*"
    r"|(?:~/|\.{1,2}/|/(?:home|users|etc|run|var|tmp|opt|usr|root|mnt|srv|proc|dev)/).*"
    r"|.*(?:\.{3,}|…|x{8,}).*|hash(?:ed)?(?:_?password)?|none|null|nil|undefined|true|false|yes|no|on|off|str|string|int|integer|number|bool|boolean|bytes|object|any"
    r"|required|optional|missing|invalid|incorrect|wrong|empty|hidden|text|password|passwd|passphrase|secret|token"
    r"|api[-_ ]?key|key|basic|bearer|prompt|env",
    re.IGNORECASE | re.DOTALL,
)
_LABEL = re.compile(
    r"\b(?:password|passphrase|secret|token|key|must|required|please|enter|your|invalid)\b", re.IGNORECASE
)
_EXPRESSION = re.compile(r"[&$]?[A-Za-z_]{1,40}\d{0,2}(?:(?:\.|->|::|\?\.)[A-Za-z_]{1,40}\d{0,2})+")
_HOLDERS = frozenset(
    re.findall(
        r"\w+",
        "account app args argv auth body cfg client cls conf config conn connection context credentials creds ctx "
        "data db env environ environment event fake faker form input item module node obj object options opts os "
        "params parser payload process props query req request res resp response result row schema self server "
        "session settings state store super this user users values vars window",
    )
)
"""What code calls that of which it reads an attribute."""
_CALL = re.compile(r"[A-Za-z_][\w.:>-]{0,80}[\[(].*", re.DOTALL)
_WORDS = re.compile(r"[A-Za-z]+(?:[-_./:][A-Za-z]+)*[.:!?]?")
_CAPITAL = re.compile(r"(?:[A-Z][a-z]+)+[.:!?]?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DESCRIPTION = re.compile(r"\d+-[a-z]+|(?:base|sha|md|utf|rot|pbkdf|argon)-?\d.*", re.IGNORECASE)
_DIRECTORY = re.compile(r"[/~.]|[A-Za-z]:\\")


class _Value(NamedTuple):
    """What a name is given."""

    text: str
    kind: str
    quoted: bool
    environment: bool
    """`NAME=value`, in capitals and without spaces."""
    form: str
    """`=` without spaces, a delimiter (`;`, `&`) where it is an item of a list, `:`, ` = ` with spaces, ` ` after a
    flag, `is` in a sentence."""
    long: bool
    """A bare value of more characters than placeholders and code have."""
    whole: bool
    """Nothing but a comment follows on its line."""
    argument: bool
    """Stands among the arguments of a call."""


def without_assignments(text: str, counts: Counter[str]) -> str:
    """`text` with the values of names of secrets replaced by `[redacted:kind]`; `counts` grows by kind."""
    lowered = text.lower()
    if not any(marker in lowered for marker in _MARKERS):
        return text
    for pattern in (_HEAD, _FLAG, _LISTED_FLAG, _PAIR, _SPOKEN):
        text = _replaced(text, pattern, counts)
    return text


def secret_kind(name: str, value: str) -> str:
    """The kind of secret that a field of JSON data is, by its name and value; empty when it is none."""
    word = _LAST_NAME.search(name)
    if word is None or not value:
        return ""
    kind = _kind(word["word"])
    if kind == "password" and word["word"].lower() == "pwd" and _DIRECTORY.match(value):
        return ""
    known = _Value(value, kind, True, name.isupper(), "=", False, True, False)
    return kind if _is_secret(known, generic=word["word"] == "KEY") else ""


def _replaced(text: str, pattern: re.Pattern[str], counts: Counter[str]) -> str:
    pieces: list[str] = []
    done = position = 0
    while (head := pattern.search(text, position)) is not None:
        position = head.end()
        found = _value(text, head)
        if found is None:
            continue
        start, end, value = found
        word = head["word"]
        if word.lower() == "pwd" and (_DIRECTORY.match(value.text) or (word == "PWD" and value.form != ";")):
            continue
        if value.text and _is_secret(value, generic=word == "KEY"):
            pieces += [text[done:start], f"[redacted:{value.kind}]"]
            counts[value.kind] += 1
            done = position = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _value(text: str, head: re.Match[str]) -> tuple[int, int, _Value] | None:
    """Where the value begins and ends, without quotes, and what it is."""
    name_start = head.start()
    earliest = max(0, name_start - _LONGEST_NAME)
    while name_start > earliest and (text[name_start - 1].isalnum() or text[name_start - 1] in "_.-"):
        name_start -= 1
    if text.endswith("[redacted:", 0, name_start):
        return None
    name = text[name_start : head.end("word")]
    before = text[name_start - 1] if name_start else "\n"
    tight = head["sign"] in ("=", ":=") and not head["gap"] and not head["space"]
    capitals = tight and name == name.upper()
    form = _form(head, before, tight=tight)
    start = head.end()
    opening = _OPENING.match(text, start)
    quoted = opening is not None
    if opening is not None:
        start = opening.end()
        end = _closing(text, start, opening["quote"])
    elif tight and (braced := _BRACED.match(text, start)):
        # Connection strings quote with braces; elsewhere they hold a name that is filled in.
        filled_in = form != ";" and _PLACEHOLDER.fullmatch(braced[0])
        start, end = (start, braced.end()) if filled_in else (start + 1, braced.end() - 1)
    else:
        pattern = _TO_SIGN.get(form, _TO_SPACE if capitals and before.isspace() else _TO_SIGN[""])
        bare = pattern.match(text, start, start + _LONGEST_WORD)
        if bare is None:
            return None
        if len(bare[0]) == _LONGEST_WORD:
            bare = pattern.match(text, start)
            assert bare is not None  # its beginning matched
        end = start + len(bare[0].rstrip(".:!?" if form in (":", " ", "is") else ";,)}\"'`") or bare[0])
    following = text[end : end + 1]
    argument = following in (",", ")") or before == "(" or text[max(0, name_start - 2) : name_start] == ", "
    whole = _LINE_END.match(text, end) is not None
    long = not quoted and end - start >= _LONGEST_WORD
    return start, end, _Value(text[start:end], _kind(head["word"]), quoted, capitals, form, long, whole, argument)


def _form(head: re.Match[str], before: str, *, tight: bool) -> str:
    if tight:
        return {";": ";", "&": "&", "?": "&"}.get(before, "=")
    if head["sign"] in ("is", "was"):
        return "is"
    return " = " if "=" in head["sign"] else head["sign"] or " "


def _closing(text: str, start: int, quote: str) -> int:
    """Where a quoted value ends; with its line when it is not closed, as a cut text leaves it."""
    if len(quote) == 1:
        content = _QUOTED[quote].match(text, start)
        assert content is not None  # it may be empty
        return content.end()
    line = text.find("\n", start)
    line = len(text) if line < 0 else line
    closing = text.find(quote, start, line)
    return line if closing < 0 else closing


def _kind(word: str) -> str:
    lowered = word.lower()
    if lowered in ("secret", "token"):
        return lowered
    return "api-key" if lowered.endswith("key") else "password"


def _is_secret(value: _Value, *, generic: bool) -> bool:
    if value.long:
        return True
    text = value.text.strip()
    if not any(char.isalnum() for char in text) or _PLACEHOLDER.fullmatch(text) or _DESCRIPTION.fullmatch(text):
        return False
    if generic:
        if not value.quoted and _is_code(text, value.form):
            return False
        return _has_digit(text) and any(char.isalpha() for char in text) and len(text) >= 12 and " " not in text
    if text.isdigit():
        return len(text) >= (4 if value.kind == "password" or value.environment else 16)
    if value.quoted:
        return _is_quoted_secret(value, text)
    if value.form == "=" and value.environment:
        return not _CALL.fullmatch(text)
    if value.form in (";", "&"):
        return True
    # A password may have such a word in it; names that code gives to one rarely have a digit.
    if _is_code(text, value.form) and not (value.kind == "password" and _names_one(text) and _has_digit(text)):
        return False
    if value.form == "=":
        return not value.argument or (not _WORDS.fullmatch(text) and _has_digit(text) and len(text) >= 6)
    return _is_loose_secret(value, text)


def _is_quoted_secret(value: _Value, text: str) -> bool:
    spaced = any(char.isspace() for char in text)
    names_one = _names_one(text) and not _has_digit(text)
    if value.kind == "password":
        return not names_one and not (spaced and _LABEL.search(text))
    if spaced or names_one:
        return False
    if value.environment and value.form == "=":
        return True
    if value.kind == "secret":
        return len(text) >= 4 and not (_WORDS.fullmatch(text) and _NAME.search(text))
    return (_has_digit(text) and len(text) >= 6) or len(text) >= 24


def _is_loose_secret(value: _Value, text: str) -> bool:
    """After a colon, an equals sign with spaces, a flag or `is`: the value may be prose or code."""
    if value.form == "is":
        return _has_digit(text) and len(text) >= 7 and any(char.isalpha() for char in text)
    if _WORDS.fullmatch(text):
        prose = value.form != ":" and "." not in text.rstrip(".")
        return value.kind == "password" and value.whole and not prose and not _CAPITAL.fullmatch(text)
    if value.kind == "password":
        return len(text) >= 4
    return len(text) >= 8 and _has_digit(text)


def _is_code(text: str, form: str) -> bool:
    if _IDENTIFIER.fullmatch(text):
        return _names_one(text)
    return text[0] in "([" or _CALL.fullmatch(text) is not None or _is_access(text, form)


def _is_access(text: str, form: str) -> bool:
    """Whether it is an attribute of something, which names a secret or what holds one, or a type; other words with
    dots may be the secret itself."""
    if _EXPRESSION.fullmatch(text) is None:
        return False
    parts = re.findall(r"\w+", text)
    named = parts[0].lower() in _HOLDERS or any(_NAME.search(part) for part in parts)
    return named or (form == ":" and parts[-1][0].isupper())


def _names_one(text: str) -> bool:
    """Whether it may be the name of a variable that holds a secret."""
    return _IDENTIFIER.fullmatch(text) is not None and _NAME.search(text) is not None


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)
