"""No sandbox: limits hold, everything else is open."""

from collections.abc import Sequence

from etude.sandbox.box import Box, Limits
from etude.sandbox.sandbox import Sandbox

__all__ = ["Unsafe"]


class Unsafe(Sandbox):
    """Runs the program as it is, with the user's rights: it reads every file the user can read and reaches every
    network. `gateway` forwards nothing here: the gateway has to listen at the port on the host itself.
    """

    name = "unsafe"

    def wrap(self, argv: Sequence[str], box: Box, limits: Limits) -> list[str]:
        """The command as it is."""
        return list(argv)
