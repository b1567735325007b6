"""The models of pydantic-ai by name, and whether one can think as the settings say."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, get_args

from etude.config import ModelSection
from etude.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_EXTRA = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")


def make_model(model: str, provider: Callable[[str], Any]) -> "Model":
    """The model that pydantic-ai has by this name; `provider` makes one of a provider's name. Raises ConfigError:
    there is none, its package is not installed, or the provider lacks something, as its key."""
    from openai import OpenAIError  # raised by the client of most providers whose key is set and empty
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if model != "test" and not model.partition(":")[2]:  # `test` is the model that pydantic-ai has for tests
        raise ConfigError(
            f"model 'adapter:{model}' names no provider and model of its own",
            hint="write it as in adapter:google:gemini-3-pro",
        )
    try:
        return infer_model(model, provider)
    except ImportError as error:
        name = model.partition(":")[0]
        extra = _EXTRA.search(str(error))
        raise ConfigError(
            f"adapter:{model} needs the package of its provider {name!r}, which is not installed",
            hint=f"pip install 'pydantic-ai-slim[{name if extra is None else extra[1]}]'",
        ) from None
    except (UserError, ValueError, OpenAIError) as error:
        raise ConfigError(
            f"adapter:{model}: {error}",
            hint="write it as adapter:provider:name, and give the provider what it asks for, its key above all",
        ) from None


def check_thinking(name: str, model: "Model", settings: ModelSection) -> None:
    """Make sure that the wished thinking reaches the model: pydantic-ai leaves out what its profile does not have.
    Raises ConfigError: the effort is not a level that pydantic-ai knows, the model has no thinking to set, or none
    that can be switched off."""
    from pydantic_ai.settings import ThinkingEffort

    effort, switch = settings.reasoning_effort, settings.thinking
    levels = get_args(getattr(ThinkingEffort, "__value__", ThinkingEffort))
    if effort is not None and effort not in levels:
        raise ConfigError(
            f"{name}: reasoning_effort = {effort!r} is not a level of thinking; allowed: {', '.join(levels)}",
            hint="set one of these, or thinking: off for none",
        )
    if effort is None and switch is None:
        return
    profile = cast(dict[str, Any], model.profile)
    always = profile.get("thinking_always_enabled", False)
    given = f"reasoning_effort = {effort!r}" if switch is None else f"thinking = {switch!r}"
    if not (always or profile.get("supports_thinking", False)):
        problem = "pydantic-ai knows of no thinking of this model"
    elif always and switch == "off":
        problem = f"this model always thinks; set reasoning_effort instead, as in {levels[0]!r}"
    else:
        return
    raise ConfigError(
        f"{name}: {given} would not be sent: {problem}",
        hint="leave it out, or put the provider's own field into extra_body where it takes one",
    )


def takes(model: "Model", setting: str) -> bool:
    """Whether the setting reaches the provider."""
    profile = cast(dict[str, Any], model.profile)
    left_out = {*model.unsupported_settings, *profile.get("openai_unsupported_model_settings", ())}
    return setting not in left_out
