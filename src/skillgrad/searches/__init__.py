"""Search policies: how a run looks for a better skill. Exchangeable, all over the same stages."""

from skillgrad.build import Workbench
from skillgrad.searches.base import Search
from skillgrad.searches.evidence import EvidenceSearch
from skillgrad.searches.paper import PaperSearch

__all__ = ["EvidenceSearch", "PaperSearch", "Search", "search_of"]


def search_of(bench: Workbench) -> Search:
    """The policy of the settings."""
    return (EvidenceSearch if bench.config.search.policy == "evidence" else PaperSearch)(bench)
