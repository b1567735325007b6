"""Further request headers: what can be sent, and which of them decide what is answered."""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from etude.config import ModelSection
from etude.errors import ConfigError

__all__ = ["check_headers", "identity_of"]

_NO_NAME = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]")
_NO_VALUE = re.compile(r"[^\x20-\x7e]")
_CREDENTIAL = re.compile(r"auth|authorization|cookie|key|apikey|password|secret|token")
"""Words in the names of headers that say who asks."""


def check_headers(headers: Mapping[str, str]) -> None:
    """Make sure that the headers can be sent.

    Raises:
        ConfigError: a name or a value has a character that HTTP does not carry there, or a name is empty. The value
            itself is not repeated: it may be a secret.
    """
    for name, value in headers.items():
        odd = _NO_NAME.search(name)
        if odd is not None or not name:
            has = f"has {odd[0]!r} in it" if odd is not None else "is empty"
            raise ConfigError(
                f"headers: the name {name!r} {has}; allowed are ASCII letters, digits and -",
                hint="write it as in 'X-Team'",
            )
        odd = _NO_VALUE.search(value)
        if odd is not None or value != value.strip():
            has = f"has {odd[0]!r} in it" if odd is not None else "begins or ends with a space"
            raise ConfigError(
                f"headers: the value of {name!r} {has}; allowed are ASCII letters, digits, signs and spaces between",
                hint="encode other characters as the server expects them, as in %C3%A9 for é",
            )


def identity_of(settings: ModelSection) -> dict[str, JsonValue]:
    """The settings that a model's answers depend on.

    Headers are among them, for some change answers (`anthropic-beta`), but for those whose name has a word for a
    credential in it, as `Authorization`, `X-Api-Key` and `cf-access-token` have: keys may be renewed.
    """
    identity = {name: value for name, value in settings.identity().items() if name != "structured"}
    headers: dict[str, JsonValue] = {
        name.lower(): value for name, value in settings.headers.items() if not _is_credential(name)
    }
    return {**identity, "headers": headers} if headers else identity


def _is_credential(name: str) -> bool:
    return any(_CREDENTIAL.fullmatch(word) for word in re.split("[-_]", name.lower()))
