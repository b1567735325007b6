"""Search policies: how a run looks for a better skill. Exchangeable, all over the same stages."""

from collections.abc import Mapping

from etude.config import TrainConfig
from etude.searches.base import Search
from etude.searches.evidence import EvidenceSearch
from etude.searches.paper import PaperSearch
from etude.searches.rewrite_first import RewriteFirstSearch
from etude.workbench import Workbench

__all__ = ["EvidenceSearch", "PaperSearch", "RewriteFirstSearch", "Search", "policy_of", "search_of"]

_POLICIES: Mapping[str, type[Search]] = {
    "evidence": EvidenceSearch,
    "paper": PaperSearch,
    "rewrite_first": RewriteFirstSearch,
}


def policy_of(config: TrainConfig) -> type[Search]:
    """The policy of the settings."""
    return _POLICIES[config.search.policy]


def search_of(bench: Workbench) -> Search:
    """A search by the policy of the settings."""
    return policy_of(bench.config)(bench)
