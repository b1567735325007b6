"""What tests of own parts need: contract suites to inherit, and a scripted model.

The suites need pytest; that of executors is async and needs pytest-asyncio with `asyncio_mode = "auto"`. Names are
imported when they are first used, so that the scripted model works without pytest.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etude.testing.agent import AgentContract
    from etude.testing.chat_model import ChatModelContract
    from etude.testing.doubles import ScriptedModel
    from etude.testing.environment import EnvironmentContract
    from etude.testing.executor import ExecutorContract
    from etude.testing.scorer import ScorerContract
    from etude.testing.search import SearchContract
    from etude.testing.source import SourceContract
    from etude.testing.tracker import TrackerContract

__all__ = [
    "AgentContract",
    "ChatModelContract",
    "EnvironmentContract",
    "ExecutorContract",
    "ScorerContract",
    "ScriptedModel",
    "SearchContract",
    "SourceContract",
    "TrackerContract",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    family, contract, _ = name.partition("Contract")
    home = re.sub(r"\B(?=[A-Z])", "_", family).lower() if contract else "doubles"
    return getattr(import_module(f"{__name__}.{home}"), name)
