"""Errors as servers tell them: with a status of their own, or within an answer that had begun well."""

import re
from collections.abc import Iterable
from typing import Any, cast

from etude.errors import ModelError, RejectedRequest, RejectedRole, TransientError
from etude.formats.events import dump


class ServerError(Exception):
    """The server says what went wrong: with the HTTP `status` that it has, or would have had before the stream began,
    the server's own names (`codes`) for it, all that it `said`, where that is more than the message, and the seconds
    that it asks to `wait`."""

    def __init__(
        self, status: int, message: str, codes: Iterable[str] = (), said: str = "", wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.codes = frozenset(codes)
        self.said = said or message
        self.wait = wait

    @property
    def filtered(self) -> bool:
        """Whether a filter before the model refused what was asked. That is an answer, and never another one."""
        told = " ".join((self.message, *self.codes))
        return self.status in (400, 403, 422) and _FILTERED.search(told) is not None


_FILTERED = re.compile(
    r"(?i)content[ _]?(?:filter|policy|management policy|exists risk)|data_?inspection|invalid_prompt"
    r"|(?:input|prompt|request|content)s? (?:was|were|has been|have been) flagged"
)
_NO_MONEY = frozenset({"insufficient_quota", "billing_error"})
_NO_MODEL = re.compile(
    r"(?i)\binvalid model\b(?! (?!name|id)\w)|not a valid model\b|\b(?:unknown|no such) model\b"
    r"|\bmodel(?: \S+)?(?: does)? not exist\b|model identifier is invalid|\u6a21\u578b\u4e0d\u5b58\u5728"
)
"""What LiteLLM, Mistral, OpenRouter, DeepSeek, Bedrock and Zhipu say with a 400."""
_NO_CREDIT = "credit balance is too low"
"""What Anthropic says with a 400 when the account is empty."""

_TOO_MANY = frozenset({420, 429})
"""Statuses of a server that is there and asks for fewer requests."""
_TEMPORARY = _TOO_MANY | {408, 409, 421, 423, 424, 425, 444, 449, 460, 498, 499}
"""Statuses below 500 that say nothing about the request: it came too late or too early, something else was locked or
failed, a tier had no room (Groq's 498), or the connection ended between a proxy and the model."""
_NOT_THERE = frozenset({404, 405, 410})
"""Statuses of an address or a model that is wrong, or gone."""

_OF_PROXY = re.compile(
    r"(?is)\s*(?:<!doctype[^>]*>\s*)?<html\b[^>]*>.{0,400}<title>[45]\d\d\b.{0,600}"
    r"<center>(?:nginx|openresty|tengine|awselb|cloudflare)\b[^<]*</center>(?:\s|</\w+>|<!--[^>]*-->)*"
    r"|\s*upstream connect error or disconnect/reset before headers\b.*|\s*error code: 5\d\d\s*"
)
"""What proxies say by themselves, whole. Not `Bad Gateway` and other names of a status, which may be an answer."""


def is_of_proxy(text: str) -> bool:
    """Whether the text of an answer is the page of a proxy that reached no model: some servers pass it on as if the
    model had written it."""
    return _OF_PROXY.fullmatch(text) is not None


def as_model_error(error: ServerError, *, account: str, place: str) -> ModelError:
    """What the error means for the role. `account` is the hint for a refused key or an empty account, `place` that
    for a model that is not there."""
    status, message = error.status, error.message
    if status in (401, 402, 403) or error.codes & _NO_MONEY or _NO_CREDIT in message:
        return RejectedRole(message, hint=account)
    if status in _NOT_THERE or "model_not_found" in error.codes or (status == 400 and _NO_MODEL.search(message)):
        return RejectedRole(message, hint=place, no_model=True)
    if status in _TEMPORARY or status >= 500:
        return TransientError(message, retry_after=error.wait, rate_limited=status in _TOO_MANY)
    return RejectedRequest(message)


_STATUSES = {
    "authentication_error": 401,
    "billing_error": 402,
    "content_filter": 400,
    "content_policy_violation": 400,
    "context_length_exceeded": 400,
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "timeout_error": 504,
}


def error_within(error: Any) -> ServerError:
    """An error as a server tells it, within an answer or in place of one, from its `message`, `type` and `code`. What
    is unknown is the server's own fault (500), and may pass."""
    found = cast(dict[str, Any], error) if isinstance(error, dict) else {"message": error}
    codes = [found.get("code"), found.get("type")]
    known = (code if isinstance(code, int) else _STATUSES.get(str(code)) for code in codes)
    status = next((one for one in known if one is not None and 400 <= one < 600), 500)
    return ServerError(status, _message_of(found), map(str, codes), dump(found).decode())


def _message_of(found: dict[str, Any]) -> str:
    """With what the server behind the server said, as OpenRouter has it. Some servers wrap it once more, and `detail`
    is FastAPI's word."""
    inner, raw = found.get("error"), found.get("metadata")
    said = next((text for name in ("message", "detail") if isinstance(text := found.get(name), str)), "")
    if not said and isinstance(inner, dict):
        return _message_of(cast(dict[str, Any], inner))
    passed_on = cast(dict[str, Any], raw).get("raw") if isinstance(raw, dict) else None
    return f"{said or dump(found).decode()}{f': {passed_on}' if isinstance(passed_on, str) and passed_on else ''}"


_KINDS = {429: ("rate_limit_error", "rate_limit_exceeded"), 401: ("invalid_request_error", "invalid_api_key")}


def error_body(status: int, message: str) -> bytes:
    """An error as OpenAI words it."""
    kind, code = _KINDS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    code = "model_not_found" if status == 404 else code
    return dump({"error": {"message": message, "type": kind, "param": None, "code": code}})


_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def typed_error_body(status: int, message: str) -> bytes:
    """An error as Anthropic words it."""
    kind = _TYPES.get(status, "invalid_request_error")
    return dump({"type": "error", "error": {"type": kind, "message": message}, "request_id": None})
