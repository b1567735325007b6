"""What models that are made from settings share. Of those that are asked in plain text: what does not reach them is
refused, not dropped."""

import re
from collections.abc import Mapping
from functools import cached_property

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRequest
from etude.formats.errors import ServerError
from etude.models.keys import secrets_of
from etude.models.refused import PARAMETERS, RefusedParameters, Sending, advice, read_refusal
from etude.protocols import ChatModel
from etude.records import ChatRequest, ImagePart, canonical
from etude.secret_values import Secrets

_NO_NAME = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]")
_NO_VALUE = re.compile(r"[^\x20-\x7e]")
_ABOUT_REQUEST = frozenset({400, 404, 405, 422, 500, 501})
"""Statuses of servers that do not take a parameter: some of them fail over it, or say that there is no such thing."""
LONGEST_QUOTE = 500
"""Characters of a provider's answer in an error message."""


class ProviderModel(ChatModel):
    """A model made from its settings. Its name is what a person calls it, with its provider."""

    can_leave_out: frozenset[str] = frozenset(PARAMETERS)
    """The parameters that its interface has and can do without."""

    def __init__(self, name: str, settings: ModelSection, secrets: Secrets | None = None) -> None:
        self.name = name
        self.secrets = self._secrets = secrets_of(settings) if secrets is None else secrets
        self._settings = settings
        self._sending = Sending(settings, settings)

    def fingerprint(self) -> str:
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        """How structured replies are asked for is part of each request already."""
        identity = {name: value for name, value in self._settings.identity().items() if name != "structured"}
        return canonical({**identity, "model": self.name})

    @property
    def max_output_tokens(self) -> int:
        return self._settings.max_output_tokens

    def leave_out(self, parameter: str) -> str:
        if parameter not in self.can_leave_out - self._sending.left_out:
            return ""
        self._sending = self._sending.without(parameter)
        return self._sending.told(parameter)

    def _refused(
        self, error: ServerError, text: str, sending: Sending, request: ChatRequest
    ) -> RejectedRequest | None:
        """The error where a server complains of parameters of a request that was sent so."""
        if error.status not in _ABOUT_REQUEST:
            return None
        own = re.escape(self.name.partition(":")[2])  # as `seed-oss`
        said = re.sub(rf"(?<![\w.-]){own}(?![\w-])", "model", error.said)
        found = read_refusal(said, sending, request, self.can_leave_out)
        if error.status not in (400, 422) and not found.curable:  # it may be for any reason
            return None
        if found == RefusedParameters():
            return None
        parameters, curable = found
        hint = advice(parameters, refused=curable)
        return RejectedRequest(text, hint=hint, parameters=parameters, curable=curable)


def shorten(text: str, longest: int = LONGEST_QUOTE) -> str:
    """The text as it may stand within another."""
    return text if len(text) <= longest else f"{text[:longest]} ... ({len(text) - longest} characters left out)"


def check_headers(headers: Mapping[str, str]) -> None:
    """Make sure that the headers can be sent. Raises ConfigError: a name or a value has a character that HTTP does
    not carry there, or a name is empty. The value itself is not repeated: it may be a secret."""
    for name, value in headers.items():
        if not name or _NO_NAME.search(name) or _NO_VALUE.search(value) or value != value.strip():
            raise ConfigError(
                f"headers: {name!r} cannot be sent: a name may have ASCII letters, digits and -, a value ASCII "
                "letters, digits, signs and spaces between",
                hint="encode other characters as the server expects them, as in %C3%A9 for é",
            )


_SAMPLING = ("temperature", "top_p", "reasoning_effort", "thinking", "extra_body", "headers")


class TextModel(ProviderModel):
    """A model that takes neither seeds nor tools nor pictures."""

    @property
    def takes_tools(self) -> bool:
        return False


def refuse_settings(settings: ModelSection, whom: str, *more: str) -> None:
    """Raises ConfigError for a setting that would not reach `whom`: those for sampling, and `more`."""
    for name in (*more, *_SAMPLING):
        value = getattr(settings, name)
        if value not in (None, {}):
            raise ConfigError(
                f"{name} = {value!r} does not reach {whom}", hint=f"leave {name} out, or use a model with a key"
            )


def refuse_beyond_text(request: ChatRequest, whom: str) -> None:
    """Raises RejectedRequest: the request has tools or pictures, which do not reach `whom`."""
    if request.tools or request.forced_tool is not None:
        raise RejectedRequest(f"tools do not reach {whom}")
    if any(isinstance(part, ImagePart) for message in request.messages for part in message.content):
        raise RejectedRequest(f"pictures do not reach {whom}")
