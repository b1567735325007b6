"""Keys that are words of the settings as well: one cannot be kept out of a run folder without spoiling the other."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from etude.errors import ConfigError
from etude.redaction.redactor import Redactor
from etude.secret_values import SHORTEST_KEY


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
