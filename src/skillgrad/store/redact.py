"""Secrets never reach the disk: everything that is stored passes a `Redactor`.

Only what has the shape of a credential is removed, so that hashes, UUIDs and prose come through unharmed; secrets
without a shape of their own are known by their value, from the environment variables that hold them.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import NamedTuple, cast

from pydantic import JsonValue


class _Shape(NamedTuple):
    kind: str
    markers: tuple[str, ...]
    """Lower-case texts, one of which every match contains: looking for them is far cheaper than the pattern."""
    pattern: re.Pattern[str]
    """What a group `keep` matches stays in front of the redaction."""


_START = r"(?<![A-Za-z0-9_-])"
# Tells a credential from a word of prose that follows `Bearer` or `Basic`.
_MIXED = r"(?=[\w.~+/-]*(?:\d|=|[a-z][A-Z]))"

_SHAPES = (
    _Shape(
        "private-key",
        ("private key-----",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
            r"(?:.*?-----END [A-Z ]*PRIVATE KEY-----|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})+)",
            re.DOTALL,
        ),
    ),
    _Shape(
        "api-key",
        ("sk-",),
        re.compile(
            rf"{_START}sk-(?:(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{{16,}}|[A-Za-z0-9]{{20,}}"
            r"|(?=(?:[A-Za-z_-]*\d){6})[A-Za-z0-9_-]{20,})"
        ),
    ),
    _Shape("api-key", ("gsk_", "hf_", "xai-"), re.compile(rf"{_START}(?:gsk_|hf_|xai-)[A-Za-z0-9]{{20,}}")),
    _Shape("api-key", ("k_live_", "k_test_"), re.compile(rf"{_START}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}")),
    _Shape("api-key", ("aiza",), re.compile(rf"{_START}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])")),
    _Shape("aws-key", ("akia", "asia"), re.compile(rf"{_START}A[KS]IA[0-9A-Z]{{16}}(?![A-Za-z0-9])")),
    _Shape(
        "token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
        re.compile(rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_\w{{20,}}|glpat-[A-Za-z0-9_-]{{20,}})"),
    ),
    _Shape("token", ("xox",), re.compile(rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,}}")),
    _Shape("jwt", ("eyj",), re.compile(rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*")),
    _Shape(
        "password",
        ("://",),
        re.compile(r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/:@\"'<>]*:[^\s/@\"'<>]+(?=@)"),
    ),
    _Shape(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?P<keep>authorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:bearer|basic|token)\s+)"
            rf"(?-i:{_MIXED})[\w.~+/-]{{8,}}=*",
            re.IGNORECASE,
        ),
    ),
    _Shape(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?P<keep>authorization\\?[\"']?\s*[:=]\s*\\?[\"']?)(?=[\w.-]*\d)[\w.~+/-]{20,}=*", re.IGNORECASE
        ),
    ),
    _Shape(
        "authorization",
        ("api-key", "api_key", "apikey"),
        re.compile(r"(?P<keep>\bx-api-key\\?[\"']?\s*[:=]\s*\\?[\"']?)(?=[\w.-]*\d)[\w.-]{8,}", re.IGNORECASE),
    ),
    _Shape(
        "authorization",
        ("bearer",),
        re.compile(rf"(?P<keep>\bbearer\s+)(?-i:{_MIXED})[\w.~+/-]{{16,}}=*", re.IGNORECASE),
    ),
)

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 12
SHORTEST_KEY = 8
"""Characters that a value has at least to be taken for a key where a key is certain. What is shorter is a placeholder
for a server that asks for none: `x` and `EMPTY` stand in too many texts and settings to be taken out of them."""
_CREDENTIAL_FIELDS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "api_key", "apikey"})


class Redactor:
    """Replaces secrets by `[redacted:kind]`.

    Known shapes: keys of model providers, AWS keys, GitHub, GitLab and Slack tokens, JSON web tokens, private key
    blocks, passwords in URLs, Authorization headers. From `environ`: the values of the variables whose names end in
    KEY, TOKEN, SECRET or PASSWORD, when they have at least 12 characters, letters and digits among them: an ordinary
    word is no key, and taking it out of an answer would change its score. Their kind is the name of the variable.

    What must not be changed, answers and skills, passes `exact`: it takes out the values of `environ` and leaves
    known shapes alone.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, keys: Collection[str] = ()) -> None:
        """`keys` names variables that hold keys for certain, whatever their values of `SHORTEST_KEY` characters and
        more look like."""
        self._shapes: Sequence[_Shape] = _SHAPES
        self._names: dict[str, str] = {}
        for name, value in sorted((environ or {}).items(), reverse=True):
            secret = value.strip()
            is_named = name in keys and len(secret) >= SHORTEST_KEY
            if is_named or (name.upper().endswith(_SECRET_NAMES) and _is_key(secret)):
                for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
                    self._names[text] = name
        longest_first = sorted(self._names, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    @property
    def exact(self) -> "Redactor":
        """The same without known shapes."""
        redactor = copy(self)
        redactor._shapes = ()
        return redactor

    def redact(self, text: str) -> str:
        """`text` without secrets."""
        if self._values is not None:
            text = self._values.sub(lambda match: f"[redacted:{self._names[match[0]]}]", text)
        return _without_shapes(text, self._shapes)

    def redact_value(self, value: JsonValue) -> JsonValue:
        """JSON data without secrets. Field names are cleared of known shapes only: a short secret that happens to be
        the name of a field must not change the structure."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        if isinstance(value, dict):
            return {
                _without_shapes(name, self._shapes): self._redact_field(name, item) for name, item in value.items()
            }
        return value

    def redact_json(self, text: str) -> str:
        """JSON text without secrets in its strings; returned as it is when it holds none."""
        if self._is_clean(text):
            return text
        value = cast(JsonValue, json.loads(text))
        redacted = self.redact_value(value)
        return text if redacted == value else json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))

    def _redact_field(self, name: str, value: JsonValue) -> JsonValue:
        if self._shapes and isinstance(value, str) and value and name.lower() in _CREDENTIAL_FIELDS:
            return "[redacted:authorization]"
        return self.redact_value(value)

    def _is_clean(self, text: str) -> bool:
        lowered = text.lower()
        if any(marker in lowered for shape in self._shapes for marker in shape.markers):
            return False
        return self._values is None or self._values.search(text) is None


def _is_key(value: str) -> bool:
    letters, digits = any(char.isalpha() for char in value), any(char.isdigit() for char in value)
    return len(value) >= _SHORTEST_SECRET and letters and digits and not any(char.isspace() for char in value)


def _without_shapes(text: str, shapes: Sequence[_Shape]) -> str:
    lowered = text.lower()
    for shape in shapes:
        if any(marker in lowered for marker in shape.markers):
            text = shape.pattern.sub(lambda match, kind=shape.kind: _redaction(match, kind), text)
    return text


def _redaction(match: re.Match[str], kind: str) -> str:
    return f"{match.groupdict().get('keep', '')}[redacted:{kind}]"
