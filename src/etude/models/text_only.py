"""What models have in common that are asked in plain text: what does not reach them is refused, not dropped."""

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRequest
from etude.models.provider_model import ProviderModel
from etude.records import ChatRequest, ImagePart

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
