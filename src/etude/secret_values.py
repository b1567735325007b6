"""Values that are secret for certain, whatever they look like: `redaction` takes out what looks like a secret."""

import base64
import json
import re
from collections import Counter
from urllib.parse import unquote_plus, urlsplit

SHORTEST_KEY = 8
"""Characters that a value has at least to be taken for a key where a key is certain. What is shorter is a placeholder
for a server that asks for none: `x` and `EMPTY` stand in too many texts and settings to be taken out of them."""
_SHORTEST_SECRET = 12
_CREDENTIAL = re.compile(r"auth|authorization|cookie|\w*(?:key|password|secret|token)|sig|signature", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether a word in the name of a header, a field or a part of a query says that its value is a secret.

    >>> names_secret("X-Api-Key"), names_secret("accessToken"), names_secret("api-version")
    (True, True, False)
    """
    return any(map(_CREDENTIAL.fullmatch, re.split(r"[\W_]|(?<=[a-z])(?=[A-Z])", name)))


def is_key(value: str) -> bool:
    """Whether a value that may be a key looks like one: an ordinary word does not."""
    letters, digits = any(char.isalpha() for char in value), any(char.isdigit() for char in value)
    return len(value) >= _SHORTEST_SECRET and letters and digits and not any(char.isspace() for char in value)


class Secrets:
    """Secrets with the names that take their place in texts. More may become known at any time."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        """Secret to name."""
        self._pattern: re.Pattern[str] | None = None

    def add(self, name: str, value: str) -> None:
        """Know a secret, also as JSON has it; one that is shorter than `SHORTEST_KEY` is passed over."""
        value = value.strip()
        if len(value) >= SHORTEST_KEY and value not in self.values:
            for text in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
                self.values.setdefault(text, name)
            self._pattern = re.compile("|".join(map(re.escape, sorted(self.values, key=len, reverse=True))))

    def add_header(self, name: str, value: str) -> None:
        """Know the value of a header whose name says that it is a secret, with and without `Bearer` or `cookie=`."""
        parts = re.split(r"[\s;]+", value)
        for text in (value, *parts[1:], *(part.partition("=")[2] for part in parts)) if names_secret(name) else ():
            self.add(name, text)

    def add_address(self, name: str, address: str) -> None:
        """Know the password of an address, else its user, and the keys in its query."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return
        login = parts.netloc.rpartition("@")[0]
        user, _, password = login.partition(":")
        queries = (part.partition("=") for part in parts.query.split("&"))
        for text in (password or user, *(value for key, _, value in queries if names_secret(key))):
            self.add(name, text)
            self.add(name, unquote_plus(text))
        if login:  # as it is sent
            sent = f"{unquote_plus(user)}:{unquote_plus(password)}"
            self.add(name, base64.b64encode(sent.encode()).decode())

    def in_text(self, text: str) -> bool:
        """Whether one of them is in a text."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def hide(self, text: str, counts: Counter[str] | None = None) -> str:
        """The text with `[redacted:name]` in their places; `counts` grows by name."""

        def named(match: re.Match[str]) -> str:
            name = self.values[match[0]]
            if counts is not None:
                counts[name] += 1
            return f"[redacted:{name}]"

        return text if self._pattern is None else self._pattern.sub(named, text)

    def hide_bytes(self, data: bytes) -> bytes:
        """The same for what need not be text."""
        if self._pattern is None:
            return data
        return self.hide(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
