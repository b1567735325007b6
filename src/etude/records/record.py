"""The base of all records, and the JSON they are known by."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticSerializationError


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def brief(text: str, most: int = 60) -> str:
    """Text in quotes on one line, of at most about `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return repr(line if len(line) <= most else f"{line[: most - 3]}...")


class Lenient(BaseModel):
    """Base of what others write: fields that are not known are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


def as_text(value: BaseModel) -> str:
    """JSON, with U+FFFD where a text holds half of a surrogate pair, which JSON in UTF-8 cannot."""
    try:
        return value.model_dump_json()
    except PydanticSerializationError:
        text = json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_bytes="base64", val_json_bytes="base64"
    )

    def __str__(self) -> str:
        return repr(self)
