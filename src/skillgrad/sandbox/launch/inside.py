"""The first process inside of a box that has a network of its own: opens the way to the gateway and becomes the
program."""

from typing import Any, NoReturn

from .bridge import detach, listen
from .execute import become

__all__ = ["main"]


def main(orders: dict[str, Any], argv: list[str]) -> NoReturn:
    """Forwards 127.0.0.1:`port` to the Unix socket `socket` and runs `argv`."""
    detach(listen(orders["port"]), orders["socket"])
    become(argv)
