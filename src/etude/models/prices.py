"""What models cost, as far as the settings say."""

from collections.abc import Mapping
from types import MappingProxyType

from etude.config import ModelSection, Price

FREE = Price(input=0, output=0)
_UNKNOWN: Mapping[str, Price] = MappingProxyType({})


def price_of(settings: ModelSection, prices: Mapping[str, Price] = _UNKNOWN, name: str | None = None) -> Price | None:
    """The price of a role: its own, else that of its model in the table `prices` of the config, else nothing for the
    simulated world; None when unknown. `name` is the model, where it is not the one that the settings name.

    There are no built-in prices: they change, and a wrong one is worse than none."""
    model = settings.model if name is None else name
    if settings.price is not None:
        return settings.price
    return prices.get(model, FREE if model.startswith("simulated:") else None)
