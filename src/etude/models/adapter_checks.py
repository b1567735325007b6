"""What can be said about an adapter: model before it is asked: is there such a provider, and can it think as told."""

import re
from typing import TYPE_CHECKING, Any, cast, get_args

from etude.config import ModelSection
from etude.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["check_provider", "check_thinking", "missing_package", "takes"]

_EXTRA = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")


def check_provider(model: str) -> None:
    """Make sure that pydantic-ai has the provider that `model` names.

    Raises:
        ConfigError: it does not.
        ImportError: it does, and the provider's package is not installed.
    """
    from pydantic_ai.providers import infer_provider_class

    provider, colon, name = model.partition(":")
    if model == "test":  # the model that pydantic-ai has for tests
        return
    if not colon or not name:
        raise ConfigError(
            f"model 'adapter:{model}' names no provider and model of its own",
            hint="write it as in adapter:google:gemini-3-pro",
        )
    try:
        infer_provider_class(provider)
    except ValueError:
        hint = f"write it as adapter:provider:name; {did_you_mean(provider, _providers())}"
        raise ConfigError(f"model 'adapter:{model}' names no known provider", hint=hint) from None


def _providers() -> set[str]:
    """The providers whose models pydantic-ai makes by name."""
    from pydantic_ai import models

    def names(alias: Any) -> tuple[str, ...]:
        return get_args(getattr(alias, "__value__", alias))

    known = {name.partition(":")[0] for name in names(models.KnownModelName) if ":" in name}
    compatible = names(models.OpenAIChatCompatibleProvider) + names(models.OpenAIResponsesCompatibleProvider)
    return {*(name for name in known if "/" not in name), *compatible}


def missing_package(model: str, error: ImportError) -> ConfigError:
    """What to install, from what pydantic-ai says about it."""
    provider = model.partition(":")[0]
    extra = _EXTRA.search(str(error))
    return ConfigError(
        f"adapter:{model} needs the package of its provider {provider!r}, which is not installed",
        hint=f"pip install 'pydantic-ai-slim[{provider if extra is None else extra[1]}]'",
    )


def check_thinking(name: str, model: "Model", settings: ModelSection) -> None:
    """Make sure that the wished thinking reaches the model: pydantic-ai leaves out what its profile does not have.

    Raises:
        ConfigError: the effort is not a level that pydantic-ai knows, the model has no thinking to set, or none that
            can be switched off.
    """
    from pydantic_ai.settings import ThinkingEffort

    effort, switch = settings.reasoning_effort, settings.thinking
    levels = get_args(getattr(ThinkingEffort, "__value__", ThinkingEffort))
    if effort is not None and effort not in levels:
        hint = did_you_mean(effort, levels)
        raise ConfigError(
            f"{name}: reasoning_effort = {effort!r} is not a level of thinking; allowed: {', '.join(levels)}",
            hint=hint if hint.startswith("did") else "set one of these, or thinking: off for none",
        )
    if effort is None and switch is None:
        return
    profile = cast(dict[str, Any], model.profile)
    always = profile.get("thinking_always_enabled", False)
    given = f"reasoning_effort = {effort!r}" if switch is None else f"thinking = {switch!r}"
    if not (always or profile.get("supports_thinking", False)):
        raise ConfigError(
            f"{name}: {given} would not be sent: pydantic-ai knows of no thinking of this model",
            hint="leave it out"
            + (", or put the provider's own field into extra_body" if takes(model, "extra_body") else ""),
        )
    if always and switch == "off":
        raise ConfigError(
            f"{name}: thinking = 'off' would not be sent: this model always thinks",
            hint=f"set reasoning_effort instead, as in {levels[0]!r}",
        )


def takes(model: "Model", setting: str) -> bool:
    """Whether the setting reaches the provider."""
    profile = cast(dict[str, Any], model.profile)
    left_out = {*model.unsupported_settings, *profile.get("openai_unsupported_model_settings", ())}
    return setting not in left_out
