"""Models, and what stands between them and the rest: structure, memory, patience, a budget, a limit."""

from collections.abc import Mapping
from types import MappingProxyType

from etude.config import ModelSection, Price
from etude.errors import ConfigError, did_you_mean
from etude.models.keys import used_key_variable
from etude.models.wrappers.fitted import Fitted
from etude.models.wrappers.journaled import Journaled
from etude.models.wrappers.limited import Limited
from etude.models.wrappers.metered import Metered
from etude.models.wrappers.resending import Resending
from etude.models.wrappers.retrying import Retrying
from etude.models.wrappers.structured import Structured
from etude.protocols import ChatModel
from etude.registry import find, names

__all__ = [
    "Fitted",
    "Journaled",
    "Limited",
    "Metered",
    "Resending",
    "Retrying",
    "Structured",
    "answered_by_hand",
    "build_model",
    "own_class",
    "price_of",
    "used_key_variable",
]

FREE = Price(input=0, output=0)
_UNKNOWN: Mapping[str, Price] = MappingProxyType({})


def build_model(settings: ModelSection) -> ChatModel:
    """The bare model that `settings.model` names: `provider:name`, where the provider is a built-in, an entry point
    or an import path `module:Class`. It is made as `Class(name, settings)`.
    Raises ConfigError: no colon, no name, an unknown provider, or what the provider itself refuses."""
    provider, name = _split(settings.model)
    return find("models", provider)(name, settings)


def answered_by_hand(settings: ModelSection) -> bool:
    """Whether a person answers for the model that `settings.model` names."""
    return getattr(find("models", _split(settings.model)[0]), "answered_by_hand", False)


def own_class(model: str) -> str:
    """The import path of a class of the user's own, as in `mymodule:Class:name` or `package.module:Class:name`; empty
    where a model is not named so. A module without a dot needs a capital letter behind it: `ollama:llama3:8b` is the
    name of a model."""
    module, _, rest = model.partition(":")
    attribute, colon, _ = rest.partition(":")
    imported = "." in module or (module.isidentifier() and attribute.isidentifier() and attribute[0].isupper())
    return f"{module}:{attribute}" if colon and imported and module not in names("models") else ""


def _split(model: str) -> tuple[str, str]:
    known = names("models")
    provider, _, name = model.partition(":")
    if own := own_class(model):
        provider, name = own, model.removeprefix(f"{own}:")
    elif provider not in known:
        hint = f"write it as provider:name; {did_you_mean(provider, known)}"
        if not name:
            hint = f"name its provider, too, as in openai:{model}; providers: {', '.join(known)}"
        raise ConfigError(f"model {model!r} names no known provider", hint=hint)
    if not name:
        raise ConfigError(f"model {model!r} has no name behind the provider", hint=f"write it as {provider}:name")
    return provider, name


def price_of(settings: ModelSection, prices: Mapping[str, Price] = _UNKNOWN, name: str | None = None) -> Price | None:
    """The price of a role: its own, else that of its model in the table `prices` of the config, else nothing for the
    simulated world; None when unknown. `name` is the model, where it is not the one that the settings name.

    There are no built-in prices: they change, and a wrong one is worse than none."""
    model = settings.model if name is None else name
    if settings.price is not None:
        return settings.price
    return prices.get(model, FREE if model.startswith("simulated:") else None)
