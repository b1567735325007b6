"""What the words mean with which programs give up: the model behind them does not speak to us."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Trouble = Literal["refused", "used up", "busy", "rejected", "other"]

_USED_UP = re.compile(
    r"usage[ _]limit|\bhit your\b.{0,40}\blimit|\b(?:hour|session|daily|weekly|monthly) (?:usage )?(?:limit|quota)"
    r"|\b(?:again|resets?) in (?:about )?\d+ ?(?:d|h|days?|hrs?|hours?)\b",
    re.IGNORECASE,
)
_BUSY = re.compile(r"\b429\b|\b529\b|rate.?limit|overloaded|too many requests", re.IGNORECASE)
_OUTDATED = (
    r"(?:requires|needs) a newer version|out(?:dated| of date)|please (?:update|upgrade)|no longer supported"
    r"|(?:version|client|cli)\b.{0,40}\btoo old|minimum (?:supported )?version"
)
_REFUSED = re.compile(
    r"\b401\b|\b403\b|unauthori[sz]ed|authentication|(?:invalid|incorrect) (?:x-)?api[ -]?key"
    r"|not logged in|log ?in\b|/login"
    r"|(?:token|login|session|credentials?)(?![a-z]).{0,40}(?<![a-z])"
    r"(?:expired|revoked|invalid|reused|already (?:been )?used)"
    r"|model\b.{0,80}\b(?:not (?:found|supported|available|exist)|unsupported|does(?: not|n't) exist|no access)"
    rf"|{_OUTDATED}",
    re.IGNORECASE | re.DOTALL,
)
_REJECTED = re.compile(r"\b400\b|\b413\b|too long|context (?:length|window)|invalid_request", re.IGNORECASE)
_SINCE_1970 = re.compile(r"\|\s*(\d{10})\b")
_IN = re.compile(r"\bin (?:about )?(?:(\d+) ?d\w*)?,? ?(?:(\d+) ?h\w*)?,? ?(?:(\d+) ?m\w*)?", re.IGNORECASE)
_AT = re.compile(
    r"\b(?:resets?|again|until|from)(?: at)? (\d{1,2})(?::(\d\d))? ?([ap])?\.?m?\b\.?(?: ?\(([\w/+-]+)\))?",
    re.IGNORECASE,
)


def outdated(words: str) -> bool:
    """Whether a program says that it is too old."""
    return re.search(_OUTDATED, words, re.IGNORECASE | re.DOTALL) is not None


def trouble(words: str) -> Trouble:
    """What kind of trouble a program is in.

    refused   nothing of it will ever pass: a key or login that is refused, a model that is not served, a program
              that is outdated
    used up   nothing of it will pass for hours: what the user's plan allows
    busy      too many requests
    rejected  this request will not pass, others may
    other     may pass
    """
    if _USED_UP.search(words):
        return "used up"
    if _BUSY.search(words):
        return "busy"
    if _REFUSED.search(words):
        return "refused"
    return "rejected" if _REJECTED.search(words) else "other"


def after_reset(words: str, now: datetime | None = None) -> str:
    """What to do where a plan is used up, by the words of its program: with the time from which it allows more, where
    they say that."""
    again = _allowed_again(words, now or datetime.now(UTC))
    if again is None:
        return "run the same command again when your plan allows more"
    return f"it goes on from {again:%Y-%m-%d %H:%M} (UTC), when your plan allows more: run it again then"


def _allowed_again(words: str, now: datetime) -> datetime | None:
    """When a plan that is used up allows more, by the words of its program; None where they do not say."""
    if found := _SINCE_1970.search(words):
        return datetime.fromtimestamp(int(found[1]), UTC)
    if found := next((each for each in _IN.finditer(words) if any(each.groups())), None):
        days, hours, minutes = (int(each or 0) for each in found.groups())
        return now + timedelta(days=days, hours=hours, minutes=minutes)
    if found := _AT.search(words):
        zone = None
        with suppress(KeyError, ValueError, OSError):
            zone = ZoneInfo(found[4] or "")
        with suppress(ValueError):
            hour = int(found[1]) % 12 + 12 * (found[3].lower() == "p") if found[3] else int(found[1])
            here = now.astimezone(zone)
            at = here.replace(hour=hour, minute=int(found[2] or 0), second=0, microsecond=0)
            return (at if at > here else at + timedelta(days=1)).astimezone(UTC)
    return None
