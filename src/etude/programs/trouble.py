"""What the words mean with which programs give up: the model behind them does not speak to us."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Trouble = Literal["refused", "used up", "busy", "rejected", "other"]

_USED_UP = re.compile(
    r"usage[ _]limit|\bhit your\b.{0,40}\blimit|\b(?:hour|session|daily|weekly|monthly) (?:usage )?(?:limit|quota)"
    r"|\b(?:again|resets?) in (?:about )?\d+ ?(?:d|h|days?|hrs?|hours?)\b"
    r"|\b(?:exhausted|exceeded|reached)\b.{0,40}\b(?:quota|allowance)|\bexhausted your capacity"
    r"|\bquota\b.{0,60}\b(?:per day|resets?)\b"
    r"|\blimit reached\b.{0,20}\bresets?\b|\brun out of\b.{0,40}\b(?:requests|credits|quota)\b"
    r"|insufficient[_ ](?:quota|balance|credits?|funds)"
    r"|\bout of (?:extra )?usage|\busage exceeded|credit balance is too low|spending limit",
    re.IGNORECASE,
)
_SOON = re.compile(r"\bper[ _-]?(?:min|sec)|\btry (?:again )?(?:in|after) [\d.]+ ?(?:s|sec|m?s)\b", re.IGNORECASE)
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
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_IN = re.compile(
    r"\b(?:in|after) (?:about )?(?:(\d+) ?d[a-z]*)?,? ?(?:(\d+) ?h[a-z]*)?,? ?(?:(\d+) ?m[a-z]*)?", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DATE = (
    rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.? (?P<date>\d{{1,2}})(?:st|nd|rd|th)?\b,?"
    r"(?: (?P<year>\d{4})\b,?)?(?: at)?"
)
_AT = re.compile(
    r"\b(?:resets?|again|until|from)(?: (?:at|on))? "
    rf"(?:{_DATE} ?|(?P<day>{'|'.join(_DAYS)})[a-z]*,?(?: at)? )?"
    r"(?:(?P<hour>\d{1,2})(?![\d/-])(?:[:.](?P<minute>\d\d))? ?(?P<half>[ap])?\.?m?\b\.?"
    r"(?: ?\((?P<zone>[\w/+-]+)\))?)?",
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
    if _USED_UP.search(words) and not _SOON.search(words):
        return "used up"
    if _SOON.search(words) or _BUSY.search(words):
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
    with suppress(ValueError):
        said = (datetime.fromisoformat(each[0]) for each in _ISO.finditer(words))
        moments = (at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC) for at in said)
        # An earlier one is when the line was written.
        if at := next((at for at in moments if at > now), None):
            return at
    if found := next((each for each in _IN.finditer(words) if any(each.groups())), None):
        days, hours, minutes = (int(each or 0) for each in found.groups())
        return now + timedelta(days=days, hours=hours, minutes=minutes)
    found = next((each for each in _AT.finditer(words) if each["hour"] or each["month"]), None)
    with suppress(ValueError):
        return None if found is None else _at(found, now)
    return None


def _at(found: re.Match[str], now: datetime) -> datetime:
    """The next time that a clock and a calendar show this. Raises ValueError: they never do."""
    zone = None
    with suppress(KeyError, ValueError, OSError):
        zone = ZoneInfo(found["zone"] or "")
    hour = int(found["hour"] or 0)
    hour = hour % 12 + 12 * (found["half"].lower() == "p") if found["half"] else hour
    here = now.astimezone(zone)
    at = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if found["month"]:
        month = 1 + _MONTHS.index(found["month"].lower())
        at = at.replace(year=int(found["year"] or at.year), month=month, day=int(found["date"]))
        at = at if at > here or found["year"] else at.replace(year=at.year + 1)
    elif found["day"]:
        at += timedelta(days=(_DAYS.index(found["day"].lower()) - at.weekday()) % 7)
        at = at if at > here else at + timedelta(days=7)
    else:
        at = at if at > here else at + timedelta(days=1)
    return at.astimezone(UTC)
