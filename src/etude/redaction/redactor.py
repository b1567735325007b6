"""Secrets never reach the disk: everything that is stored passes a `Redactor`.

Only what has the shape of a credential is removed, so that hashes, UUIDs and prose come through unharmed; secrets
without a shape of their own are known by their value, from the environment variables that hold them.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, Self, cast

from pydantic import JsonValue

from etude.errors import ConfigError
from etude.redaction.assignments import secret_kind, without_assignments
from etude.redaction.shapes import (
    SHAPES,
    TRANSCRIPT_SHAPES,
    Shape,
    has_marker,
    without_addresses,
    without_cut_secrets,
    without_shapes,
    without_terminal,
)
from etude.redaction.transcript_shapes import SERVICE_SHAPES, SPOKEN_SHAPES, without_numbers
from etude.secret_values import SHORTEST_KEY, Secrets, is_key

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_CREDENTIAL_FIELDS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "api_key", "apikey"})
_NAME_FIELDS = frozenset({"name", "key", "variable"})
"""Fields of JSON data that name what the field `value` next to them holds."""
_FLAG = re.compile(r"--[\w.-]+")
_MOST_PASSES = 8
_REDACTED = re.compile(r"\[redacted:[^\]\s]+\]")


class Redactor:
    """Replaces secrets by `[redacted:kind]`.

    Known shapes: keys of model providers, AWS keys, GitHub, GitLab and Slack tokens, JSON web tokens, private key
    blocks, passwords in URLs, Authorization headers. From `environ`: the values of the variables whose names end in
    KEY, TOKEN, SECRET or PASSWORD, when they have at least 12 characters, letters and digits among them: an ordinary
    word is not a key, and taking it out of an answer would change its score. Their kind is the name of the variable.
    And the values in `secrets`, to which more may be added at any time.

    What must not be changed, answers and skills, passes `exact`: it takes out those values and leaves known shapes
    alone.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, keys: Collection[str] = ()) -> None:
        """`keys` names variables that hold keys for certain, whatever their values of `SHORTEST_KEY` characters and
        more look like."""
        self._shapes: tuple[Shape, ...] = SHAPES
        self._named = False
        known = Secrets()
        self.secrets = [known]
        """What is known by its value."""
        for name, value in sorted((environ or {}).items()):
            if name in keys or (name.upper().endswith(_SECRET_NAMES) and is_key(value.strip())):
                known.add(name, value)

    @classmethod
    def for_transcripts(cls, environ: Mapping[str, str] | None = None, keys: Collection[str] = ()) -> Self:
        """One for what strangers wrote, where to take out too much does less harm than to leave a secret in.

        Takes out besides: keys and tokens that a letter stands before, as escapes of JSON leave one; tokens of more
        services, web hooks, cookies, signatures, passwords in files and on command lines, card and account numbers,
        e-mail addresses, what is left of secrets at a cut, and the values of names of secrets (`DB_PASSWORD=...`,
        `"api_key": "..."`, `Pwd=...;`) unless they are placeholders, types or code. Sequences that colour a terminal
        go, too.
        """
        redactor = cls(environ, keys)
        redactor._shapes = SERVICE_SHAPES + TRANSCRIPT_SHAPES + SPOKEN_SHAPES
        redactor._named = True
        return redactor

    @property
    def exact(self) -> Self:
        """The same without known shapes."""
        redactor = copy(self)
        redactor._shapes = ()
        redactor._named = False
        return redactor

    def redact(self, text: str) -> str:
        """`text` without secrets."""
        return self._redacted(text, Counter())

    def redact_counted(self, text: str) -> tuple[str, Counter[str]]:
        """`text` without secrets, and how many were taken out by kind. A text that was redacted before has none."""
        counts = Counter[str]()
        return self._redacted(text, counts), counts

    def redact_value(self, value: JsonValue) -> JsonValue:
        """JSON data without secrets. Field names are cleared of known shapes only: a short secret that happens to be
        the name of a field must not change the structure."""
        return self._redacted_value(value, Counter())

    def redact_value_counted(self, value: JsonValue) -> tuple[JsonValue, Counter[str]]:
        """JSON data without secrets, and how many were taken out by kind."""
        counts = Counter[str]()
        return self._redacted_value(value, counts), counts

    def redact_json(self, text: str) -> str:
        """JSON text without secrets in its strings; returned as it is when it holds none."""
        if self._is_clean(text):
            return text
        value = cast(JsonValue, json.loads(text))
        redacted = self.redact_value(value)
        return text if redacted == value else json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))

    def _redacted(self, text: str, counts: Counter[str]) -> str:
        text = without_terminal(text) if self._named else text
        for known in self.secrets:
            text = known.hide(text, counts)
        if not self._named:
            return without_shapes(text, self._shapes, counts)
        # What is taken out can bring what stood around it into a shape: again, until nothing more is found.
        for _ in range(_MOST_PASSES):
            before = counts.total()
            text = without_shapes(text, self._shapes, counts)
            text = without_addresses(without_assignments(text, counts), counts)
            text = without_numbers(without_cut_secrets(text, counts), counts)
            if counts.total() == before:
                break
        return text

    def _redacted_value(self, value: JsonValue, counts: Counter[str]) -> JsonValue:
        if isinstance(value, str):
            return self._redacted(value, counts)
        if isinstance(value, list):
            return self._redacted_list("", value, counts)
        if isinstance(value, dict):
            given = self._name_given(value)
            return {
                without_shapes(name, self._shapes, counts): self._redacted_field(
                    given if given and name.lower() == "value" else name, item, counts
                )
                for name, item in value.items()
            }
        return value

    def _name_given(self, value: Mapping[str, JsonValue]) -> str:
        """What `value` is called by the field next to it: `{"name": "DB_PASSWORD", "value": "..."}`."""
        names = (item for name, item in value.items() if name.lower() in _NAME_FIELDS and isinstance(item, str))
        return next(names, "") if self._named else ""

    def _redacted_list(self, name: str, values: list[JsonValue], counts: Counter[str]) -> JsonValue:
        """A list in a field of that name. An item may be the value of the flag in front of it."""
        kept: list[JsonValue] = []
        flag = ""
        for item in values:
            word = item if isinstance(item, str) else ""
            known = flag if flag and not word.startswith("-") else name
            kept.append(self._redacted_field(known if self._named else "", item, counts))
            flag = word if _FLAG.fullmatch(word) else ""
        return kept

    def _redacted_field(self, name: str, value: JsonValue, counts: Counter[str]) -> JsonValue:
        if isinstance(value, list):
            return self._redacted_list(name, value, counts)
        if self._named and isinstance(value, str):
            value = without_terminal(value)
        if self._shapes and isinstance(value, str) and value and not _REDACTED.fullmatch(value):
            kind = "authorization" if name.lower().lstrip("-") in _CREDENTIAL_FIELDS else ""
            if self._named and not kind:
                # What has a shape of its own is named after that.
                kind = secret_kind(name, value)
                kind = kind if kind and self._redacted(value, Counter()) == value else ""
            if kind:
                counts[kind] += 1
                return f"[redacted:{kind}]"
        return self._redacted_value(value, counts)

    def _is_clean(self, text: str) -> bool:
        if self._named or (self._shapes and has_marker(text.lower())):
            return False
        return not any(known.in_text(text) for known in self.secrets)


def check_keys(settings: Mapping[str, Any], keys: Iterable[tuple[str, str]]) -> None:
    """Make sure that the settings are the same once keys are taken out of them.

    What looks like a key stands there by mistake, and is taken out; but a word such as `localhost`, given as the key
    of a server that asks for none, would be taken out of addresses and answers too.

    Args:
        settings: nested, as they are written to the run folder.
        keys: what holds a key for certain, as in `environment variable 'KEY'`, and the key.

    Raises:
        ConfigError: a key is part of a setting; says which one, and not the key.
    """
    for name, given in keys:
        key = given.strip()
        looks_like_one = Redactor({"KEY": key}).redact(key) != key
        if len(key) < SHORTEST_KEY or looks_like_one:
            continue
        place = next((place for place, text in _texts(settings) if key in text), None)
        if place is not None:
            raise ConfigError(
                f"the key in {name} is part of {place}, so it cannot be kept out of what is stored",
                hint=f"a server that asks for no key takes any: leave it out, or give it fewer than {SHORTEST_KEY} "
                "characters or another value",
            )


def _texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text and number of the settings under the name of its setting, the names themselves included."""
    if isinstance(value, Mapping):
        for key, inner in cast(Mapping[str, Any], value).items():
            name = f"{place}.{key}" if place else key
            yield name, key
            yield from _texts(inner, name)
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            yield from _texts(inner, place)
    else:
        yield place, str(value)
