"""What the words mean with which programs give up: the model behind them does not speak to us."""

import re
from typing import Literal

Trouble = Literal["refused", "used up", "busy", "rejected", "other"]

AFTER_RESET = "run the same command again when your plan allows more"
"""What to do where it is used up."""
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
