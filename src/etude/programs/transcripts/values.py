"""Values in records of programs, whatever they are. Nothing here raises for what a record holds."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

_MOST_NOTES = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text with one in each line. What is cut off, or no JSON, is passed over."""
    yield from filter(None, (object_of(line) for line in data.split(b"\n") if line.strip()))


def object_of(data: bytes) -> dict[str, Any] | None:
    """The JSON object that the bytes are; None for anything else. Bytes that are not UTF-8 become U+FFFD, and zeros
    before it, which a crash of the machine leaves, are passed over."""
    try:
        value = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff\0"))
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def once(found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records without those whose `uuid` was there before: programs that resume a session write it again."""
    known: set[str] = set()
    for record in found:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            yield record
        elif uuid not in known:
            known.add(uuid)
            yield record


def table(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def tables(value: Any) -> list[dict[str, Any]]:
    """The objects of a JSON array, an empty one in the place of any other value."""
    return [table(each) for each in items(value)]


def texts(content: Any) -> list[str]:
    """The texts of a message: of its blocks of type `text`, or itself if it is one text."""
    if isinstance(content, str):
        return [text(content)]
    return [text(block.get("text")) for block in tables(content) if block.get("type") == "text"]


def text(value: Any) -> str:
    """The value if it is a text, else an empty one. Halves of surrogate pairs, which cannot be stored, become `?`."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """The value if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def moment(value: Any) -> datetime | None:
    """A time in UTC: ISO 8601, or milliseconds since 1970. None for what is neither.

    All programs read here write UTC, so a time without offset is taken as UTC.
    """
    try:
        if isinstance(value, datetime):
            return value
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _EPOCH + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        return None
    return None


def as_json(value: Any, *, ascii: bool = False) -> str:
    """A value as text: texts as they are, everything else as JSON."""
    if value is None or isinstance(value, str):
        return text(value)
    try:
        return text(json.dumps(value, ensure_ascii=ascii))
    except (ValueError, RecursionError):
        return ""


def shown(content: Any) -> Any:
    """What a tool gave back, as text where it is made of blocks; a block without a text is named by its type."""
    if not isinstance(content, list):
        return content
    return "\n".join(_block(block) for block in tables(cast(Any, content)))


def _block(block: dict[str, Any]) -> str:
    return text(block["text"]) if "text" in block else f"[{block.get('type', as_json(block))}]"


def without_notes(said: str, tags: frozenset[str]) -> str:
    """A user's message without the notes `<tag ...>...</tag>` that programs put before and behind it.

    Without any it comes back as it is. A note that is not closed reaches to the end.
    """
    rest = said
    for _ in range(_MOST_NOTES):
        shorter = _without_one(rest.strip(), tags)
        if shorter is None:
            break
        rest = shorter.strip()
    return rest


def _without_one(said: str, tags: frozenset[str]) -> str | None:
    """The message without its first or last note; None when there is none."""
    if said.startswith("<"):
        tag = said[1:80].split(">")[0].split()
        if tag and tag[0] in tags:
            _, _, behind = said.partition(f"</{tag[0]}>")
            return behind
    if said.endswith(">"):
        closing = said[said.rfind("</") + 2 : -1]
        if closing in tags and (begin := said.rfind(f"<{closing}")) >= 0:
            return said[:begin]
    return None
