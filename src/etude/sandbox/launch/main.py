"""The entry of the processes around a program: `WHAT ORDERS -- PROGRAM ARGUMENTS...`, with the orders as marshalled
hexadecimal digits. Most of the time that such a process takes is the import of modules, so that these here do without
`json` and `typing`."""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Runs the module that the first argument names."""
    what, orders, _, *argv = sys.argv[1:]
    if what == "supervise":
        from .supervise import main as work
    elif what == "restrict":
        from .restrict import main as work
    else:
        from .bridge import main as work
    sys.exit(work(marshal.loads(bytes.fromhex(orders)), argv))
