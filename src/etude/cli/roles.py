"""The models of a config, by role, and what they cost."""

from etude.cli.terminal.progress import Prices
from etude.config import ModelSection, TrainConfig
from etude.models import price_of
from etude.records import Role


def prices_of(config: TrainConfig) -> Prices:
    """The price of each role, None where unknown.

    Raises:
        ConfigError: a model names no known provider.
    """
    return {role: price_of(section, config.prices) for role, section in model_sections(config).items()}


def model_sections(config: TrainConfig) -> dict[Role, ModelSection]:
    """The roles that have a model."""
    sections: dict[Role, ModelSection | None] = {
        "target": config.target,
        "optimizer": config.optimizer,
        "judge": config.judge,
    }
    return {role: section for role, section in sections.items() if section is not None}
