"""The first process inside of a box that has a network of its own: opens the way to the gateway and becomes the
program."""

from __future__ import annotations

from .bridge import detach, listen
from .execute import become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["main"]


def main(orders: dict[str, Any], argv: list[str]) -> NoReturn:
    """Forwards 127.0.0.1:`port` to the Unix socket `socket` and runs `argv`."""
    detach(listen(orders["port"]), orders["socket"])
    become(argv)
