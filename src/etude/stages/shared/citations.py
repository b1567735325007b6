"""Citations: which attempts a proposal answers. Code repairs those that can only mean one attempt."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from etude.records import Attempt
from etude.stages.shared.proposals import Proposals

P = TypeVar("P", bound=Proposals)

_LEAST = 4
"""Characters that two names have to share at their end before one is taken for the other."""
_AROUND = re.compile(r"^[\s\"'`<\[(#]+|[\s\"'`>\]),.;:]+$")


@dataclass
class Citations:
    """The citations of one analysis: what may be cited, and what had to be repaired.

    Args:
        shown: the attempts that an edit may cite.
        meant: ids of those that an edit without a citation counts for.
    """

    shown: Sequence[Attempt]
    meant: Sequence[str]
    repaired: int = 0
    """Citations that named an attempt in another way."""
    uncited: int = 0
    """Proposals without a citation that could be read, which count for all of `meant`."""
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, reply: P) -> P:
        """The reply with citations of attempts that were shown."""
        return type(reply).model_validate(self._fixed(reply.model_dump()))

    def attempt(self, name: str) -> str | None:
        """The attempt that a name can only mean: its id, the id of its task, or the end of either."""
        if name not in self._known:
            bare = _AROUND.sub("", name)
            names = [(one.id, one.id) for one in self.shown] + [(one.task.id, one.id) for one in self.shown]
            found = _only(names, lambda own: own == bare) or _only(names, lambda own: _ends_alike(own, bare))
            self._known[name] = found or ""
        return self._known[name] or None

    def _fixed(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._fixed(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, dict):
            return value
        row: dict[str, Any] = {name: self._fixed(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if "cites" in row:
            row["cites"] = self._cites(row["cites"])
        if "attempt" in row:
            row["attempt"] = self.attempt(row["attempt"]) or row["attempt"]
        return row

    def _cites(self, names: Sequence[str]) -> list[str]:
        found = [(name, self.attempt(name)) for name in names]
        self.repaired += sum(id is not None and id != name for name, id in found)
        ids = list(dict.fromkeys(id for _, id in found if id is not None))
        self.uncited += not ids
        return ids or list(self.meant)


def _only(names: Sequence[tuple[str, str]], fits: Callable[[str], bool]) -> str | None:
    found = {id for own, id in names if fits(own)}
    return found.pop() if len(found) == 1 else None


def _ends_alike(own: str, name: str) -> bool:
    """One is the other with something before it."""
    shorter, longer = sorted((own.casefold(), name.casefold()), key=len)
    return len(shorter) >= _LEAST and longer.endswith(shorter)
