"""Search policies: how a run looks for a better skill. Exchangeable, all over the same stages.

A policy is one file: a class, its options and the most that it does. Built-in ones are listed in `etude.registry`;
others come as entry points of the group `etude.searches` or by import path.
"""

from typing import NamedTuple

from etude.config import TrainConfig, parse
from etude.errors import ConfigError
from etude.registry import BUILT_IN, find
from etude.searches.search import Known, Most, Search, SearchOptions
from etude.workbench import Workbench


class Policy(NamedTuple):
    """A search policy and its options, as the settings have them."""

    search: type[Search]
    options: SearchOptions

    def most(self, known: Known) -> Most:
        """An upper bound of what a run does before its test."""
        return self.search.most(known, self.options)


def policy_of(config: TrainConfig) -> Policy:
    """The policy of the settings.

    Raises:
        ConfigError: nothing has that name, an option is unknown or wrong, or settings do not go with the policy.
    """
    name, options = config.search.policy, config.search.model_extra or {}
    search = find("searches", name)
    if not issubclass(search, Search):
        raise ConfigError(f"search policy {name!r} is not an etude.searches.Search", hint="derive its class from it")
    try:
        policy = Policy(search, parse(search.options_type, options, where="search"))
    except ConfigError as error:
        owners = [
            other
            for other in BUILT_IN["searches"]
            if other != name and error.key in find("searches", other).options_type.model_fields
        ]
        if error.key in search.options_type.model_fields or not owners:
            raise
        what = f"search.{error.key} is an option of search.policy = {owners[0]!r}, and the policy is {name!r}"
        raise ConfigError(what, hint=f"leave search.{error.key} out, or set search.policy: {owners[0]}") from None
    if config.skill.files and not search.edits_files:
        raise ConfigError(
            f"skill.files is set, and search policy {name!r} edits the text of a skill only",
            hint="set search.policy: evidence, or leave skill.files out",
        )
    search.check(config)
    return policy


def search_of(bench: Workbench) -> Search:
    """A search by the policy of the settings."""
    policy = policy_of(bench.config)
    return policy.search(bench, policy.options)
